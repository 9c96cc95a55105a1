import {equal} from 'node:assert/strict';
import {test} from 'node:test';
import {formatAge, formatBytes, formatSeconds, withUnit} from './format';

// The same as FormatDuration.ChoosesTheUnit in src/base/text_test.cpp.
test('durations are written as the controller writes them', () => {
  const cases: [number, string][] = [
    [0, '0 ms'],
    [12e-9, '12 ns'],
    [4.2e-3, '4.2 ms'],
    [30, '30 s'],
    [119, '119 s'],
    [119.7, '2 min'],
    [143, '2 min 23 s'],
    [3 * 3600, '3 h'],
    [76 * 3600 + 12, '3 d 4 h'],
    [5e-3, '5 ms'],
    [9.97e-3, '10 ms'],
    [0.9997, '1 s'],
    [1.5e-6, '1.5 µs'],
  ];
  for (const [seconds, text] of cases) equal(formatSeconds(seconds), text);
});

test('ages are whole seconds', () => {
  equal(formatAge(400), '0 s');
  equal(formatAge(9_900), '9 s');
  equal(formatAge(143_900), '2 min 23 s');
});

test('sizes are written as the controller writes them', () => {
  const cases: [number, string][] = [
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.0 KB'],
    [6_812_345, '6.8 MB'],
    [9_960_000, '10 MB'],
    [210_000_000, '210 MB'],
    [999_600_000, '1.0 GB'],
  ];
  for (const [bytes, text] of cases) equal(formatBytes(bytes), text);
});

test('what is shown as one is singular', () => {
  equal(withUnit(1, '{collection}'), '1 collection');
  equal(withUnit(0.9999, '{collection}/s'), '1 collection/s');
  equal(withUnit(0.5, '{collection}/s'), '0.5 collections/s');
  equal(withUnit(24, '{assembly}'), '24 assemblies');
});
