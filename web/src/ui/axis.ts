// Labels of axes: one unit for all of them, and as many digits as they need to differ.

const kBytes: Scale[] = [[1e12, 'TB'], [1e9, 'GB'], [1e6, 'MB'], [1e3, 'KB'], [1, 'B']];
const kSeconds: Scale[] = [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs'], [1e-9, 'ns']];
const kCounts: Scale[] = [[1e9, 'G'], [1e6, 'M'], [1e4, 'k'], [0, '']];

type Scale = [from: number, word: string];

interface AxisUnit {
  factor: number; // from the unit's values to those of the scales
  scales: Scale[];
  after: string; // "/s"
}

function axisUnit(unit: string): AxisUnit {
  if (unit === 's/s') return {factor: 100, scales: [[0, '%']], after: ''}; // seconds per second are a share
  const isRate = unit.endsWith('/s');
  const base = isRate ? unit.slice(0, -2) : unit;
  const after = isRate && base ? '/s' : '';
  switch (base) {
    case 'By':
    case 'B':
    case 'bytes':
      return {factor: 1, scales: kBytes, after};
    case 'MB':
      return {factor: 1e6, scales: kBytes, after};
    case 's':
      return {factor: 1, scales: kSeconds, after};
    case 'ms':
      return {factor: 1e-3, scales: kSeconds, after};
    case '%':
      return {factor: 1, scales: [[0, '%']], after};
    default:
      return {factor: 1, scales: kCounts, after: ''}; // what is counted is in the title
  }
}

function digitsFor(step: number): number {
  for (let digits = 0; digits < 9; ++digits) if (Math.abs(step - Number(step.toFixed(digits))) < step * 1e-6) return digits;
  return 9;
}

// Texts of the ticks at `values`, which are equally far apart.
export function axisLabels(values: number[], unit: string): string[] {
  const {factor, scales, after} = axisUnit(unit);
  const most = Math.max(...values.map((value) => Math.abs(value * factor)));
  const [from, word] = scales.find((one) => most >= one[0]) ?? scales[scales.length - 1];
  const divisor = from === 1e4 ? 1e3 : from || 1;
  const step = values.length > 1 ? Math.abs(values[1] - values[0]) : Math.abs(values[0] ?? 1) || 1;
  const digits = digitsFor((step * factor) / divisor);
  return values.map((value) => {
    const number = ((value * factor) / divisor).toLocaleString('en-US', {minimumFractionDigits: digits, maximumFractionDigits: digits});
    return value === 0 ? '0' : `${number}${word ? ` ${word}${after}` : ''}`;
  });
}

// Distances that ticks may have: 1, 2 and 5 times a power of ten, and nothing below one for things that are counted.
export function axisSteps(unit: string, isWhole: boolean): number[] {
  const steps: number[] = [];
  for (let power = -9; power <= 15; ++power) for (const times of [1, 2, 5]) steps.push(Number(`${times}e${power}`));
  const {scales} = axisUnit(unit);
  return (isWhole && scales === kCounts) || (scales === kBytes && unit !== 'MB') ? steps.filter((step) => step >= 1) : steps;
}

// Distances of ticks in time, in seconds.
export const kTimeSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 86_400];

// Local times of day; without seconds where all are whole minutes.
export function timeLabels(seconds: number[]): string[] {
  const isMinutes = seconds.length > 1 && seconds.every((at) => at % 60 === 0);
  return seconds.map((at) => new Date(at * 1000).toTimeString().slice(0, isMinutes ? 5 : 8));
}
