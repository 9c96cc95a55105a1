// A line that says what went wrong and what to do, on top of what is already there.
import type {Message} from '../api/client';

export function showTrouble(root: HTMLElement, message: Message): void {
  let box = root.querySelector<HTMLElement>(':scope > .trouble');
  if (!box) {
    box = document.createElement('div');
    box.className = 'trouble';
    box.setAttribute('role', 'alert');
    root.prepend(box);
  }
  box.textContent = message.text;
  if (message.hint) {
    const hint = document.createElement('p');
    hint.className = 'hint';
    hint.textContent = message.hint;
    box.append(hint);
  }
}

export function clearTrouble(root: HTMLElement): void {
  root.querySelector(':scope > .trouble')?.remove();
}
