// Back, forward and reload show the part of a page that was shown before, once the page is long enough again.

const kSaveMs = 150; // after the last movement
const kWaitMs = 3000; // for data that make the page long enough

let restoring: (() => void) | undefined; // stops it

interface Remembered {
  scrollY?: number;
}

const remembered = (): Remembered => (history.state as Remembered | null) ?? {};

// In the current entry of the history; before another one is made.
export function rememberScroll(): void {
  if (restoring || remembered().scrollY === window.scrollY) return;
  try {
    history.replaceState({...remembered(), scrollY: window.scrollY}, '');
  } catch {
    // too often, or not allowed: then the page begins at its top
  }
}

function restore(): void {
  restoring?.();
  const {scrollY} = remembered();
  if (scrollY === undefined) {
    if (!location.hash) window.scrollTo(0, 0);
    return;
  }
  const isLongEnough = () => document.documentElement.scrollHeight >= scrollY + window.innerHeight - 1;
  const kInputs = ['wheel', 'touchmove', 'keydown', 'pointerdown'];
  const grown = new ResizeObserver(() => tryIt());
  const stop = () => {
    restoring = undefined;
    grown.disconnect();
    clearTimeout(late);
    for (const name of kInputs) window.removeEventListener(name, stop);
  };
  const late = setTimeout(stop, kWaitMs);
  const tryIt = () => {
    if (!isLongEnough()) return;
    window.scrollTo(0, scrollY);
    stop();
  };
  restoring = stop;
  for (const name of kInputs) window.addEventListener(name, stop, {passive: true});
  requestAnimationFrame(() => {
    if (restoring === stop) grown.observe(document.body); // the page of the new address is there now; it tells the first size, too
  });
}

export function startScrollMemory(): void {
  let timer = 0;
  history.scrollRestoration = 'manual';
  window.addEventListener('scroll', () => {
    clearTimeout(timer);
    timer = window.setTimeout(rememberScroll, kSaveMs);
  }, {passive: true});
  window.addEventListener('popstate', () => {
    clearTimeout(timer); // it was of the entry that was left
    restore();
  });
  restore();
}
