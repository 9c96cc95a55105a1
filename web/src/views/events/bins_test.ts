import {deepEqual, equal} from 'node:assert/strict';
import {test} from 'node:test';
import {binned} from './bins';

const sum = (points: [number, number][]) => points.reduce((all, [, count]) => all + count, 0);

test('every happening is in a bar, also at the edges', () => {
  const times = [10_000, 10_999, 11_000, 70_000];
  const bins = binned(times, {from: 10_000, to: 70_000});
  equal(bins.stepMs, 1000);
  equal(sum(bins.points), 4);
  deepEqual(bins.points[0], [10_000, 2]);
});

test('bars of a long span are longer and begin at the same times when it moves on', () => {
  const bins = binned([], {from: 601_300, to: 1_201_300});
  const later = binned([], {from: 602_300, to: 1_202_300});
  equal(bins.stepMs, 5000);
  equal(bins.from % 5000, 0);
  equal(later.from, bins.from);
});
