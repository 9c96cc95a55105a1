// Routes and requests of a profile as tables, each row with a link to what it is about.
import {formatMs, formatNumber, formatPercent} from '../../ui/format';
import {type Column, Table} from '../../ui/table';
import {Time} from '../../ui/time';
import {Wrapped} from '../../ui/wrapped';
import {isFailed, routeId} from './profile';
import type {ProfiledRequest, ProfiledRoute} from '../../api/types';

const kLetters = 200; // of a route or a path; the whole is the title, and what the link opens

const short = (text: string): string => (text.length > kLetters ? `${text.slice(0, kLetters)}…` : text);

const ms = <Row,>(id: string, title: string, value: (row: Row) => number): Column<Row> => ({id, title, value, show: (row) => formatMs(value(row)), as: 'number'});

export function RouteTable({routes, hrefOf, isLive}: {routes: ProfiledRoute[]; hrefOf: (route: string) => string; isLive?: boolean}) {
  const columns: Column<ProfiledRoute>[] = [
    {
      id: 'route',
      title: 'Route',
      value: routeId,
      as: 'code',
      show: (row) => (
        <a href={hrefOf(routeId(row))} data-route={routeId(row)} title={routeId(row)}>
          <Wrapped text={short(routeId(row))} />
        </a>
      ),
    },
    {id: 'rate', title: 'Per second', value: (row) => row.perSecond, show: (row) => (row.perSecond === null ? '' : formatNumber(row.perSecond)), as: 'number'},
    {id: 'count', title: 'Requests', value: (row) => row.count, show: (row) => formatNumber(row.count), as: 'number'},
    ms('p50', 'p50', (row) => row.p50Ms),
    ms('p95', 'p95', (row) => row.p95Ms),
    ms('p99', 'p99', (row) => row.p99Ms),
    ms('max', 'Longest', (row) => row.maxMs),
    {id: 'errors', title: 'Errors', value: (row) => row.errors, show: (row) => (row.errors ? <b class="harm">{formatNumber(row.errors)}</b> : '0'), as: 'number'},
    {id: 'sampled', title: 'Sampled', value: (row) => row.sampledPercent, show: (row) => (row.sampledPercent === null ? '' : formatPercent(row.sampledPercent)), as: 'number'},
    ms('running', 'Running', (row) => row.runningMs),
    ms('waiting', 'Waiting', (row) => row.waitingMs),
    ms('queued', 'Queued', (row) => row.queuedMs),
  ];
  const order = isLive === false ? ', those that took the most time in all first' : ''; // the lists of a fleet server and of a live profile have another
  return <Table id="routes" caption={`Routes${order}: all requests, sampled or not; running, waiting and queued are means of the sampled ones`} rows={routes} columns={columns} rowKey={routeId} isLive={isLive} />;
}

// Lists leave the spans out and tell their number.
export type ListedRequest = Omit<ProfiledRequest, 'spans' | 'parts'> & {spanCount: number};

const stateOf = (row: ListedRequest): string => [String(row.status), row.error ?? '', row.aborted ? 'aborted' : '', row.forced ? 'forced' : ''].filter(Boolean).join(' ');

interface RequestTableProps {
  requests: ListedRequest[];
  caption: string;
  hrefOf: (request: ListedRequest) => string;
  isLive?: boolean;
}

export function RequestTable({requests, caption, hrefOf, isLive}: RequestTableProps) {
  const columns: Column<ListedRequest>[] = [
    ms('duration', 'Duration', (row) => row.durationMs),
    ms('running', 'Running', (row) => row.runningMs),
    ms('waiting', 'Waiting', (row) => row.waitingMs),
    ms('queued', 'Queued', (row) => row.queuedMs),
    {id: 'status', title: 'Status', value: stateOf, show: (row) => (isFailed(row) ? <b class="harm">{stateOf(row)}</b> : stateOf(row))},
    {
      id: 'path',
      title: 'Path',
      value: (row) => row.path,
      as: 'code',
      show: (row) => (
        <a href={hrefOf(row)} data-trace={row.traceId} title={row.path}>
          <Wrapped text={short(`${row.method} ${row.path}`)} />
        </a>
      ),
    },
    {id: 'spans', title: 'Spans', value: (row) => row.spanCount, show: (row) => formatNumber(row.spanCount), as: 'number'},
    {id: 'began', title: 'Began', value: (row) => row.startTime, show: (row) => <Time iso={row.startTime} />},
    {id: 'trace', title: 'Trace id', value: (row) => row.traceId, show: (row) => <code class="trace-id">{row.traceId}</code>},
  ];
  return <Table id="requests" caption={caption} rows={requests} columns={columns} rowKey={(row) => `${row.traceId} ${row.startTime} ${row.durationMs}`} order={isLive ? undefined : '-duration'} isLive={isLive} />;
}
