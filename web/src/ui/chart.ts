// A chart over time: uPlot in our colours. Where there was no data there is a gap, never a drawn zero.
import uPlot from 'uplot';
import {axisLabels, axisSteps, kTimeSteps, timeLabels} from './axis';
import {setCursor} from './cursor';

export type Point = [ms: number, value: number];

export interface Line {
  label: string;
  points: Point[]; // by time
  tone?: number; // its colour, if not by its place among the lines
  dashed?: boolean;
}

// line: values joined; steps: each holds until the next; bars: sums of equal parts of the time, each from its start on;
// stems: single happenings, those of later lines with larger heads.
export type Shape = 'line' | 'steps' | 'bars' | 'stems';

export interface ChartSetting {
  unit: string;
  height: number;
  intervalMs: number; // points further apart than a few of these are not joined; length of a bar
  shape?: Shape; // default: line
  syncKey?: string; // charts of one key share the cursor
  compact?: boolean; // no axes' labels
}

const kColourCount = 8;
const kDashes = [[], [6, 3], [2, 2], [8, 3, 2, 3]];
const kGapIntervals = 3.5;
const kNearPx = 16; // a point further from the cursor is not marked
const kMargin = 1.08; // above the highest value

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// uPlot joins over undefined and breaks at null.
export function aligned(lines: Line[], intervalMs: number): uPlot.AlignedData {
  const times = new Set<number>();
  const values = lines.map((line) => {
    const at = new Map<number, number | null>();
    let last = NaN;
    for (const [ms, value] of line.points) {
      if (ms - last > intervalMs * kGapIntervals) {
        at.set(last + intervalMs, null);
        times.add(last + intervalMs);
      }
      at.set(ms, Number.isFinite(value) ? value : null);
      times.add(ms);
      last = ms;
    }
    return at;
  });
  const sorted = [...times].sort((a, b) => a - b);
  const seconds = sorted.map((ms) => ms / 1000);
  return [seconds, ...values.map((at) => sorted.map((ms) => at.get(ms)))] as uPlot.AlignedData;
}

// Zero is always in it: a line that looks high is high.
function valueRange(_plot: uPlot, min: number | null, max: number | null): [number, number] {
  const [low, high] = [Math.min(0, min ?? 0), Math.max(0, max ?? 0)];
  return low === 0 && high === 0 ? [0, 1] : [low * kMargin, high * kMargin];
}

const stems: uPlot.Series.PathBuilder = (plot, series, first, last) => {
  const stroke = new Path2D();
  const zero = plot.valToPos(0, 'y', true);
  for (let i = first; i <= last; ++i) {
    const value = plot.data[series][i];
    if (value === null || value === undefined) continue;
    const x = Math.round(plot.valToPos(plot.data[0][i], 'x', true));
    stroke.moveTo(x, zero);
    stroke.lineTo(x, plot.valToPos(value, 'y', true));
  }
  return {stroke, fill: null};
};

export class Chart {
  private plot: uPlot | undefined;
  private lines: Line[] = [];
  private from = 0;
  private to = 0;
  private isWhole = false; // all values
  private readonly watcher: ResizeObserver;
  private readonly onTheme = () => this.build();

  constructor(private readonly root: HTMLElement, private readonly setting: ChartSetting) {
    root.style.minHeight = `${setting.height}px`; // nothing moves when data arrives
    this.watcher = new ResizeObserver(() => this.plot?.setSize(this.size()));
    this.watcher.observe(root);
    document.addEventListener('themechange', this.onTheme);
  }

  // What lies between `from` and `to`, in ms since 1970.
  show(lines: Line[], from: number, to: number): void {
    const isSame = this.plot && lines.length === this.lines.length && lines.every((line, i) => line.label === this.lines[i].label);
    [this.lines, this.from, this.to] = [lines, from, to];
    this.isWhole = lines.every((line) => line.points.every(([, value]) => Number.isInteger(value)));
    if (!isSame) this.build();
    else this.plot?.setData(aligned(lines, this.gapMs()));
  }

  end(): void {
    this.watcher.disconnect();
    document.removeEventListener('themechange', this.onTheme);
    this.plot?.destroy();
  }

  private gapMs(): number {
    return this.setting.shape === 'steps' || this.setting.shape === 'stems' ? Infinity : this.setting.intervalMs;
  }

  private size(): {width: number; height: number} {
    return {width: Math.max(80, Math.floor(this.root.clientWidth)), height: this.setting.height};
  }

  private series(line: Line, index: number): uPlot.Series {
    const {shape = 'line'} = this.setting;
    const stroke = colour(`--series-${(line.tone ?? index) % kColourCount}`);
    const shared = {label: line.label, stroke, width: 1.5, points: {show: false}};
    switch (shape) {
      case 'bars':
        return {...shared, width: 0, fill: stroke, paths: uPlot.paths.bars?.({size: [0.9, 10_000, 1], align: 1})};
      case 'stems':
        return {...shared, paths: stems, points: {show: true, space: 0, size: 3 + 2 * index, fill: stroke}};
      case 'steps':
        return {...shared, dash: kDashes[index % kDashes.length], paths: uPlot.paths.stepped?.({align: 1})};
      default:
        return {...shared, dash: kDashes[line.dashed ? 1 : Math.floor(index / kColourCount) % kDashes.length], points: {size: 3}};
    }
  }

  private build(): void {
    const {unit, compact, syncKey} = this.setting;
    this.plot?.destroy();
    const dim = colour('--dim');
    const grid = {stroke: colour('--line'), width: 1};
    const font = '11px system-ui, sans-serif';
    const plot = new uPlot(
      {
        ...this.size(),
        legend: {show: false},
        padding: [8, 26, 0, 0],
        cursor: {sync: syncKey ? {key: syncKey} : undefined, drag: {x: false, y: false}, y: false, points: {size: 6}, hover: {prox: kNearPx}},
        scales: {x: {range: () => [this.from / 1000, this.to / 1000]}, y: {range: valueRange}},
        axes: [
          {stroke: dim, grid: {show: false}, ticks: {...grid, size: 4}, font, size: 24, gap: 3, show: !compact, space: 62, incrs: kTimeSteps, values: (_plot, at) => timeLabels(at)},
          {stroke: dim, grid, ticks: {show: false}, font, size: 60, space: 24, show: !compact, incrs: () => axisSteps(unit, this.isWhole), values: (_plot, at) => axisLabels(at, unit)},
        ],
        series: [{}, ...this.lines.map((line, i) => this.series(line, i))],
        hooks: {
          setCursor: [
            (one) => {
              // Charts that only follow the cursor of another one know no more than that one.
              if (syncKey && (one.cursor.left ?? -1) >= 0 && one.over.matches(':hover')) setCursor(syncKey, Math.round(one.posToVal(one.cursor.left!, 'x') * 1000));
            },
          ],
        },
      },
      aligned(this.lines, this.gapMs()),
      this.root,
    );
    if (syncKey) plot.over.addEventListener('mouseleave', () => setCursor(syncKey, 0));
    this.root.querySelector('canvas')?.setAttribute('aria-hidden', 'true'); // the table beside it says the same
    this.plot = plot;
  }
}

// From when a range is shown: all of it, or since there is data, but a minute at least.
export function rangeStart(to: number, rangeMs: number, first: number): number {
  return Math.max(to - rangeMs, Math.min(first, to - 60_000));
}

// The class of the mark that stands for a line.
export function swatch(line: Line, index: number): string {
  return `swatch swatch-${(line.tone ?? index) % kColourCount}${line.dashed ? ' dashed' : ''}`;
}
