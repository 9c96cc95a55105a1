// Pause: live pages stop updating, so that they can be read; what comes meanwhile is not lost by the controller.
import {useEffect, useState} from 'preact/hooks';

let pausedAt = 0;
const listeners = new Set<() => void>();

export const isPaused = (): boolean => pausedAt > 0;
export const pausedSince = (): number => pausedAt;

export function setPaused(paused: boolean): void {
  if (paused === isPaused()) return;
  pausedAt = paused ? Date.now() : 0;
  for (const listener of [...listeners]) listener();
}

export function onPause(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

// When the page was paused, ms since 1970; 0 while it is live.
export function usePaused(): number {
  const [at, setAt] = useState(pausedAt);
  useEffect(() => {
    setAt(pausedAt);
    return onPause(() => setAt(pausedAt));
  }, []);
  return at;
}
