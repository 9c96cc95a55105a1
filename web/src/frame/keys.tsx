// The keyboard, and the sheet that lists the keys.
import {useEffect, useRef} from 'preact/hooks';
import {refreshAll} from '../api/answer';
import type {Page} from '../page';
import {isPaused, setPaused} from './pause';
import {open} from './router';

function isTyping(event: KeyboardEvent): boolean {
  const at = event.target;
  return at instanceof HTMLElement && (at.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName));
}

const kAfterGMs = 1500;
const kOthers: [string, string][] = [
  ['r', 'refresh'],
  ['p', 'pause or resume live data'],
  ['/', 'search or filter'],
  ['?', 'this help'],
  ['Esc', 'close'],
];

export function Keys({pages, hrefOf, others}: {pages: Page[]; hrefOf: (page: Page) => string; others: [string, string][]}) {
  const sheet = useRef<HTMLDialogElement>(null);
  const latest = useRef(hrefOf);
  latest.current = hrefOf;
  useEffect(() => {
    let afterG = 0; // when "g" was pressed
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event) || event.defaultPrevented) return;
      if (Date.now() - afterG < kAfterGMs) {
        afterG = 0;
        const page = pages.find((one) => one.key === event.key);
        if (page) open(latest.current(page));
        return;
      }
      if (event.key === 'g') afterG = Date.now();
      else if (event.key === '?') sheet.current?.showModal();
      else if (event.key === 'r') refreshAll();
      else if (event.key === 'p') setPaused(!isPaused());
      else if (event.key === 'c') {
        event.preventDefault(); // the letter would choose an entry
        document.querySelector<HTMLElement>('#picker')?.focus();
      } else if (event.key === '/') {
        const search = document.querySelector<HTMLElement>('main input[type="search"], .top input[type="search"]');
        if (!search) return;
        event.preventDefault();
        search.focus();
      }
    };
    const onClick = (event: MouseEvent) => {
      if (event.target instanceof Element && event.target.closest('[data-keys]')) sheet.current?.showModal();
    };
    document.addEventListener('keydown', onKey);
    document.addEventListener('click', onClick);
    return () => {
      document.removeEventListener('keydown', onKey);
      document.removeEventListener('click', onClick);
    };
  }, []);
  const rows = [...pages.filter((one) => one.key).map((one): [string, string] => [`g ${one.key}`, one.title]), ...others, ...kOthers];
  return (
    <dialog ref={sheet} id="keys" aria-label="Keys">
      <h2>Keys</h2>
      <table>
        <tbody>
          {rows.map(([keys, meaning]) => (
            <tr key={keys}>
              <td>
                {keys.split(' ').map((key) => (
                  <>
                    <kbd>{key}</kbd>{' '}
                  </>
                ))}
              </td>
              <td>{meaning}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <button type="button" onClick={() => sheet.current?.close()}>
        Close
      </button>
    </dialog>
  );
}
