// The part of a request's time that is looked at, in milliseconds since it began; in the address as "FROM-TO".

export type Range = [from: number, to: number];

const kLeastPart = 1e-5; // of the whole: deeper zoom shows nothing new

// What the text says if it is inside `whole`; else `whole`.
export function readRange(text: string, whole: Range): Range {
  const found = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(text);
  if (!found) return whole;
  const [from, to] = [Math.max(Number(found[1]), whole[0]), Math.min(Number(found[2]), whole[1])];
  return to - from >= (whole[1] - whole[0]) * kLeastPart ? [from, to] : whole;
}

const digits = (value: number): string => String(Number(value.toFixed(6)));

// Empty for the whole.
export function rangeText([from, to]: Range, whole: Range): string {
  const text = `${digits(Math.max(from, whole[0]))}-${digits(Math.min(to, whole[1]))}`;
  return text === `${digits(whole[0])}-${digits(whole[1])}` ? '' : text;
}

// `factor` below 1 zooms in at the middle.
export function zoomedBy([from, to]: Range, factor: number, whole: Range): Range {
  const middle = (from + to) / 2;
  const half = Math.max(((to - from) / 2) * factor, ((whole[1] - whole[0]) / 2) * kLeastPart);
  return [Math.max(middle - half, whole[0]), Math.min(middle + half, whole[1])];
}

const kTicks = 6;
const kRounding = 1e-9;

// Equally far apart, at most `kTicks`.
export function ticksOf([from, to]: Range, steps: number[]): number[] {
  const step = steps.find((one) => (to - from) / one <= kTicks) ?? steps[steps.length - 1];
  const ticks: number[] = [];
  const first = Math.ceil(from / step - kRounding);
  const last = Math.floor(to / step + kRounding);
  for (let i = first; i <= last && ticks.length <= kTicks; ++i) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}
