// Counters that a person wants on top, in this browser.
import {useState} from 'preact/hooks';

const kPinsKey = 'clrscope-pinned-counters';

function stored(): Set<string> {
  try {
    return new Set(JSON.parse(localStorage.getItem(kPinsKey) ?? '[]') as string[]);
  } catch {
    return new Set();
  }
}

export function usePins(): {pins: Set<string>; toggle: (id: string) => void} {
  const [pins, setPins] = useState(stored);
  const toggle = (id: string) => {
    const next = new Set(pins);
    if (!next.delete(id)) next.add(id);
    try {
      localStorage.setItem(kPinsKey, JSON.stringify([...next]));
    } catch {
      // they hold for this page then
    }
    setPins(next);
  };
  return {pins, toggle};
}
