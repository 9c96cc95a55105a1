// Where the evidence of a finding can be looked at: the page of its threads, locks, exceptions, memory; or a recording that shows it.
import type {Finding, Remedy} from '../../api/types';
import type {Query} from '../../frame/router';
import {placeOf} from '../../ui/remedy';

export interface EvidencePlace {
  words: string;
  path: string;
  query: Query;
  hash?: string;
}

interface Kind {
  words: string;
  path: string;
  query?: Query;
  scope?: 'trace' | 'memory'; // that the page needs
}

const kLocks: Kind = {words: 'See the lock waits', path: '/views/contention'};
const kPool: Kind = {words: 'See the thread pool', path: '/views/threadpool'};
const kAsync: Kind = {words: 'See the async stacks', path: '/stacks', query: {view: 'async'}};
const kStacks: Kind = {words: 'See the stacks', path: '/stacks'};
const kNative: Kind = {words: 'See the stacks with native frames', path: '/stacks', query: {native: 'true'}};
const kGc: Kind = {words: 'See the collections', path: '/views/gc'};
const kHeap: Kind = {words: 'See the heap', path: '/heap', scope: 'memory'};
const record = (words: string, profile: string): Kind => ({words, path: '/record', query: {profile}, scope: 'trace'});

// By the id of the finding. What is not here has its evidence in threads, or in the report of the doctor.
const kKinds: Record<string, Kind> = {
  CS1003: kLocks,
  CS1204: kPool,
  CS1205: kAsync,
  CS1206: kAsync,
  CS1207: kPool,
  CS1302: kStacks,
  CS1303: kStacks,
  CS1304: kNative,
  CS1305: kNative,
  CS1307: {words: 'See who starts threads', path: '/views/thread-starts'},
  CS1401: record('Record CPU', 'cpu-sampling'),
  CS1501: {words: 'See the exceptions', path: '/views/exceptions'},
  CS1601: kGc,
  CS1602: kGc,
  CS1604: kHeap,
  CS1605: kHeap,
  CS1606: kHeap,
  CS1607: {words: 'See the counters', path: '/counters'},
  CS1608: record('Record allocations', 'gc-verbose'),
  CS1609: kHeap,
  CS1620: kHeap,
  CS1621: kHeap,
  CS1701: record('Record HTTP requests', 'http'),
  CS1702: record('Record HTTP requests', 'http'),
  CS1703: record('Record HTTP requests', 'http'),
  CS1704: record('Record database commands', 'database'),
};

type Known = Pick<Finding, 'id' | 'evidence'> & {next?: Remedy[]};

// The first is where its evidence is; the others are what the doctor advises besides. `isAllowed`: of a scope.
export function placesOf({id, evidence, next = []}: Known, pid: number, isAllowed: (scope: 'trace' | 'memory') => boolean): EvidencePlace[] {
  const [thread] = evidence.threads;
  const kind = kKinds[id] ?? (thread ? kStacks : undefined);
  const place: EvidencePlace = kind && (!kind.scope || isAllowed(kind.scope)) ? {words: kind.words, path: kind.path, query: {pid, ...kind.query}} : {words: 'Examine it', path: '/doctor', query: {pid, only: id}};
  if (thread && (kind === kStacks || kind === kNative)) {
    place.words = evidence.threads.length > 1 ? `See its ${evidence.threads.length} threads` : `See thread ${thread.osId}`;
    place.hash = `#t${thread.osId}`;
  }
  const places = [place];
  const isSame = (one: EvidencePlace, other: EvidencePlace) => one.path === other.path && JSON.stringify(one.query) === JSON.stringify(other.query);
  for (const remedy of next) {
    const known = placeOf(remedy, pid);
    if (known && !places.some((one) => isSame({...one, query: {...known.query, ...one.query}}, known))) places.push(known);
  }
  return places;
}
