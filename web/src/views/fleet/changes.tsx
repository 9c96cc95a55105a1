// Routes of both sides of a comparison as a table: before, after, change, and what it means.
import type {FleetComparedSide, FleetRouteChange} from '../../api/fleet-types';
import {formatMs, formatNumber} from '../../ui/format';
import {type Column, Table} from '../../ui/table';
import {Wrapped} from '../../ui/wrapped';

const kVerdicts: Record<string, string> = {same: 'no change', better: 'better', worse: 'worse', mixed: 'mixed', tooFew: 'too few requests', new: 'new', gone: 'gone'};
const kClasses: Record<string, string> = {worse: 'harm', mixed: 'warn', better: 'good', tooFew: 'dim', same: 'dim'};

export const verdictText = (verdict: string): string => kVerdicts[verdict] ?? verdict;

export function VerdictMark({verdict}: {verdict: string}) {
  return (
    <b class={`route-verdict ${kClasses[verdict] ?? ''}`} data-verdict={verdict}>
      {verdictText(verdict)}
    </b>
  );
}

export const changeText = (percent: number | null | undefined): string => (percent == null ? '' : `${percent >= 0 ? '+' : '−'}${formatNumber(Math.round(Math.abs(percent)))} %`);

type Row = FleetRouteChange;
const has = (side: FleetComparedSide) => side.requests > 0;
const arrow = (before: string, after: string): string => (before === after ? before : `${before} → ${after}`);
const pairText = (row: Row, text: (side: FleetComparedSide) => string): string => arrow(has(row.before) ? text(row.before) : '–', has(row.after) ? text(row.after) : '–');

const duration = (id: string, title: string, ms: (side: FleetComparedSide) => number | null | undefined, percent: (row: Row) => number | null | undefined, none = 'too few requests'): Column<Row> => ({
  id,
  title,
  as: 'number',
  value: (row) => percent(row),
  show: (row) => (
    <>
      {pairText(row, (side) => (ms(side) == null ? '–' : formatMs(ms(side)!)))}
      <br />
      <span class="dim">{changeText(percent(row)) || none}</span>
    </>
  ),
});

export function ChangeTable({routes, hrefOf}: {routes: Row[]; hrefOf: (route: string) => string}) {
  const columns: Column<Row>[] = [
    {
      id: 'route',
      title: 'Route',
      as: 'code',
      value: (row) => row.route,
      show: (row) => (
        <a href={hrefOf(row.route ?? '')} data-route={row.route} title={row.route}>
          <Wrapped text={(row.route ?? '').slice(0, 200)} />
        </a>
      ),
    },
    {
      id: 'verdict',
      title: 'Verdict',
      value: (row) => row.verdict,
      show: (row) => (
        <>
          <VerdictMark verdict={row.verdict} />
          <br />
          <span class="dim">{row.reason}</span>
        </>
      ),
    },
    {
      id: 'requests',
      title: 'Requests',
      as: 'number',
      value: (row) => row.after.requests,
      show: (row) => (
        <>
          {formatNumber(row.before.requests)} → {formatNumber(row.after.requests)}
          <br />
          <span class="dim">{pairText(row, (side) => (side.perSecond == null ? '–' : formatNumber(side.perSecond)))} /s</span>
        </>
      ),
    },
    duration('p50', 'p50', (side) => side.p50Ms, (row) => row.p50Percent),
    duration('p95', 'p95', (side) => side.p95Ms, (row) => row.p95Percent),
    duration('p99', 'p99', (side) => side.p99Ms, (row) => row.p99Percent),
    {id: 'errors', title: 'Errors', as: 'number', value: (row) => (row.after.errorPercent ?? 0) - (row.before.errorPercent ?? 0), show: (row) => pairText(row, (side) => `${formatNumber(side.errorPercent ?? 0)} %`)},
    duration('running', 'Running per request', (side) => side.runningEachMs, (row) => row.runningPercent),
    duration('cpu', 'CPU per request', (side) => side.cpuEachMs, (row) => row.cpuPercent, 'too few CPU samples'),
  ];
  return <Table id="changes" caption="Routes before → after. A percentile is judged if ten requests lie beyond it on both sides; running and CPU time are means of sampled requests" rows={routes} columns={columns} rowKey={(row) => row.route ?? ''} />;
}
