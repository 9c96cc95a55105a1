import {deepEqual, equal} from 'node:assert/strict';
import {test} from 'node:test';
import {CounterBook, summed} from './counters';
import type {CounterValue} from './types';

const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString();
const value = (ms: number, number: number | null, mode: string, name = 'cpu'): CounterValue => ({time: at(ms), pid: 1, process: 'p', provider: 'R', name, tags: {mode}, value: number, unit: 's', kind: 'rate', intervalMs: 1000});
const start = Date.UTC(2026, 0, 1);

test('series are added up by interval though their times differ by milliseconds', () => {
  const book = new CounterBook(1);
  book.add([value(0, 1, 'user'), value(3, 2, 'system')]);
  book.add([value(1001, 4, 'user'), value(1000, 5, 'system')]);
  deepEqual(summed(book.find('R', 'cpu'), 1000), [[start, 3], [start + 1000, 9]]);
});

test('a value that is not known is a gap and no zero', () => {
  const book = new CounterBook(1);
  book.add([value(0, null, 'user')]);
  const [series] = [...book.find('R', 'cpu')!.series.values()];
  equal(Number.isNaN(series.points[0][1]), true);
});

test('a book of some counters keeps no others, and no value twice', () => {
  const book = new CounterBook(1, 'R[cpu,other],S[cpu]');
  book.add([value(0, 1, 'user'), value(0, 1, 'user', 'memory')]);
  book.add([value(0, 1, 'user')]);
  deepEqual([...book.instruments.keys()], ['R\ncpu']);
  equal([...book.find('R', 'cpu')!.series.values()][0].points.length, 1);
});
