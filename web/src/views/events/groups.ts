// Exceptions with the same type and stack together.
import type {RecentException} from '../../api/types';

export interface Group {
  key: string; // the same for the same type and stack, whatever else comes
  type: string;
  stack: string[];
  count: number;
  last: string; // time of the newest
  osId: number; // thread of the newest
  messages: {text: string; count: number}[]; // of the newest first
  moreMessages: number;
}

const kMostMessages = 10;

// FNV-1a: short enough for an address.
function hash(text: string): string {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; ++i) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return (value >>> 0).toString(36);
}

// Groups in a stable order: by type, then by the method that throws; the newest come first in `recent`.
export function grouped(recent: RecentException[]): Group[] {
  const groups = new Map<string, Group>();
  for (const one of recent) {
    const key = hash([one.type, ...one.stack].join('\n'));
    let group = groups.get(key);
    if (!group) groups.set(key, (group = {key, type: one.type, stack: one.stack, count: 0, last: one.time, osId: one.osId, messages: [], moreMessages: 0}));
    ++group.count;
    const known = group.messages.find((message) => message.text === one.message);
    if (known) ++known.count;
    else if (group.messages.length < kMostMessages) group.messages.push({text: one.message, count: 1});
    else ++group.moreMessages;
  }
  return [...groups.values()].sort((a, b) => a.type.localeCompare(b.type) || (a.stack[0] ?? '').localeCompare(b.stack[0] ?? '') || a.key.localeCompare(b.key));
}
