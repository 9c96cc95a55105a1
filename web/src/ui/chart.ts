// A line chart over time: uPlot in our colours. Where there was no data there is a gap, never a drawn zero.
import uPlot from 'uplot';
import {axisText} from './format';

export type Point = [ms: number, value: number];

export interface Line {
  label: string;
  points: Point[]; // by time
}

export interface ChartSetting {
  unit: string;
  height: number;
  intervalMs: number; // points further apart than a few of these are not joined
  syncKey?: string; // charts of one key share the cursor
  bars?: boolean; // single happenings, from zero up
  compact?: boolean; // no axes' labels
}

const kColours = ['--accent', '--kind-managed', '--kind-gc', '--kind-runtime', '--kind-kernel', '--kind-native', '--kind-jit', '--kind-waiting'];
const kDashes = [[], [6, 3], [2, 2], [8, 3, 2, 3]];
const kGapIntervals = 3.5;

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

export class Chart {
  private plot: uPlot | undefined;
  private lines: Line[] = [];
  private from = 0;
  private to = 0;
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
    if (!isSame) this.build();
    else this.plot?.setData(aligned(lines, this.setting.intervalMs));
  }

  end(): void {
    this.watcher.disconnect();
    document.removeEventListener('themechange', this.onTheme);
    this.plot?.destroy();
  }

  private size(): {width: number; height: number} {
    return {width: Math.max(80, Math.floor(this.root.clientWidth)), height: this.setting.height};
  }

  private build(): void {
    const {unit, bars, compact, syncKey} = this.setting;
    this.plot?.destroy();
    const dim = colour('--dim');
    const grid = {stroke: colour('--line'), width: 1};
    const font = '11px system-ui, sans-serif';
    this.plot = new uPlot(
      {
        ...this.size(),
        legend: {show: false},
        padding: [8, 4, 0, 0],
        cursor: {sync: syncKey ? {key: syncKey} : undefined, drag: {x: false, y: false}, points: {size: 5}},
        scales: {
          x: {range: () => [this.from / 1000, this.to / 1000]},
          y: {range: (_plot, _min, max) => (max > 0 ? [0, max * 1.08] : [_min < 0 ? _min * 1.08 : 0, 1])},
        },
        axes: [
          {stroke: dim, grid: {show: false}, ticks: grid, font, size: 24, show: !compact, space: 70, values: (_plot, at) => at.map((s) => new Date(s * 1000).toTimeString().slice(0, 8))},
          {stroke: dim, grid, ticks: {show: false}, font, size: 58, space: 28, show: !compact, values: (_plot, at) => at.map((value) => axisText(value, unit))},
        ],
        series: [
          {},
          ...this.lines.map((line, i) => ({
            label: line.label,
            stroke: colour(kColours[i % kColours.length]),
            width: 1.5,
            dash: kDashes[Math.floor(i / kColours.length) % kDashes.length],
            points: {show: bars ? false : undefined, size: 3},
            paths: bars ? uPlot.paths.bars?.({size: [0.9, 4, 1]}) : undefined,
            fill: bars ? colour(kColours[i % kColours.length]) : undefined,
          })),
        ],
      },
      aligned(this.lines, this.setting.intervalMs),
      this.root,
    );
    this.root.querySelector('canvas')?.setAttribute('aria-hidden', 'true'); // the table beside it says the same
  }
}

// From when a range is shown: all of it, or since there is data, but a minute at least.
export function rangeStart(to: number, rangeMs: number, first: number): number {
  return Math.max(to - rangeMs, Math.min(first, to - 60_000));
}

export function swatch(index: number): string {
  return `swatch swatch-${index % kColours.length}`;
}
