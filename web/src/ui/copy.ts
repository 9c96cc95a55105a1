// <button data-copy="#id"> copies the text of that element; <button data-copy-text="…"> that text; <button data-copy-link> the
// page's address.

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Not allowed over plain HTTP from afar: the old way still is.
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'away';
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}

// Says on the button itself whether it worked.
export async function copyFrom(button: HTMLElement, text: string): Promise<void> {
  const done = await copyText(text);
  const label = button.textContent;
  button.textContent = done ? 'copied' : 'cannot copy';
  setTimeout(() => (button.textContent = label), 1200);
}

export function startCopyButtons(): void {
  document.addEventListener('click', (event) => {
    const button = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-copy],[data-copy-text],[data-copy-link]') : null;
    if (!button) return;
    const from = button.dataset.copy ? document.querySelector(button.dataset.copy) : null;
    const link = button.dataset.copyLink === undefined ? undefined : location.href;
    void copyFrom(button, link ?? button.dataset.copyText ?? from?.textContent ?? '');
  });
}
