import {deepEqual, equal} from 'node:assert/strict';
import {test} from 'node:test';
import {flameOfFleet, rangeOf, requestOf, routeOf, stepOf} from './fleet';
import type {FleetRequest, FleetSeries} from './fleet-types';

test('a range is the last hour, a length, or two times; wrong ones are the last hour', () => {
  const now = 1_000_000_000_000;
  const of = (text: string) => rangeOf(new URLSearchParams(text), now);
  deepEqual(of('').words, {last: '1h'});
  deepEqual(of('').query, {last: undefined});
  deepEqual([of('last=15m').from, of('last=15m').to, of('last=15m').query.last], [1e9 - 900, 1e9, '15m']);
  deepEqual(of('from=100&to=400.5').words, {from: 100, to: 400.5});
  for (const wrong of ['last=never', 'last=-1h', 'last=0m', 'from=5', 'from=9&to=5', 'from=x&to=y']) deepEqual(of(wrong).words, {last: '1h'});
});

test('a chart has at most 90 steps, unless the range is years', () => {
  for (const seconds of [1, 900, 3600, 21_600, 86_400, 7 * 86_400]) equal(seconds / stepOf(seconds) <= 90, true);
  equal(stepOf(900), 10);
});

test('nodes in preorder become a tree level by level', () => {
  const json = flameOfFleet({requests: 2, spans: 9, samples: 0, totalMs: 6, shortestMs: 1, longestMs: 5, names: ['A', 'B', 'C'], name: [0, 1, 2, 1, 2], depth: [0, 1, 2, 1, 0], selfNs: [1e6, 2e6, 3e6, 4e6, 5e6], calls: [1, 1, 1, 1, 1]}, 't');
  deepEqual(json.nodeName.map((name) => json.names[name]), ['', 'A', 'C', 'B', 'B', 'C']);
  deepEqual(json.nodeParent, [0, 0, 0, 1, 1, 3]);
  deepEqual(json.rowOnUs, [0, 1000, 5000, 2000, 4000, 3000]);
});

test('means of a route are of its sampled requests', () => {
  const series = {group: 'GET /a b', requests: 10, sampled: 4, errors: 1, p50Ms: 1, p90Ms: 2, p95Ms: 3, p99Ms: 4, maxMs: 5, runningMs: 8, waitingMs: 4, queuedMs: 0} as FleetSeries;
  const route = routeOf(series);
  deepEqual([route.method, route.route, route.perSecond, route.sampledPercent, route.runningMs, route.waitingMs], ['GET', '/a b', null, 40, 2, 1]);
  equal(routeOf({...series, sampled: 0}).runningMs, 0);
});

test('spans of a stored request get ids, running and waiting time', () => {
  const request = requestOf({
    spans: [
      {method: 'A', parent: 0, startMs: 0, durationMs: 10, selfMs: 2, queuedMs: 0, thread: 1, outcome: 'returned', async: true, steps: [{startMs: 0, durationMs: 2, thread: 1}]},
      {method: 'B', parent: 1, startMs: 3, durationMs: 4, selfMs: 3, queuedMs: 0, thread: 2, outcome: 'returned', async: false},
      {method: 'C', parent: 2, startMs: 4, durationMs: 1, selfMs: 1, queuedMs: 0, thread: 2, outcome: 'returned', async: false},
    ],
  } as unknown as FleetRequest);
  deepEqual(request.spans.map((one) => [one.id, one.parent, one.runningMs, one.waitingMs]), [[1, 0, 2, 8], [2, 1, 4, 0], [3, 2, 1, 0]]);
  deepEqual(request.parts.map((one) => [one.startMs, one.durationMs]), [[0, 2], [3, 4]]); // a call within a call is no more work
});
