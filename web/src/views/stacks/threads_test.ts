import {deepEqual, equal} from 'node:assert/strict';
import {test} from 'node:test';
import type {Frame, Thread, Wait} from '../../api/types';
import {nextPasts, type Pasts, unchangedMs} from './changes';
import {countBehind, countWords, filtered, groupsOf, idleWords, look, singlesOf, type StacksData} from './threads';

const app = (method: string): Frame => ({method, module: 'Shop', kind: 'managed', file: '/src/Shop.cs', line: 7});
const native: Frame = {method: 'futex', module: 'libc.so.6', kind: 'native'};
const monitor = (object: string, ownerOsId?: number): Wait => ({kind: 'Monitor', object, type: 'Shop.Stock', ownerOsId, timed: false});

function thread(osId: number, more: Partial<Thread> = {}): Thread {
  return {osId, managedId: osId, name: `worker-${osId}`, state: 'sleeping', cpuMs: 0, whole: true, frames: [native, native, app('Shop.Work()')], ...more};
}

function stacks(threads: Thread[], more: Partial<StacksData> = {}): StacksData {
  return {pid: 1, process: 'shop', runtime: '10.0', source: 'data contracts', pauseMs: 0, durationMs: 1, threads, cycles: [], locks: [], locksUnread: 0, notes: [], ...more};
}

// Two in a deadlock, two behind them, one that runs, two that wait for events of their own, three that are idle.
function sick(): StacksData {
  const idle: Wait = {kind: 'idle pool worker', object: null, type: '', timed: false};
  const event = (object: string): Wait => ({kind: 'ManualResetEventSlim', object, type: 'System.Threading.ManualResetEventSlim', timed: false});
  const threads = [
    thread(1, {waitingFor: event('0x1')}),
    thread(2, {waitingFor: event('0x2')}),
    thread(3, {state: 'running', frames: [app('Shop.Price()')]}),
    thread(4, {waitingFor: idle, pool: true, frames: [native]}),
    thread(5, {waitingFor: idle, pool: true, frames: [native]}),
    thread(6, {managedId: null, name: '.NET EventPipe', frames: [native]}),
    thread(7, {waitingFor: monitor('0xa', 8), holds: ['0xb']}),
    thread(8, {waitingFor: monitor('0xb', 7), holds: ['0xa']}),
    thread(9, {waitingFor: monitor('0xb', 7)}),
    thread(10, {waitingFor: monitor('0xb', 7)}),
  ];
  const locks = [{kind: 'Monitor' as const, object: '0xb', type: 'Shop.Stock', ownerOsId: 7, waiters: [8, 9, 10]}];
  return stacks(threads, {cycles: [[7, 8]], locks});
}

const ids = (data: StacksData) => groupsOf(look(data, false)).map((group) => [group.rank, group.members.map((one) => one.thread.osId)]);

test('threads in the same place are one group, the most interesting group first', () => {
  deepEqual(ids(sick()), [
    ['deadlock', [7]],
    ['deadlock', [8]],
    ['lock', [9, 10]],
    ['running', [3]],
    ['wait', [1, 2]],
    ['idle', [4, 5]],
    ['idle', [6]],
  ]);
});

test('a group names its lock only if all wait for the same one', () => {
  const groups = groupsOf(look(sick(), false));
  equal(groups.find((group) => group.rank === 'wait')?.wait?.object, null);
  equal(groups.find((group) => group.rank === 'lock')?.wait?.object, '0xb');
});

test('who holds a lock that others want stands before those who wait for it', () => {
  const data = stacks([thread(1, {waitingFor: monitor('0xa', 2)}), thread(2, {holds: ['0xa']})], {locks: [{kind: 'Monitor', object: '0xa', type: '', ownerOsId: 2, waiters: [1]}]});
  deepEqual(ids(data), [['lock', [2]], ['lock', [1]]]);
});

test('counts say whose threads they are, and add up', () => {
  const seen = look(sick(), false);
  equal(countWords(seen), '10 threads: 7 of the application, 2 pool workers, 1 of the runtime');
  equal(idleWords(groupsOf(seen).filter((group) => group.rank === 'idle')), '3 idle: 2 thread pool workers waiting for work, 1 runtime thread');
  equal(countBehind(sick(), [7, 8]), 2);
});

test('native frames are one line, unless they are wanted', () => {
  const data = stacks([thread(1)]);
  deepEqual(look(data, false)[0].lines.map((line) => line.frame?.method ?? line.skipped), [2, 'Shop.Work()']);
  deepEqual(look(data, true)[0].lines.map((line) => line.frame?.method), ['futex', 'futex', 'Shop.Work()']);
});

test('the filter finds methods, modules, names, ids and lock types', () => {
  const count = (word: string) => filtered(groupsOf(look(sick(), false)), word, sick()).reduce((sum, group) => sum + group.members.length, 0);
  equal(count('price'), 1);
  equal(count('WORKER-10'), 1);
  equal(count('shop.stock'), 4);
  equal(count('eventpipe'), 1);
  equal(count('nothing has this'), 0);
  equal(count(' '), 10);
});

test('ids of groups stay the same while threads come and go', () => {
  const [before, after] = [sick(), sick()];
  after.threads = after.threads.filter((one) => one.osId !== 10);
  const id = (data: StacksData) => groupsOf(look(data, false)).find((group) => group.rank === 'lock')?.id;
  equal(id(before), id(after));
  equal(singlesOf(look(before, false))[0].id, 't7');
});

test('a thread that did not move says since when, and what it used', () => {
  const at = (line: number, cpuMs: number) => look(stacks([thread(1, {cpuMs, frames: [{...app('Shop.Work()'), line}]})]), false);
  let pasts: Pasts = nextPasts(new Map(), at(7, 0), 10_000);
  equal(unchangedMs(pasts.get(1)), 0);
  pasts = nextPasts(pasts, at(7, 1000), 12_000);
  equal(unchangedMs(pasts.get(1)), 2000);
  equal(pasts.get(1)?.cpuPercent, 50);
  pasts = nextPasts(pasts, at(8, 1000), 14_000);
  equal(unchangedMs(pasts.get(1)), 0);
});
