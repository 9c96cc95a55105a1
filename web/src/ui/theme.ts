// Dark or light: as the system prefers, unless the reader chose. <button data-theme-switch> goes through the choices.

const kChoices = ['auto', 'light', 'dark'] as const;
type Choice = (typeof kChoices)[number];
const kKey = 'clrscope-theme';

function stored(): Choice {
  try {
    return kChoices.find((one) => one === localStorage.getItem(kKey)) ?? 'auto';
  } catch {
    return 'auto'; // a file opened from disk may have no storage
  }
}

function apply(choice: Choice): void {
  if (choice === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = choice;
  for (const button of document.querySelectorAll('[data-theme-switch]')) button.textContent = `theme: ${choice}`;
  document.dispatchEvent(new CustomEvent('themechange'));
}

export function startThemeSwitch(): void {
  apply(stored());
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => document.dispatchEvent(new CustomEvent('themechange')));
  document.addEventListener('click', (event) => {
    if (!(event.target instanceof Element) || !event.target.closest('[data-theme-switch]')) return;
    const next = kChoices[(kChoices.indexOf(stored()) + 1) % kChoices.length];
    try {
      localStorage.setItem(kKey, next);
    } catch {
      // it holds for this page then
    }
    apply(next);
  });
}
