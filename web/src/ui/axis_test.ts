import {deepEqual, equal} from 'node:assert/strict';
import {test} from 'node:test';
import {axisLabels, axisSteps, timeLabels} from './axis';

test('labels of an axis have one unit and never repeat', () => {
  deepEqual(axisLabels([0, 0.5, 1], 'By'), ['0', '0.5 B', '1.0 B']);
  deepEqual(axisLabels([0, 1e6, 2e6], 'By'), ['0', '1 MB', '2 MB']);
  deepEqual(axisLabels([0, 500_000, 1_000_000], 'By/s'), ['0', '0.5 MB/s', '1.0 MB/s']);
  deepEqual(axisLabels([0, 0.002, 0.004], 's'), ['0', '2 ms', '4 ms']);
  deepEqual(axisLabels([0, 0.5, 1], 's/s'), ['0', '50 %', '100 %']);
  deepEqual(axisLabels([0, 10, 20], '{assembly}'), ['0', '10', '20']);
  deepEqual(axisLabels([0, 5000, 10_000], ''), ['0', '5 k', '10 k']);
  for (const unit of ['By', 's', 'ms', '%', '', 's/s', '{thread}', 'By/s', 'MB'])
    for (const step of axisSteps(unit, false)) {
      const labels = axisLabels([0, step, 2 * step, 3 * step], unit);
      deepEqual([...new Set(labels)], labels);
    }
});

test('what is counted has no ticks between whole numbers', () => {
  equal(axisSteps('{thread}', true)[0], 1);
  equal(axisSteps('By', false)[0], 1);
  equal(axisSteps('{thread}/s', false)[0] < 1, true);
});

test('times show seconds only where they differ', () => {
  equal(timeLabels([60, 120]).every((label) => /^\d\d:\d\d$/.test(label)), true);
  equal(timeLabels([60, 75]).every((label) => /^\d\d:\d\d:\d\d$/.test(label)), true);
});
