// What the pages of a fleet server share: the range of time, which requests, links that keep both. All of it is in the address.
import {addressOf, type Place, type Query, usePlace} from '../frame/router';
import type {FleetFlame, FleetFlameChange, FleetRequest, FleetSeries} from './fleet-types';
import {type CallTree, flameFrom, type Interval, united} from '../views/requests/profile';
import type {ListedRequest} from '../views/requests/tables';
import type {Flame, ProfiledRequest, ProfiledRoute} from './types';

export const kLasts: [last: string, title: string][] = [
  ['15m', 'last 15 minutes'],
  ['1h', 'last hour'],
  ['6h', 'last 6 hours'],
  ['24h', 'last 24 hours'],
  ['7d', 'last 7 days'],
];
const kDefaultLast = '1h';
export const kEveryMs = 10_000; // between two questions about a range that ends now

const kUnits: Record<string, number> = {s: 1, m: 60, h: 3600, d: 86_400};

export interface Range {
  query: Query; // for links: nothing for the default
  words: Query; // for the API
  last: string; // empty: from and to
  seconds: number; // its length
  from: number; // unix seconds; of a range that ends now, as of now
  to: number;
}

// Seconds; 0: it is not a length.
export function lengthOf(last: string): number {
  const found = /^(\d+)([smhd])$/.exec(last);
  return found ? Number(found[1]) * kUnits[found[2]] : 0;
}

export function rangeOf(query: URLSearchParams, now: number): Range {
  const [from, to] = [Number(query.get('from')), Number(query.get('to'))];
  if (query.has('from') && query.has('to') && from >= 0 && to > from) return {query: {from, to}, words: {from, to}, last: '', seconds: to - from, from, to};
  const asked = query.get('last') ?? '';
  const last = lengthOf(asked) > 0 ? asked : kDefaultLast;
  const seconds = lengthOf(last);
  return {query: {last: last === kDefaultLast ? undefined : last}, words: {last}, last, seconds, from: now / 1000 - seconds, to: now / 1000};
}

export const useRange = (): Range => rangeOf(usePlace().query, Date.now());
export const everyMs = (range: Range): number => (range.last ? kEveryMs : 0);

const kSelection = ['service', 'route', 'version', 'host', 'status'];
const kBand = ['fromPercentile', 'toPercentile'];
const kBase = ['baseVersion', 'baseHost', 'baseShift', 'baseFrom', 'baseTo'];

// Which requests the address chooses.
export function selectionOf({query}: Place): Query {
  const out: Query = {};
  for (const name of [...kSelection, ...kBand]) out[name] = query.get(name) ?? undefined;
  return out;
}

// All of them, whatever their duration.
export const withoutBand = (selection: Query): Query => ({...selection, ...Object.fromEntries(kBand.map((name) => [name, undefined]))});

// What the address compares them with; nothing: there is no such choice yet.
export function baseOf({query}: Place): Query | undefined {
  const out: Query = {};
  for (const name of kBase) out[name] = query.get(name) ?? undefined;
  return Object.values(out).some((value) => value !== undefined) ? out : undefined;
}
export const kNoBase: Query = Object.fromEntries(kBase.map((name) => [name, undefined]));

// The path of a question about a range.
export const askFor = (path: string, range: Range, more: Query = {}): string => addressOf(`/${path}`, {...range.words, ...more}).replace(/^.*?\/fleet\//, 'fleet/');

// So long that a chart has at most kMostSteps of them.
const kMostSteps = 90;
const kSteps = [10, 30, 60, 300, 900, 3600, 21_600, 86_400];
export const stepOf = (seconds: number): number => kSteps.find((step) => seconds / step <= kMostSteps) ?? kSteps[kSteps.length - 1];

export const kBands: [from: number, to: number, title: string][] = [
  [0, 100, 'all requests'],
  [0, 50, 'fastest half'],
  [50, 90, 'p50 – p90'],
  [90, 99, 'p90 – p99'],
  [99, 100, 'slowest 1 %'],
];

export const shareOf = (part: number, whole: number): number => (whole > 0 ? (100 * part) / whole : 0);

// As the views of a request profile take them.

export function routeOf(one: FleetSeries): ProfiledRoute {
  const space = one.group.indexOf(' ');
  const mean = (sum: number) => (one.sampled > 0 ? sum / one.sampled : 0);
  return {
    method: one.group.slice(0, space),
    route: one.group.slice(space + 1),
    count: one.requests,
    perSecond: one.perSecond ?? null,
    p50Ms: one.p50Ms,
    p95Ms: one.p95Ms,
    p99Ms: one.p99Ms,
    maxMs: one.maxMs,
    errors: one.errors,
    sampled: one.sampled,
    sampledPercent: shareOf(one.sampled, one.requests),
    runningMs: mean(one.runningMs),
    waitingMs: mean(one.waitingMs),
    queuedMs: mean(one.queuedMs),
  };
}

export const listedOf = (one: FleetRequest): ListedRequest => one;

type Outcome = ProfiledRequest['spans'][number]['outcome'];

// The store keeps when methods ran, not when threads worked for the request beside them: its own line shows the methods.
export function requestOf(one: FleetRequest): ProfiledRequest {
  const spans = (one.spans ?? []).map((span, at) => {
    const steps = span.async ? (span.steps ?? []) : undefined;
    const runningMs = steps ? steps.reduce((sum, step) => sum + step.durationMs, 0) : span.durationMs;
    return {...span, id: at + 1, outcome: span.outcome as Outcome, steps, runningMs, waitingMs: Math.max(0, span.durationMs - runningMs)};
  });
  const running = spans.flatMap((span) => span.steps ?? [span]).map(({startMs, durationMs, thread}): Interval => ({startMs, endMs: startMs + durationMs, thread}));
  const parts = united(running).map(({startMs, endMs, thread = 0}) => ({startMs, durationMs: endMs - startMs, thread}));
  return {...one, spans, parts};
}

const kNsPerMs = 1e6;

// Both sides of a comparison: nodes that one does not have weigh nothing there.
export function flamesOfChange(flame: FleetFlameChange, title: string): {before: Flame; after: Flame} {
  const side = (selfNs: number[], requests: number, samples: number, totalMs: number) => flameOfFleet({...flame, selfNs, calls: [], requests, spans: 0, samples, totalMs, shortestMs: 0, longestMs: 0}, title);
  return {before: side(flame.beforeSelfNs, flame.beforeRequests, flame.beforeSamples, flame.beforeTotalMs), after: side(flame.afterSelfNs, flame.afterRequests, flame.afterSamples, flame.afterTotalMs)};
}

export function flameOfFleet(flame: FleetFlame, title: string): Flame {
  const tree: CallTree = {names: ['', ...flame.names], name: [0], parent: [0], on: [0], off: [0]};
  const above: number[] = [0]; // the last node of each depth; [0] is the root
  for (const [i, name] of flame.name.entries()) {
    const depth = flame.depth[i];
    const id = tree.name.push(name + 1) - 1;
    tree.parent.push(above[depth] ?? 0);
    tree.on.push(flame.selfNs[i] / kNsPerMs);
    tree.off.push(0);
    above[depth + 1] = id;
    above.length = depth + 2;
  }
  return flameFrom(tree, {title, pid: 0, startTime: '', samples: flame.samples || flame.spans, waits: 0});
}
