// What changed between two looks: since when each thread stands where it stands, and how much CPU it used meanwhile.
import type {Seen} from './threads';

export interface Past {
  key: string; // where it stood
  since: number; // when it was first seen there, ms since 1970
  at: number; // the last look
  cpuMs: number;
  cpuPercent?: number; // between the last two looks; 100 is one core
}

export type Pasts = ReadonlyMap<number, Past>;

const kLeastMs = 1000;

export function nextPasts(before: Pasts, seen: Seen[], at: number): Pasts {
  const after = new Map<number, Past>();
  for (const {thread, key} of seen) {
    const known = before.get(thread.osId);
    const ms = known ? at - known.at : 0;
    after.set(thread.osId, {
      key,
      since: known && known.key === key ? known.since : at,
      at,
      cpuMs: thread.cpuMs,
      cpuPercent: known && ms > 0 ? Math.max(0, ((thread.cpuMs - known.cpuMs) / ms) * 100) : undefined,
    });
  }
  return after;
}

// How long it is known to stand in the same place; 0: it moved, or it was seen only once.
export function unchangedMs(past: Past | undefined): number {
  const ms = past ? past.at - past.since : 0;
  return ms >= kLeastMs ? ms : 0;
}
