// What a look at all threads means: who is interesting and why, who stands in the same place, what the filter finds.
import type {Frame, MonitorStacks, Thread, Wait} from '../../api/types';
import {shortId} from '../../ui/short-id';

export type StacksData = Omit<MonitorStacks, 'stacks'>; // without the same threads in dotnet-monitor's shape

// Why a thread is worth looking at, the most interesting first.
export const kRanks = ['deadlock', 'lock', 'running', 'wait', 'idle'] as const;
export type Rank = (typeof kRanks)[number];
export type Owner = 'app' | 'pool' | 'runtime';

// One line of a stack: a frame, or a run of native frames that are not shown one by one.
export interface Line {
  frame?: Frame;
  skipped: number;
}

export interface Seen {
  thread: Thread;
  rank: Rank;
  owner: Owner;
  lines: Line[];
  hasAppCode: boolean;
  isBlocking: boolean; // holds a lock that others wait for
  key: string; // equal for threads in the same place
}

export interface Group {
  id: string; // short, the same at every look as long as the stack and the wait are
  rank: Rank;
  owner: Owner;
  members: Seen[];
  total: number; // members before the filter
  lines: Line[];
  wait?: Wait; // its object is null if the members wait for different ones
}

const kLocks = new Set<string>(['Monitor', 'Lock', 'ReaderWriterLockSlim', 'SemaphoreSlim']);

const isManaged = (frame: Frame): boolean => frame.kind === 'managed' || frame.kind === 'framework' || !frame.kind;

function linesOf(frames: Frame[], native: boolean): Line[] {
  const lines: Line[] = [];
  for (const frame of frames) {
    if (native || isManaged(frame)) lines.push({frame, skipped: 0});
    else if (lines.length && !lines[lines.length - 1].frame) ++lines[lines.length - 1].skipped;
    else lines.push({skipped: 1});
  }
  return lines;
}

function ownerOf(thread: Thread, isRuntimeKnown: boolean): Owner {
  if (thread.pool) return 'pool';
  const isRuntimes = thread.name.startsWith('.NET ') && !thread.frames.some((frame) => frame.kind === 'managed');
  return isRuntimes || (isRuntimeKnown && thread.managedId === null) ? 'runtime' : 'app';
}

export function isLockWait(wait: Wait | undefined): boolean {
  return wait !== undefined && (kLocks.has(wait.kind) || wait.ownerOsId !== undefined);
}

function rankOf(thread: Thread, owner: Owner, isInCycle: boolean, isBlocking: boolean): Rank {
  if (isInCycle) return 'deadlock';
  if (isBlocking) return 'lock';
  if (thread.waitingFor?.kind === 'idle pool worker') return 'idle';
  if (isLockWait(thread.waitingFor)) return 'lock';
  if (thread.state === 'running' || thread.cooperative) return 'running';
  return owner === 'runtime' ? 'idle' : 'wait';
}

// Threads that wait each for a task or event of their own stand in the same place; those that wait for different
// locks with owners do not.
function keyOf(thread: Thread, rank: Rank, owner: Owner, lines: Line[]): string {
  const wait = thread.waitingFor;
  const words = [rank, owner, wait?.kind ?? '', wait?.type ?? '', wait?.ownerOsId ? `${wait.ownerOsId} ${wait.object}` : ''];
  if (!wait) words.push(thread.state === 'running' ? 'running' : '');
  for (const {frame} of lines) words.push(frame ? `${frame.module}!${frame.method} ${frame.file ?? ''}:${frame.line ?? ''}` : '');
  return words.join('\n');
}

export function look(data: StacksData, native: boolean): Seen[] {
  const inCycle = new Set(data.cycles.flat());
  const isRuntimeKnown = data.threads.some((thread) => thread.managedId !== null);
  const wanted = new Set(data.locks.filter((lock) => lock.waiters.length > 0).map((lock) => lock.ownerOsId));
  return data.threads.map((thread) => {
    const owner = ownerOf(thread, isRuntimeKnown);
    const isBlocking = wanted.has(thread.osId);
    const rank = rankOf(thread, owner, inCycle.has(thread.osId), isBlocking);
    const lines = linesOf(thread.frames, native);
    return {thread, owner, rank, lines, isBlocking, hasAppCode: thread.frames.some((frame) => frame.kind === 'managed'), key: keyOf(thread, rank, owner, lines)};
  });
}

function byInterest(a: Group, b: Group): number {
  const [x, y] = [a.members[0], b.members[0]];
  const code = Number(y.isBlocking) - Number(x.isBlocking) || Number(y.hasAppCode) - Number(x.hasAppCode);
  return kRanks.indexOf(a.rank) - kRanks.indexOf(b.rank) || code || b.members.length - a.members.length || x.thread.osId - y.thread.osId;
}

function groupOf(id: string, members: Seen[]): Group {
  const [{rank, owner, lines, thread}] = members;
  const wait = thread.waitingFor;
  const isSame = members.every((one) => one.thread.waitingFor?.object === wait?.object);
  return {id, rank, owner, members, total: members.length, lines, wait: wait && !isSame ? {...wait, object: null} : wait};
}

// Threads in the same place together, the most interesting group first.
export function groupsOf(seen: Seen[]): Group[] {
  const byKey = new Map<string, Seen[]>();
  for (const one of seen) {
    const known = byKey.get(one.key);
    if (known) known.push(one);
    else byKey.set(one.key, [one]);
  }
  return [...byKey].map(([key, members]) => groupOf(shortId(key), members)).sort(byInterest);
}

// Every thread on its own, in the same order.
export function singlesOf(seen: Seen[]): Group[] {
  return seen.map((one) => groupOf(`t${one.thread.osId}`, [one])).sort(byInterest);
}

function holdsText(thread: Thread, data: StacksData): string {
  return (thread.holds ?? []).map((object) => `${object} ${data.locks.find((lock) => lock.object === object)?.type ?? ''}`).join('\n');
}

function hasWord(word: string, thread: Thread, data: StacksData): boolean {
  const wait = thread.waitingFor;
  return [thread.name, String(thread.osId), wait?.type, wait?.object, wait?.kind, thread.exception, holdsText(thread, data)].some((text) => text?.toLowerCase().includes(word));
}

const lineHasWord = (word: string, {frame}: Line): boolean => !!frame && (frame.method.toLowerCase().includes(word) || frame.module.toLowerCase().includes(word));

// What is left of the groups: all members if a frame has the word, else those that have it themselves.
export function filtered(groups: Group[], filter: string, data: StacksData): Group[] {
  const word = filter.trim().toLowerCase();
  if (!word) return groups;
  const left: Group[] = [];
  for (const group of groups) {
    const members = group.lines.some((line) => lineHasWord(word, line)) ? group.members : group.members.filter((one) => hasWord(word, one.thread, data));
    if (members.length) left.push({...group, members});
  }
  return left;
}

// Threads outside of all cycles that wait, directly or through others, for a thread of this one.
export function countBehind(data: StacksData, cycle: number[]): number {
  const ownerOf = new Map(data.threads.map((thread) => [thread.osId, thread.waitingFor?.ownerOsId]));
  const inCycle = new Set(data.cycles.flat());
  const leadsTo = (osId: number): boolean => {
    const passed = new Set<number>();
    for (let at: number | undefined = osId; at !== undefined && !passed.has(at); at = ownerOf.get(at)) {
      if (cycle.includes(at)) return true;
      passed.add(at);
    }
    return false;
  };
  return data.threads.filter((thread) => !inCycle.has(thread.osId) && leadsTo(thread.osId)).length;
}

const many = (count: number, one: string, more = `${one}s`): string => `${count.toLocaleString('en-US')} ${count === 1 ? one : more}`;

// "31 threads: 12 of the application, 8 pool workers, 11 of the runtime"
export function countWords(seen: Seen[]): string {
  const count = (owner: Owner) => seen.filter((one) => one.owner === owner).length;
  const [app, pool, runtime] = [count('app'), count('pool'), count('runtime')];
  const parts = [app ? `${app} of the application` : '', pool ? many(pool, 'pool worker') : '', runtime ? `${runtime} of the runtime` : ''].filter(Boolean);
  return `${many(seen.length, 'thread')}${parts.length ? `: ${parts.join(', ')}` : ''}`;
}

// "14 idle: 8 thread pool workers waiting for work, 6 runtime threads"
export function idleWords(groups: Group[]): string {
  const members = groups.flatMap((group) => group.members);
  const workers = members.filter((one) => one.owner === 'pool').length;
  const runtime = members.filter((one) => one.owner === 'runtime').length;
  const others = members.length - workers - runtime;
  const parts = [workers ? `${many(workers, 'thread pool worker')} waiting for work` : '', runtime ? many(runtime, 'runtime thread') : '', others ? `${others} others` : ''];
  return `${members.length} idle: ${parts.filter(Boolean).join(', ')}`;
}
