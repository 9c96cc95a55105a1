// The time under the cursor, shared by charts of one key and by what reads values out of them.
import {useEffect, useState} from 'preact/hooks';

interface Shared {
  ms: number; // 0: over no chart
  listeners: Set<(ms: number) => void>;
}

const all = new Map<string, Shared>();

function shared(key: string): Shared {
  let one = all.get(key);
  if (!one) all.set(key, (one = {ms: 0, listeners: new Set()}));
  return one;
}

export function setCursor(key: string, ms: number): void {
  const one = shared(key);
  if (one.ms === ms) return;
  one.ms = ms;
  for (const listener of [...one.listeners]) listener(ms);
}

// ms since 1970; 0 while the cursor is over none of the charts.
export function useCursor(key: string): number {
  const [ms, setMs] = useState(0);
  useEffect(() => {
    const {listeners} = shared(key);
    listeners.add(setMs);
    return () => void listeners.delete(setMs);
  }, [key]);
  return ms;
}
