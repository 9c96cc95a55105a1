import {deepEqual, equal} from 'node:assert/strict';
import {test} from 'node:test';
import {firstEndingAfter} from './canvas';
import type {Flame} from '../../api/types';
import {compareTrees, keyText, nodeOfKey, pathKeys} from './compare';
import {readTrace, type Trace} from './data';
import {functionTimes} from './functions';
import {sandwichOf} from './sandwich';
import {search} from './search';
import {buildTree, childrenOf, followPath, pathOf, type Choice, type Tree} from './tree';
import {changeText, Names, percentText} from './words';

const kAll: Choice = {weight: 'on', inverted: false, hiddenKinds: new Set(), unnamed: false, process: -1, thread: -1};

// main → work → leaf (self 10 on thread 0), main → work (self 5 on thread 1, waits 7), main → lib → leaf (self 1)
function trace(change: Partial<Flame> = {}): Trace {
  const json: Flame = {
    version: 1, title: 't', startTime: '', onFrom: 'kernel', offFrom: 'kernel', durationMs: 1, samples: 3, waits: 1, unfinished: 0, withoutStack: 0,
    idle: 0, folded: 0, lost: 0, modules: ['', 'Shop'],
    names: ['all', 'main', 'work', 'leaf', 'lib'], nameModule: [0, 1, 1, 1, 0], nameKind: [0, 1, 1, 1, 2],
    processes: [{pid: 7, name: 'Shop'}], threadProcess: [0, 0], threadId: [70, 71], threadName: ['', ''],
    nodeName: [0, 1, 2, 4, 3, 3], nodeParent: [0, 0, 1, 1, 2, 3],
    rowNode: [4, 2, 5], rowThread: [0, 1, 0], rowSamples: [1, 1, 1], rowOnUs: [10, 5, 1], rowOffUs: [0, 7, 0], ...change,
  };
  return readTrace(json);
}

// "main 16/0 > work 15/5": every node with its total and self, level by level.
function text(tree: Tree, from: Trace): string[] {
  const names = new Names(from);
  return Array.from(tree.name, (name, node) =>
    `${pathOf(tree, node).map((one) => names.whole(one)).join('>') || names.whole(name)} ${tree.total[node]}/${tree.self[node]}`);
}

test('totals go from the leaves to the root', () => {
  const t = trace();
  deepEqual(text(buildTree(t, kAll), t), ['all 16/0', 'main 16/0', 'main>work 15/5', 'main>lib 1/0', 'main>work>leaf 10/10', 'main>lib>leaf 1/1']);
});

test('one thread has only its own time, in the same places', () => {
  const t = trace();
  deepEqual(text(buildTree(t, {...kAll, thread: 1}), t), ['all 5/0', 'main 5/0', 'main>work 5/5', 'main>lib 0/0', 'main>work>leaf 0/0', 'main>lib>leaf 0/0']);
});

test('what a hidden kind took is its caller’s', () => {
  const t = trace();
  deepEqual(text(buildTree(t, {...kAll, hiddenKinds: new Set([2])}), t), ['all 16/0', 'main 16/0', 'main>work 15/5', 'main>leaf 1/1', 'main>work>leaf 10/10']);
});

test('inverted, the time is by who used it, callers below', () => {
  const t = trace();
  const tree = buildTree(t, {...kAll, inverted: true});
  deepEqual(text(tree, t), [
    'all 16/0', 'leaf 11/0', 'work 5/0', 'leaf>work 10/0', 'leaf>lib 1/0', 'work>main 5/5', 'leaf>work>main 10/10', 'leaf>lib>main 1/1']);
});

test('with both, waiting is a frame of its own', () => {
  const t = trace();
  const shown = text(buildTree(t, {...kAll, weight: 'both'}), t);
  equal(shown[0], 'all 23/0');
  equal(shown.includes('main>work>waiting 7/7'), true);
});

test('children begin where their parent begins, one after the other', () => {
  const tree = buildTree(trace(), kAll);
  deepEqual(Array.from(tree.begin), [0, 0, 0, 15, 0, 15]);
  deepEqual(childrenOf(tree, 1), {from: 2, to: 4});
  deepEqual(childrenOf(tree, 5), {from: 0, to: 0});
  equal(firstEndingAfter(tree, 2, 15), 3);
  equal(firstEndingAfter(tree, 2, 14.9), 2);
});

test('a path is found again in another tree, as far as it leads', () => {
  const t = trace();
  const path = pathOf(buildTree(t, kAll), 5); // main > lib > leaf
  const without = buildTree(t, {...kAll, hiddenKinds: new Set([2])});
  deepEqual(pathOf(without, followPath(without, path)), [1]);
});

test('a search counts nested matches once', () => {
  const t = trace();
  const tree = buildTree(t, kAll);
  const names = new Names(t);
  equal(search(tree, names, 'LEAF')?.time, 11);
  equal(search(tree, names, '/work|leaf/')?.time, 16);
  equal(search(tree, names, 'work')?.functions, 1);
  equal(search(tree, names, 'shop')?.time, 16); // the module's name
  equal(search(tree, names, ''), null);
});

test('functions are counted once, whoever called them, recursion too', () => {
  const t = trace();
  const of = (name: number) => functionTimes(buildTree(t, kAll), 0, 6).find((one) => one.name === name);
  deepEqual(of(3), {name: 3, self: 11, total: 11}); // leaf, under work and lib
  deepEqual(of(1), {name: 1, self: 0, total: 16});
  const turned = buildTree(t, {...kAll, inverted: true});
  deepEqual(functionTimes(turned, 0, 6, true).find((one) => one.name === 3), {name: 3, self: 11, total: 11});
  const again = trace();
  again.nodeName[4] = 2; // main > work > work
  deepEqual(functionTimes(buildTree(again, kAll), 0, 6).find((one) => one.name === 2), {name: 2, self: 15, total: 15});
  deepEqual(functionTimes(buildTree(t, kAll), 3, 6).map((one) => one.name), [3, 4]); // lib only
});

// main → helper → helper → leaf: two functions of the runtime without names, one after the other
const kUnnamed = {names: ['all', 'main', 'clr.so!fn_1f', 'leaf', '?'], nameKind: [0, 1, 6, 1, 6], nameModule: [0, 1, 0, 1, 0], nodeName: [0, 1, 2, 4, 3, 3], nodeParent: [0, 0, 1, 2, 3, 1], rowNode: [4, 5, 3], rowThread: [0, 0, 0], rowOnUs: [10, 1, 2], rowOffUs: [0, 0, 0]};

test('functions without a name are one frame, in both directions, and each for itself if wanted', () => {
  const t = trace(kUnnamed);
  deepEqual(text(buildTree(t, kAll), t), ['all 13/0', 'main 13/0', 'main>runtime helper 12/2', 'main>leaf 1/1', 'main>runtime helper>leaf 10/10']);
  deepEqual(text(buildTree(t, {...kAll, inverted: true}), t).slice(0, 4), ['all 13/0', 'leaf 11/0', 'runtime helper 2/0', 'leaf>runtime helper 10/0']);
  equal(text(buildTree(t, {...kAll, unnamed: true}), t).includes('main>clr.so!fn_1f>? 12/2'), true);
});

test('a sandwich has all callers and all callees of a function, recursion once', () => {
  const t = trace();
  const around = sandwichOf(buildTree(t, kAll), 3); // leaf
  deepEqual(text(around.callers, t), ['all 11/0', 'work 10/0', 'lib 1/0', 'work>main 10/10', 'lib>main 1/1']);
  deepEqual([around.total, around.self], [11, 11]);
  const main = sandwichOf(buildTree(t, kAll), 1);
  deepEqual(text(main.callees, t), ['all 16/0', 'work 15/5', 'lib 1/0', 'work>leaf 10/10', 'lib>leaf 1/1']);
  const again = trace();
  again.nodeName[4] = 2; // main > work > work
  const recursive = sandwichOf(buildTree(again, kAll), 2);
  deepEqual([recursive.total, recursive.self], [15, 15]);
  deepEqual(text(recursive.callees, again), ['all 15/5', 'work 10/10']);
});

test('a place in the tree is found again by its key, in another recording too', () => {
  const t = trace();
  const tree = buildTree(t, kAll);
  const keys = pathKeys(tree, new Names(t));
  const node = followPath(tree, [1, 4, 3]);
  equal(nodeOfKey(keys, keyText(keys[node])), node);
  equal(nodeOfKey(keys, 'nosuchkey'), 0);
  equal(nodeOfKey(keys, '<script>'), 0);
  equal(new Set(keys).size, keys.length);
  const other = trace({names: ['all', 'work', 'main', 'lib', 'leaf'], nodeName: [0, 2, 1, 3, 4, 4]});
  deepEqual(Array.from(pathKeys(buildTree(other, kAll), new Names(other))), Array.from(keys));
});

test('a comparison tells how shares have changed, of paths and of functions', () => {
  const [now, before] = [trace(), trace({rowOnUs: [2, 5, 1]})];
  const [tree, old] = [buildTree(now, kAll), buildTree(before, kAll)];
  const [names, oldNames] = [new Names(now), new Names(before)];
  const {change, largest, before: functions} = compareTrees(tree, pathKeys(tree, names), old, pathKeys(old, oldNames), oldNames, false);
  equal(change[1], 0); // main: all of both
  equal(change[followPath(tree, [1, 2, 3])], 10 / 16 - 2 / 8);
  equal(largest, 0.375);
  deepEqual(functions.get('leaf'), {self: 3 / 8, total: 3 / 8});
  equal(changeText(0.031), '+3.1 pp');
  equal(changeText(-0.123), '−12 pp');
  equal(changeText(0.0001), '±0 pp');
});

test('percentages say when there is little, and when there is nothing to compare with', () => {
  equal(percentText(1, 1e6), '< 0.01 %');
  equal(percentText(1, 3), '33.3 %');
  equal(percentText(5, 5), '100 %');
  equal(percentText(5, 0), '–');
});
