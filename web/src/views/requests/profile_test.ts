import {deepEqual, equal} from 'node:assert/strict';
import {test} from 'node:test';
import {buildTree} from '../flame/tree';
import {readTrace} from '../flame/data';
import {drawnOf, endOf, findTrace, flameOf, lostWords, requestsOf, rowsOf, stacksIn, unfolded} from './profile';
import {profileOf, requestOf, spanOf} from './fixture';

// GetAsync runs 2 ms, waits 6 ms for QueryAsync, is queued for 1 ms of them, runs 2 ms more.
const kOrder = requestOf({
  durationMs: 10,
  queuedMs: 0,
  parts: [
    {startMs: 0, durationMs: 2, thread: 7},
    {startMs: 8, durationMs: 2, thread: 9},
  ],
  spans: [
    spanOf({id: 1, method: 'Shop.Orders.GetAsync', durationMs: 10, queuedMs: 1, steps: [{startMs: 0, durationMs: 2, thread: 7}, {startMs: 8, durationMs: 2, thread: 9, queuedMs: 1}]}),
    spanOf({id: 2, parent: 1, method: 'Shop.Database.QueryAsync', startMs: 1, durationMs: 6, steps: [{startMs: 1, durationMs: 1, thread: 7}]}),
  ],
});

test('an async span runs in its steps, waits for what it called, and is queued at the end of the wait', () => {
  const [request, outer, inner] = rowsOf(kOrder);
  deepEqual(
    outer.segments.map(({kind, startMs, endMs}) => [kind, startMs, endMs]),
    [
      ['running', 0, 2],
      ['waiting', 2, 7],
      ['queued', 7, 8],
      ['running', 8, 10],
    ],
  );
  deepEqual(outer.segments[1].waitedFor, ['Shop.Database.QueryAsync']);
  deepEqual(inner.segments.map((one) => [one.kind, one.waitedFor]), [['running', undefined], ['waiting', []]]);
  deepEqual([request.depth, outer.depth, inner.depth], [0, 1, 2]);
  deepEqual(request.segments.map((one) => one.kind), ['running', 'waiting', 'queued', 'running']);
});

test('a synchronous span runs all the time', () => {
  const row = rowsOf(requestOf({spans: [spanOf({async: false, durationMs: 4})]}))[1];
  deepEqual(row.segments.map((one) => [one.kind, one.startMs, one.endMs]), [['running', 0, 4]]);
});

test('queued time is part of the wait before its step, and never more than that', () => {
  const steps = [
    {startMs: 0, durationMs: 1, thread: 1},
    {startMs: 5, durationMs: 1, thread: 1, queuedMs: 2},
    {startMs: 9, durationMs: 1, thread: 1, queuedMs: 50},
  ];
  const row = rowsOf(requestOf({spans: [spanOf({durationMs: 10, steps})]}))[1];
  const queued = row.segments.filter((one) => one.kind === 'queued').map((one) => [one.startMs, one.endMs]);
  deepEqual(queued, [[1, 5], [6, 9]]); // 50 ms reach over the step before, which ran
  const right = rowsOf(requestOf({spans: [spanOf({durationMs: 10, steps: steps.slice(0, 2)})]}))[1];
  deepEqual(right.segments.map((one) => [one.kind, one.startMs, one.endMs]), [['running', 0, 1], ['waiting', 1, 3], ['queued', 3, 5], ['running', 5, 6], ['waiting', 6, 10]]);
});

test('spans with unknown, repeated or later parents hang on the request, and every one is shown once', () => {
  const spans = [spanOf({id: 3, parent: 99}), spanOf({id: 4, parent: 4}), spanOf({id: 5, parent: 6}), spanOf({id: 6, parent: 5}), spanOf({id: 6, parent: 3})];
  const rows = rowsOf(requestOf({spans}));
  deepEqual(rows.map((row) => [row.id, row.depth]), [[0, 0], [3, 1], [4, 1], [5, 1], [6, 2]]);
});

test('folding a span hides what is below it only', () => {
  const spans = [spanOf({id: 1}), spanOf({id: 2, parent: 1}), spanOf({id: 3, parent: 2}), spanOf({id: 4})];
  const rows = rowsOf(requestOf({spans}));
  deepEqual(unfolded(rows, new Set([1])).map((row) => row.id), [0, 1, 4]);
  deepEqual(unfolded(rows, new Set([0])).map((row) => row.id), [0]);
});

test('work that outlives its request makes the picture longer', () => {
  const rows = rowsOf(requestOf({durationMs: 5, spans: [spanOf({startMs: 4, durationMs: 30})]}));
  equal(endOf(rows), 34);
});

test('a deep chain of spans is read without recursion', () => {
  const spans = Array.from({length: 20_000}, (_, i) => spanOf({id: i + 1, parent: i}));
  equal(rowsOf(requestOf({spans}))[20_000].depth, 20_000);
});

// A loop of 20,000 awaits: as many steps and children.
const kLoop = requestOf({
  durationMs: 20_000,
  spans: [
    spanOf({id: 1, durationMs: 20_000, steps: Array.from({length: 20_000}, (_, i) => ({startMs: i, durationMs: 0.2, thread: 1}))}),
    ...Array.from({length: 20_000}, (_, i) => spanOf({id: i + 2, parent: 1, method: i % 2 ? 'Odd' : 'Even', startMs: i + 0.1, durationMs: 0.9})),
  ],
});

test('each of very many waits names what it waited for', () => {
  const waits = rowsOf(kLoop)[1].segments.filter((one) => one.kind === 'waiting');
  equal(waits.length, 20_000);
  deepEqual([waits[0].waitedFor, waits[1].waitedFor, waits[19_999].waitedFor], [['Even'], ['Odd'], ['Odd']]);
});

test('very many segments are drawn as few that cover the same time; few are drawn as they are', () => {
  const {segments} = rowsOf(kLoop)[1];
  const drawn = drawnOf(segments, 0, 20_000);
  equal(drawn.length <= 1000, true);
  equal(drawn.every((one) => one.kind === 'waiting'), true); // 80 % of each
  deepEqual([drawn[0].startMs, drawn[drawn.length - 1].endMs], [0, 20_000]);
  equal(drawn.every((one, i) => i === 0 || one.startMs <= drawn[i - 1].endMs + 1e-6), true);
  deepEqual(drawnOf(segments, 10.05, 11.9).map((one) => one.kind), ['running', 'waiting', 'running', 'waiting']);
  equal(segments.length, 40_000); // what is drawn is a copy
});

test('the flame graph of a route merges requests: running time on, unexplained waiting off', () => {
  const json = flameOf([kOrder, kOrder], 'GET /orders/{id}', 1);
  const trace = readTrace(json);
  const tree = buildTree(trace, {weight: 'both', inverted: false, hiddenKinds: new Set(), unnamed: false, process: -1, thread: -1});
  equal(tree.total[0], 2 * 10_000);
  const at = (method: string) => json.nodeName.findIndex((name) => json.names[name] === method);
  const [get, query] = [at('Shop.Orders.GetAsync'), at('Shop.Database.QueryAsync')];
  equal(json.nodeParent[query], get);
  deepEqual([json.rowOnUs[get], json.rowOffUs[get]], [2 * 3000, 2 * 1000]); // it runs 4 ms, of which 1 is its callee's; 1 ms of its wait is not its callee's
  deepEqual([json.rowOnUs[query], json.rowOffUs[query]], [2 * 1000, 2 * 5000]);
});

test('requests are found by route, by trace id, by its beginning and by a traceparent', () => {
  const one = requestOf({traceId: 'ab'.repeat(16), durationMs: 1});
  const two = requestOf({traceId: 'cd'.repeat(16), durationMs: 3});
  const other = requestOf({traceId: 'ef'.repeat(16), route: '', path: '/nowhere'});
  const profile = profileOf({requests: [one, two, other]});
  deepEqual(requestsOf(profile, 'GET /orders/{id}'), [two, one]);
  deepEqual(requestsOf(profile, 'GET /nowhere'), [other]);
  deepEqual(findTrace(profile, ` ${'CD'.repeat(16)} `), [two]);
  deepEqual(findTrace(profile, 'ab'), [one]);
  deepEqual(findTrace(profile, `00-${'ef'.repeat(16)}-00f067aa0ba902b7-01`), [other]);
  deepEqual(findTrace(profile, ''), []);
});

test('every loss is told with its number', () => {
  deepEqual(lostWords(profileOf({})), []);
  deepEqual(lostWords(profileOf({lost: {records: 1200, requests: 0, spans: 3, late: 0, orphans: 0, damaged: 0}})), [
    '1,200 records: no room in a ring',
    '3 spans beyond the limit of a request or of no known request',
  ]);
});

test('CPU samples of a span are those of what it called too, the same stacks added up', () => {
  const stacks = [
    {span: 3, samples: 1, cpuMs: 10, frames: ['C', 'Main']},
    {span: 2, samples: 2, cpuMs: 20, frames: ['B', 'Main']},
    {span: 1, samples: 2, cpuMs: 20, frames: ['C', 'Main']},
    {span: 0, samples: 9, cpuMs: 90, frames: ['Main']},
  ];
  const spans = [
    {id: 1, parent: 0},
    {id: 2, parent: 1},
    {id: 3, parent: 2},
  ];
  const of = (span: number) => stacksIn(stacks, span, spans).map(({frames, samples}) => [frames[0], samples]);
  deepEqual(of(0), [['Main', 9], ['C', 3], ['B', 2]]);
  deepEqual(of(1), [['C', 3], ['B', 2]]);
  deepEqual(of(2), [['B', 2], ['C', 1]]);
  deepEqual(of(3), [['C', 1]]);
});
