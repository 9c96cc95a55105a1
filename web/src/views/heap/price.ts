// What a snapshot would cost the process, in words. The controller makes a frozen copy of it; the larger the process, the longer that takes.
import type {CheckedVerb} from '../../api/types';
import {formatBytes, formatMs} from '../../ui/format';

// As src/inspect/headroom.cpp expects it.
const kLeastMs = 3;
const kMostMs = 15;
const kLeastMsPerGb = 15;
const kMostMsPerGb = 60;

export function priceWords(rssBytes: number | null | undefined, verb: CheckedVerb | undefined): string {
  if (verb?.works === 'no') return verb.detail ?? 'it cannot be taken here';
  if (verb?.works === 'partly') return `taken ${verb.detail ?? 'by a full collection, which pauses the process longer'}`;
  if (!rssBytes) return 'the process stands still for some milliseconds';
  const gb = rssBytes / 1e9;
  return `expected pause ${formatMs(kLeastMs + gb * kLeastMsPerGb)} to ${formatMs(kMostMs + gb * kMostMsPerGb)}; until it is read the process may take up to ${formatBytes(rssBytes / 4 + 2 ** 25)} more memory`;
}

// Whether the controller refused because of the memory, which can be overruled.
export const isForMemory = (hint: string): boolean => /force/.test(hint);
