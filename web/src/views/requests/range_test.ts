import {deepEqual, equal} from 'node:assert/strict';
import {test} from 'node:test';
import {axisSteps} from '../../ui/axis';
import {type Range, rangeText, readRange, ticksOf, zoomedBy} from './range';

const kWhole: Range = [0, 120];

test('a range is read from the address, kept inside the request, and wrong ones show everything', () => {
  deepEqual(readRange('10-20.5', kWhole), [10, 20.5]);
  deepEqual(readRange('100-500', kWhole), [100, 120]);
  for (const wrong of ['', '5', '20-10', '-5-10', 'a-b', '1e9-2e9', '7-7', '500-600', 'NaN-Infinity']) deepEqual(readRange(wrong, kWhole), kWhole);
});

test('a range survives the address, and the whole is not written', () => {
  deepEqual(readRange(rangeText([10.25, 20], kWhole), kWhole), [10.25, 20]);
  equal(rangeText(kWhole, kWhole), '');
  equal(rangeText([-5, 400], kWhole), '');
});

test('zooming stays inside the request and never reaches an empty range', () => {
  deepEqual(zoomedBy([0, 120], 0.5, kWhole), [30, 90]);
  deepEqual(zoomedBy([0, 40], 4, kWhole), [0, 100]);
  let range = kWhole;
  for (let i = 0; i < 100; ++i) range = zoomedBy(range, 0.5, kWhole);
  equal(range[1] > range[0], true);
});

test('ticks are few, round and inside', () => {
  deepEqual(ticksOf([0, 120], axisSteps('ms', false)), [0, 20, 40, 60, 80, 100, 120]);
  deepEqual(ticksOf([0.1, 0.35], axisSteps('ms', false)), [0.1, 0.15, 0.2, 0.25, 0.3, 0.35]);
});
