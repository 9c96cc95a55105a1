// The keyboard: "?" tells the keys, "g" and a letter go to a page, "r" refreshes, "/" searches, "Esc" closes.
// Pages say their letter in the rail (data-key), so that nothing is listed twice.

function isTyping(event: KeyboardEvent): boolean {
  const at = event.target;
  return at instanceof HTMLElement && (at.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName));
}

function railLinks(): HTMLAnchorElement[] {
  return [...document.querySelectorAll<HTMLAnchorElement>('.rail a[data-key]')];
}

function rows(): [string, string][] {
  const pages = railLinks().map((link): [string, string] => [`g ${link.dataset.key}`, link.textContent ?? '']);
  return [...pages, ['r', 'refresh'], ['/', 'search, where there is a search'], ['c', 'choose the process'], ['?', 'these keys'], ['Esc', 'close']];
}

function showKeys(): void {
  let box = document.querySelector<HTMLDialogElement>('#keys');
  if (!box) {
    box = document.createElement('dialog');
    box.id = 'keys';
    box.setAttribute('aria-label', 'Keys');
    const title = document.createElement('h2');
    title.textContent = 'Keys';
    const table = document.createElement('table');
    for (const [keys, meaning] of rows()) {
      const row = table.insertRow();
      for (const key of keys.split(' ')) {
        const shown = document.createElement('kbd');
        shown.textContent = key;
        if (row.cells.length === 0) row.insertCell();
        row.cells[0].append(shown, ' ');
      }
      row.insertCell().textContent = meaning;
    }
    const close = document.createElement('button');
    close.textContent = 'Close';
    close.addEventListener('click', () => box?.close());
    box.append(title, table, close);
    document.body.append(box);
  }
  if (!box.open) box.showModal();
}

export function startKeys(): void {
  let afterG = 0; // when "g" was pressed
  document.addEventListener('click', (event) => {
    if (event.target instanceof Element && event.target.closest('[data-keys]')) showKeys();
  });
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event) || event.defaultPrevented) return;
    if (Date.now() - afterG < 1500) {
      afterG = 0;
      const link = railLinks().find((one) => one.dataset.key === event.key);
      if (link) link.click();
      return;
    }
    if (event.key === 'g') afterG = Date.now();
    else if (event.key === '?') showKeys();
    else if (event.key === 'r') (document.querySelector<HTMLElement>('[data-refresh]') ?? {click: () => location.reload()}).click();
    else if (event.key === 'c') document.querySelector<HTMLElement>('#picker')?.focus();
    else if (event.key === '/') {
      const search = document.querySelector<HTMLElement>('input[type="search"]');
      if (!search) return;
      event.preventDefault();
      search.focus();
    }
  });
}

// <select data-submits>, <input data-submits>: a change asks for the page at once.
export function startForms(): void {
  document.addEventListener('change', (event) => {
    const field = event.target;
    if (field instanceof HTMLElement && field.matches('[data-submits]')) field.closest('form')?.requestSubmit();
  });
}
