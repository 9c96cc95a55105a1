// Durations over time: three percentiles of all chosen requests, or one percentile of each group.
import type {FleetSeries, FleetSeriesAnswer} from '../../api/fleet-types';
import {Fold, type OpenSet} from '../../ui/fold';
import type {Line} from '../../ui/chart';
import {Legend} from '../../ui/legend';
import {Plot} from '../../ui/plot';
import {SeriesTable} from '../../ui/series-table';

export const kPercentiles = ['p50', 'p90', 'p95', 'p99'] as const;
export type Percentile = (typeof kPercentiles)[number];
export const kMostLines = 8;

type Value = Pick<FleetSeries, `${Percentile}Ms`>;

const lineOf = (label: string, series: FleetSeries, percentile: Percentile): Line => ({label, points: (series.points ?? []).map((point) => [Date.parse(point.time), (point as Value)[`${percentile}Ms`]])});

// `grouped`: a line for each group, else one for each percentile of the only one.
export function linesOf({series}: FleetSeriesAnswer, percentile: Percentile | undefined): Line[] {
  if (percentile) return series.slice(0, kMostLines).map((one) => lineOf(one.group || '(none)', one, percentile));
  return series.length ? (['p50', 'p95', 'p99'] as const).map((name) => lineOf(name, series[0], name)) : [];
}

interface LatencyProps {
  title: string;
  lines: Line[];
  stepMs: number;
  from: number; // ms since 1970
  to: number;
  open: OpenSet;
}

const kHeight = 220;
const kSync = 'fleet';

export function LatencyChart({title, lines, stepMs, from, to, open}: LatencyProps) {
  return (
    <section class="latency" aria-label={title} data-chart={lines.length}>
      <h2>{title}</h2>
      <Legend lines={lines} unit="ms" reachMs={stepMs} syncKey={kSync} />
      <Plot lines={lines} from={from} to={to} unit="ms" height={kHeight} intervalMs={stepMs} syncKey={kSync} />
      <Fold id="latency" open={open} summary="As a table">
        <SeriesTable title={title} lines={lines} unit="ms" />
      </Fold>
    </section>
  );
}
