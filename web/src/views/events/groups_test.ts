import {deepEqual, equal} from 'node:assert/strict';
import {test} from 'node:test';
import type {ExceptionGroup} from '../../api/types';
import {ShownGroups} from './groups';
import {StackNames} from './stack-names';

const group = (type: string, count: number, ...stack: string[]): ExceptionGroup => ({
  id: [type, ...stack].join(' '),
  type,
  count,
  last: '2026-01-01T00:00:00Z',
  osId: 1,
  stack: stack.map((method) => ({method, module: 'Shop', kind: 'managed'})),
  messages: [],
  moreMessages: 0,
});

test('groups keep their order, whatever order they come in', () => {
  const shown = new ShownGroups();
  const never = () => false;
  const before = shown.of([group('B', 2, 'Two'), group('A', 1, 'One')], never);
  const after = shown.of([group('A', 9, 'One'), group('B', 3, 'Two')], never);
  deepEqual(after.map((one) => [one.name, one.count]), [[before[0].name, 9], [before[1].name, 3]]);
});

test('an opened group stays with its last state when its exceptions have left the answer, others go', () => {
  const shown = new ShownGroups();
  const [rare] = shown.of([group('Rare', 1, 'One'), group('Rare', 1, 'Other'), group('Usual', 5, 'Two')], () => false);
  const later = shown.of([group('Usual', 1000, 'Two')], (name) => name === rare.name);
  deepEqual(later.map((one) => [one.type, one.stack[0].method, one.count, one.isGone]), [['Rare', 'One', 1, true], ['Usual', 'Two', 1000, false]]);
  const again = shown.of([group('Rare', 2, 'One')], (name) => name === rare.name);
  deepEqual(again.map((one) => [one.count, one.isGone]), [[2, false]]);
  equal(shown.of([], () => false).length, 0);
});

test('a stack keeps its name when frames are inlined, also through a reload; another one has its own', () => {
  let stored = '';
  const store = {getItem: () => stored || null, setItem: (_: string, text: string) => void (stored = text)};
  const open = () => true;
  const shown = new ShownGroups(new StackNames(store));
  const [first] = shown.of([group('A', 1, 'Throw', 'Lambda', 'Every', 'Main')], open);
  const inlined = shown.of([group('A', 2, 'Throw', 'Every', 'Main')], open);
  deepEqual(inlined.map((one) => [one.name, one.count, one.isGone]), [[first.name, 2, false]]);
  const [, other] = new ShownGroups(new StackNames(store)).of([group('A', 1, 'Throw', 'Every', 'Main'), group('A', 1, 'Throw', 'Other', 'Main')], open);
  equal(other.name === first.name, false);
});
