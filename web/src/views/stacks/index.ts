// The stacks stay text. Beside a thread that stood in the same place when they were last looked at, it says since when.
import type {View} from '../../view';

interface Seen {
  text: string;
  since: number;
}

const kLeastMs = 1000;

// The text of a thread, without its heading: that has its CPU time in it.
function bodyOf(heading: Element): string {
  let text = '';
  for (let node = heading.nextSibling; node; node = node.nextSibling) {
    if (node instanceof HTMLElement && node.tagName === 'B') break;
    text += node.textContent ?? '';
  }
  return text;
}

export const stacks: View = {
  id: 'stacks',
  title: 'Stacks',
  start(root) {
    const query = new URLSearchParams(location.search);
    const key = ['stacks', query.get('pid'), query.get('native')].join(' ');
    const now = Date.now();
    let before: Record<string, Seen> = {};
    try {
      before = JSON.parse(sessionStorage.getItem(key) ?? '{}') as Record<string, Seen>;
    } catch {
      // nothing is known then
    }
    const after: Record<string, Seen> = {};
    for (const heading of root.querySelectorAll('b[id^="t"]')) {
      const text = bodyOf(heading);
      const known = before[heading.id];
      const since = known && known.text === text ? known.since : now;
      after[heading.id] = {text, since};
      if (now - since < kLeastMs) continue;
      const mark = document.createElement('span');
      mark.className = 'unchanged';
      mark.textContent = `  unchanged since ${Math.round((now - since) / 1000)} s`;
      heading.after(mark);
    }
    if (Object.keys(after).length === 0) return;
    try {
      sessionStorage.setItem(key, JSON.stringify(after));
    } catch {
      // then the next look begins anew
    }
  },
};
