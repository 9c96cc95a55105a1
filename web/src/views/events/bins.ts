// Happenings counted in equal parts of the time: every one of them is in a bar.
import type {Point} from '../../ui/chart';
import type {Span} from '../../api/view';

const kSteps = [1, 2, 5, 10, 30, 60].map((seconds) => seconds * 1000);
const kMostBins = 120;

export interface Bins {
  points: Point[]; // start of each part and how many
  stepMs: number;
  from: number; // start of the first part
}

// Parts begin at whole multiples of their length, so that bars do not change when the span moves on.
export function binned(times: number[], {from, to}: Span): Bins {
  const stepMs = kSteps.find((step) => (to - from) / step <= kMostBins) ?? kSteps[kSteps.length - 1];
  const first = Math.floor(Math.min(from, ...times.slice(0, 1)) / stepMs);
  const last = Math.floor(to / stepMs);
  const points: Point[] = [];
  for (let bin = first; bin <= last; ++bin) points.push([bin * stepMs, 0]);
  for (const ms of times) {
    const bin = Math.max(0, Math.min(points.length - 1, Math.floor(ms / stepMs) - first));
    if (points.length) ++points[bin][1];
  }
  return {points, stepMs, from: first * stepMs};
}
