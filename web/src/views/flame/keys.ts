// Keys of the viewer, wherever the focus is on the page; before the page's own.
import type {Ref} from 'preact';
import {useEffect, useRef} from 'preact/hooks';

const kAfterGMs = 1500; // "g" and a letter lead to another page

export type KeyActions = Record<string, (inField: boolean) => unknown>;

export function useKeys(root: Ref<HTMLElement> & {current: HTMLElement | null}, actions: KeyActions): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    let lastG = 0;
    const onKey = (event: KeyboardEvent) => {
      const at = event.target instanceof Element ? event.target : document.body;
      if (event.ctrlKey || event.metaKey || event.altKey || at.closest('dialog, [role="menu"]')) return;
      const isAfterG = Date.now() - lastG < kAfterGMs;
      lastG = event.key === 'g' ? Date.now() : 0;
      if (isAfterG) return;
      const inField = /^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName) && (at as HTMLInputElement).type !== 'checkbox';
      if (inField && (event.key !== 'Escape' || !root.current?.contains(at))) return;
      // Arrows and Enter are the picture's, even before it has the focus.
      const canvas = root.current?.querySelector<HTMLElement>('.flame-canvas');
      if (/^Arrow|^Enter$/.test(event.key)) {
        if (!canvas || (at !== document.body && at.id !== 'main')) return;
        canvas.focus();
        canvas.dispatchEvent(new KeyboardEvent('keydown', {key: event.key}));
        event.preventDefault();
        return;
      }
      const action = latest.current[event.key];
      if (!action) return;
      action(inField);
      event.preventDefault();
    };
    document.addEventListener('keydown', onKey, true);
    return () => document.removeEventListener('keydown', onKey, true);
  }, []);
}
