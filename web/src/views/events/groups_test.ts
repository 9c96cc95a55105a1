import {deepEqual, equal} from 'node:assert/strict';
import {test} from 'node:test';
import {grouped} from './groups';

const thrown = (number: number, type: string, message: string, ...stack: string[]) => ({number, time: `2026-01-01T00:00:${String(number).padStart(2, '0')}Z`, type, message, osId: number, stack});

test('exceptions of one type and stack are one group with the newest time', () => {
  const groups = grouped([thrown(4, 'B', 'x', 'Two'), thrown(3, 'A', 'second', 'One'), thrown(2, 'A', 'first', 'One'), thrown(1, 'A', 'first', 'Other')]);
  deepEqual(groups.map((one) => [one.type, one.stack[0], one.count]), [['A', 'One', 2], ['A', 'Other', 1], ['B', 'Two', 1]]);
  equal(groups[0].last, '2026-01-01T00:00:03Z');
  deepEqual(groups[0].messages, [{text: 'second', count: 1}, {text: 'first', count: 1}]);
});

test('a group keeps its key and place when more come', () => {
  const before = grouped([thrown(2, 'B', 'x', 'Two'), thrown(1, 'A', 'x', 'One')]);
  const after = grouped([thrown(9, 'B', 'y', 'Two'), thrown(8, 'B', 'y', 'Two'), thrown(1, 'A', 'x', 'One')]);
  deepEqual(after.map((one) => one.key), before.map((one) => one.key));
});
