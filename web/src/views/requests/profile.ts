// What a profile of requests says, made ready to be drawn: rows and segments of a waterfall, routes, the call tree of a route.
//
// Nothing here touches the page. Ids and times come from the profiled process: they are checked, never trusted.
import type {Flame, ProfiledRequest, RequestProfile, RequestSpan} from '../../api/types';

export type SegmentKind = 'running' | 'waiting' | 'queued';

export interface Segment {
  kind: SegmentKind;
  startMs: number; // since the request began
  endMs: number;
  thread?: number;
  waitedFor?: string[]; // of waiting ones: methods that were under way meanwhile
}

// A line of the waterfall: the request itself, or a span.
export interface Row {
  id: number; // of the span; 0: the request
  depth: number;
  method: string;
  startMs: number;
  endMs: number;
  span?: RequestSpan;
  children: number[]; // ids
  segments: Segment[];
}

export interface Interval {
  startMs: number;
  endMs: number;
  thread?: number;
}

const toInterval = ({startMs, durationMs, thread}: {startMs: number; durationMs: number; thread?: number}): Interval => ({startMs, endMs: startMs + Math.max(0, durationMs), thread});

// Sorted, without overlaps. Parts that touch stay apart when they ran on different threads.
export function united(all: Interval[]): Interval[] {
  const out: Interval[] = [];
  for (const one of [...all].sort((a, b) => a.startMs - b.startMs)) {
    const last = out[out.length - 1];
    if (last && one.startMs < last.endMs) last.endMs = Math.max(last.endMs, one.endMs);
    else out.push({...one});
  }
  return out;
}

// What of `from` lies in none of `taken`; `taken` is sorted and without overlaps, `from` sorted by begin.
function without(from: Interval[], taken: Interval[]): Interval[] {
  const out: Interval[] = [];
  let first = 0; // of those taken that may reach into what comes
  for (const one of from) {
    while (first < taken.length && taken[first].endMs <= one.startMs) ++first;
    let at = one.startMs;
    for (let i = first; i < taken.length && taken[i].startMs < one.endMs; ++i) {
      if (taken[i].startMs > at) out.push({...one, startMs: at, endMs: taken[i].startMs});
      at = Math.max(at, taken[i].endMs);
    }
    if (at < one.endMs) out.push({...one, startMs: at});
  }
  return out;
}

const lengthOf = (all: Interval[]): number => all.reduce((sum, one) => sum + one.endMs - one.startMs, 0);

function clipped(all: Interval[], startMs: number, endMs: number): Interval[] {
  return all.map((one) => ({...one, startMs: Math.max(one.startMs, startMs), endMs: Math.min(one.endMs, endMs)})).filter((one) => one.endMs > one.startMs);
}

// When a thread executed the span: an async method in its steps, another one all the time.
function runningOf(span: RequestSpan): Interval[] {
  const whole = toInterval(span);
  return span.async ? united(clipped((span.steps ?? []).map(toInterval), whole.startMs, whole.endMs)) : [whole];
}

interface Awaited extends Interval {
  method: string;
}

const kMostAtOnce = 100; // children under way of which the names are told

// For each wait, the methods that were under way meanwhile. The waits are in order.
function awaitedIn(waits: Interval[], children: Awaited[]): string[][] {
  const byBegin = [...children].sort((a, b) => a.startMs - b.startMs);
  let active: Awaited[] = [];
  let next = 0;
  return waits.map(({startMs, endMs}) => {
    active = active.filter((one) => one.endMs > startMs);
    for (; next < byBegin.length && byBegin[next].startMs < endMs; ++next)
      if (byBegin[next].endMs > startMs && active.length < kMostAtOnce) active.push(byBegin[next]);
    return [...new Set(active.map((one) => one.method))];
  });
}

// When the span was ready and no thread had taken it yet.
const queuedOf = (span: RequestSpan): Interval[] => (span.steps ?? []).filter((step) => (step.queuedMs ?? 0) > 0).map((step) => ({startMs: step.startMs - step.queuedMs!, endMs: step.startMs}));

// Running parts, and between them waiting, of which some was spent in the queue of the thread pool.
function segmentsOf(whole: Interval, running: Interval[], queued: Interval[], children: Awaited[]): Segment[] {
  const gaps = without([whole], united(running));
  const waits = without(gaps, united(queued));
  const queues = without(gaps, waits);
  const awaited = awaitedIn(waits, children);
  return [
    ...running.map(({startMs, endMs, thread}): Segment => ({kind: 'running', startMs, endMs, thread})),
    ...waits.map(({startMs, endMs}, i): Segment => ({kind: 'waiting', startMs, endMs, waitedFor: awaited[i]})),
    ...queues.map(({startMs, endMs}): Segment => ({kind: 'queued', startMs, endMs})),
  ].sort((a, b) => a.startMs - b.startMs);
}

// Spans by id, and the ids of the children of each; 0 is the request. A span whose parent is unknown is a child of the request.
function treeOf(request: ProfiledRequest): {spans: Map<number, RequestSpan>; children: Map<number, number[]>} {
  const spans = new Map<number, RequestSpan>();
  const children = new Map<number, number[]>();
  for (const span of request.spans) {
    if (span.id <= 0 || spans.has(span.id)) continue;
    const parent = spans.has(span.parent) ? span.parent : 0; // parents come first, so that nothing is its own ancestor
    spans.set(span.id, span);
    const known = children.get(parent);
    if (known) known.push(span.id);
    else children.set(parent, [span.id]);
  }
  return {spans, children};
}

// All lines of the waterfall, a parent before its children.
export function rowsOf(request: ProfiledRequest): Row[] {
  const {spans, children} = treeOf(request);
  const awaitedBy = (id: number): Awaited[] =>
    (children.get(id) ?? []).map((child) => {
      const span = spans.get(child)!;
      return {...toInterval(span), method: span.method};
    });
  const whole = {startMs: 0, endMs: Math.max(0, request.durationMs)};
  const rows: Row[] = [
    {
      id: 0,
      depth: 0,
      method: `${request.method} ${request.path}`,
      ...whole,
      children: children.get(0) ?? [],
      segments: segmentsOf(whole, clipped(request.parts.map(toInterval), whole.startMs, whole.endMs), [...spans.values()].flatMap(queuedOf), awaitedBy(0)),
    },
  ];
  const todo = [...(children.get(0) ?? [])].reverse().map((id) => ({id, depth: 1}));
  for (let next = todo.pop(); next; next = todo.pop()) {
    const {id, depth} = next;
    const span = spans.get(id)!;
    const {startMs, endMs} = toInterval(span);
    const below = children.get(id) ?? [];
    rows.push({id, depth, method: span.method, startMs, endMs, span, children: below, segments: segmentsOf({startMs, endMs}, runningOf(span), queuedOf(span), awaitedBy(id))});
    for (let i = below.length - 1; i >= 0; --i) todo.push({id: below[i], depth: depth + 1});
  }
  return rows;
}

// Lines that no folded one hides.
export function unfolded(rows: Row[], folded: ReadonlySet<number>): Row[] {
  const out: Row[] = [];
  let hiddenBelow = Infinity; // depth
  for (const row of rows) {
    if (row.depth > hiddenBelow) continue;
    hiddenBelow = folded.has(row.id) ? row.depth : Infinity;
    out.push(row);
  }
  return out;
}

const kManySegments = 500;

// Segments to draw between `fromMs` and `toMs`: where there are very many, neighbours too short to be seen become one, of the kind
// that most of their time was.
export function drawnOf(segments: Segment[], fromMs: number, toMs: number): Segment[] {
  const seen = segments.filter((one) => one.endMs >= fromMs && one.startMs <= toMs);
  if (seen.length <= kManySegments) return seen;
  const least = (toMs - fromMs) / kManySegments;
  const out: Segment[] = [];
  let times: Record<SegmentKind, number> | undefined; // of the short ones that the last one stands for
  for (const one of seen) {
    const length = one.endMs - one.startMs;
    const last = out[out.length - 1];
    if (length >= least) {
      times = undefined;
      out.push(one);
    } else if (times && one.startMs - last.startMs < least) {
      times[one.kind] += length;
      last.endMs = Math.max(last.endMs, one.endMs);
      for (const kind of ['running', 'waiting', 'queued'] as const) if (times[kind] > times[last.kind]) last.kind = kind;
    } else {
      times = {running: 0, waiting: 0, queued: 0};
      times[one.kind] = length;
      out.push({kind: one.kind, startMs: one.startMs, endMs: one.endMs});
    }
  }
  return out;
}

// Background work may end after its request.
export const endOf = (rows: Row[]): number => rows.reduce((most, row) => Math.max(most, row.endMs), 0);

export const routeId = (one: {method: string; route: string; path?: string}): string => `${one.method} ${one.route || one.path || ''}`;

// The sampled requests of a route, slowest first. A request that matched no route belongs to its path.
export function requestsOf(profile: RequestProfile, route: string): ProfiledRequest[] {
  return profile.requests.filter((one) => routeId(one) === route).sort((a, b) => b.durationMs - a.durationMs);
}

export const isFailed = (one: Pick<ProfiledRequest, 'status' | 'error'>): boolean => one.status >= 500 || !!one.error;

// What a reader typed or pasted: a trace id, its beginning, or a traceparent.
export const traceIdOf = (typed: string): string => typed.trim().toLowerCase().replace(/^00-([0-9a-f]{32})-.*$/, '$1');

// By the whole trace id or its beginning.
export function findTrace(profile: RequestProfile, typed: string): ProfiledRequest[] {
  const id = traceIdOf(typed);
  return id ? profile.requests.filter((one) => one.traceId.startsWith(id)) : [];
}

export const shareSampled = (profile: RequestProfile): number => (profile.seen > 0 ? (100 * profile.sampled) / profile.seen : 0);

export function lostWords({lost}: RequestProfile): string[] {
  const words: [number, string][] = [
    [lost.records, 'records: no room in a ring'],
    [lost.requests, 'of them ends of requests, which are missing below'],
    [lost.spans, 'spans beyond the limit of a request or of no known request'],
    [lost.late, 'spans that ended long after their request'],
    [lost.orphans, 'spans whose caller is missing: shown below the request'],
    [lost.damaged, 'records that could not be read'],
  ];
  return words.filter(([count]) => count > 0).map(([count, what]) => `${count.toLocaleString('en-US')} ${what}`);
}

const kUs = 1000; // per ms

// A call tree as columns: a parent before its children, [0] is the root; times in ms.
export interface CallTree {
  names: string[]; // [0]: of the root
  name: number[];
  parent: number[];
  on: number[];
  off: number[];
}

// The merged call tree of some requests as a flame graph: running time is on a processor, what no callee explains is waiting.
export function flameOf(requests: ProfiledRequest[], title: string, pid: number): Flame {
  const names = [''];
  const nameOf = new Map<string, number>();
  const node = {name: [0], parent: [0], on: [0], off: [0]};
  const childOf = new Map<string, number>();
  const nodeFor = (parent: number, method: string): number => {
    let name = nameOf.get(method);
    if (name === undefined) nameOf.set(method, (name = names.push(method) - 1));
    const key = `${parent} ${name}`;
    let id = childOf.get(key);
    if (id === undefined) {
      id = node.name.push(name) - 1;
      node.parent.push(parent);
      node.on.push(0);
      node.off.push(0);
      childOf.set(key, id);
    }
    return id;
  };
  let [spanCount, waits] = [0, 0];
  for (const request of requests) {
    const {spans, children} = treeOf(request);
    const add = (id: number, at: number, whole: Interval, running: Interval[]) => {
      const below = (children.get(id) ?? []).map((child) => spans.get(child)!);
      const waiting = without(without([whole], united(running)), united(below.map(toInterval)));
      node.on[at] += lengthOf(without(running, united(below.flatMap(runningOf))));
      node.off[at] += lengthOf(waiting);
      waits += waiting.length;
    };
    const root = nodeFor(0, routeId(request));
    const whole = {startMs: 0, endMs: Math.max(0, request.durationMs)};
    add(0, root, whole, united(clipped(request.parts.map(toInterval), whole.startMs, whole.endMs)));
    const nodes = new Map<number, number>([[0, root]]);
    for (const [id, span] of spans) {
      const parent = spans.has(span.parent) && nodes.has(span.parent) ? span.parent : 0;
      const at = nodeFor(nodes.get(parent)!, span.method);
      nodes.set(id, at);
      ++spanCount;
      add(id, at, toInterval(span), runningOf(span));
    }
  }
  return flameFrom({names, ...node}, {title, pid, startTime: requests[0]?.startTime ?? '', samples: spanCount, waits});
}

// What the viewer shows.
export function flameFrom({names, ...node}: CallTree, {title, pid, startTime, samples, waits}: {title: string; pid: number; startTime: string; samples: number; waits: number}): Flame {
  return {
    version: 1,
    title,
    startTime,
    onFrom: 'runtime',
    offFrom: waits ? 'runtime' : '',
    durationMs: null,
    samples,
    waits,
    unfinished: 0,
    withoutStack: 0,
    idle: 0,
    folded: 0,
    lost: 0,
    modules: [''],
    names,
    nameModule: names.map(() => 0),
    nameKind: names.map((_, i) => (i ? 1 : 0)),
    processes: [{pid, name: title}],
    threadProcess: [0],
    threadId: [0],
    threadName: [''],
    ...levelByLevel(node),
  };
}

// The viewer wants a parent before its children and all nodes of a level together.
function levelByLevel(node: Omit<CallTree, 'names'>) {
  const below = new Map<number, number[]>();
  for (let i = 1; i < node.name.length; ++i) {
    const known = below.get(node.parent[i]);
    if (known) known.push(i);
    else below.set(node.parent[i], [i]);
  }
  const order = [0];
  for (let i = 0; i < order.length; ++i) for (const child of below.get(order[i]) ?? []) order.push(child);
  const place = new Map(order.map((id, i) => [id, i]));
  return {
    nodeName: order.map((id) => node.name[id]),
    nodeParent: order.map((id) => place.get(node.parent[id])!),
    rowNode: order.map((_, i) => i),
    rowThread: order.map(() => 0),
    rowSamples: order.map(() => 0),
    rowOnUs: order.map((id) => Math.round(node.on[id] * kUs)),
    rowOffUs: order.map((id) => Math.round(node.off[id] * kUs)),
  };
}

// CPU samples of a request that have the same span and stack; the innermost method first.
export interface SampledStack {
  span: number; // 0: none
  samples: number;
  cpuMs: number;
  frames: string[];
}

// Those of a span and of what it called, the most CPU time first; of 0, all. Those of the same stack in several spans are one.
export function stacksIn(stacks: SampledStack[], span: number, spans: {id: number; parent: number}[]): SampledStack[] {
  const inside = new Set([span]);
  for (const one of spans) if (inside.has(one.parent)) inside.add(one.id); // a caller is before its callees
  const found = new Map<string, SampledStack>();
  for (const one of stacks) {
    if (span !== 0 && !inside.has(one.span)) continue;
    const key = one.frames.join('\n');
    const same = found.get(key);
    found.set(key, same ? {...same, samples: same.samples + one.samples, cpuMs: same.cpuMs + one.cpuMs} : one);
  }
  return [...found.values()].sort((a, b) => b.cpuMs - a.cpuMs);
}
