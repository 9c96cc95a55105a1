// Services as a table: what runs where, how much, how fast.
import type {FleetSeries, FleetService} from '../../api/fleet-types';
import {shareOf} from '../../api/fleet';
import {formatMs, formatNumber, formatPercent} from '../../ui/format';
import {type Column, Table} from '../../ui/table';
import {Time} from '../../ui/time';
import {Wrapped} from '../../ui/wrapped';

const kNamed = 3; // versions that are written out

// "1.0, 1.1 and 2 more".
export function someOf(names: string[]): string {
  const shown = names.slice(0, kNamed).map((name) => name || '(none)').join(', ');
  return names.length > kNamed ? `${shown} and ${formatNumber(names.length - kNamed)} more` : shown;
}

// `latency`: by service; undefined while it is not there yet.
export function ServiceTable({services, latency, hrefOf}: {services: FleetService[]; latency?: Map<string, FleetSeries>; hrefOf: (service: string) => string}) {
  const ms = (id: string, title: string, value: (one: FleetSeries) => number): Column<FleetService> => ({
    id,
    title,
    as: 'number',
    value: (row) => {
      const known = latency?.get(row.service);
      return known ? value(known) : null;
    },
    show: (row) => {
      const known = latency?.get(row.service);
      return known ? formatMs(value(known)) : '…';
    },
  });
  const columns: Column<FleetService>[] = [
    {
      id: 'service',
      title: 'Service',
      value: (row) => row.service,
      show: (row) => (
        <a href={hrefOf(row.service)} data-service={row.service} title={row.service}>
          <Wrapped text={row.service.slice(0, 200)} />
        </a>
      ),
    },
    {id: 'versions', title: 'Versions', value: (row) => row.versions.join(', '), show: (row) => <span title={row.versions.join('\n')}>{someOf(row.versions)}</span>},
    {id: 'hosts', title: 'Hosts', as: 'number', value: (row) => row.hosts.length, show: (row) => <span title={row.hosts.join('\n')}>{formatNumber(row.hosts.length)}</span>},
    {id: 'requests', title: 'Requests', as: 'number', value: (row) => row.requests, show: (row) => formatNumber(row.requests)},
    {
      id: 'rate',
      title: 'Per second',
      as: 'number',
      value: (row) => latency?.get(row.service)?.perSecond,
      show: (row) => {
        const rate = latency?.get(row.service)?.perSecond;
        return rate == null ? '' : formatNumber(rate);
      },
    },
    {id: 'errors', title: 'Errors', as: 'number', value: (row) => row.errors, show: (row) => (row.errors ? <b class="harm">{`${formatNumber(row.errors)} (${formatPercent(shareOf(row.errors, row.requests))})`}</b> : '0')},
    ms('p50', 'p50', (one) => one.p50Ms),
    ms('p95', 'p95', (one) => one.p95Ms),
    ms('p99', 'p99', (one) => one.p99Ms),
    {id: 'sampled', title: 'Sampled', as: 'number', value: (row) => shareOf(row.sampled, row.requests), show: (row) => formatPercent(shareOf(row.sampled, row.requests))},
    {id: 'last', title: 'Latest request', value: (row) => row.last, show: (row) => <Time iso={row.last} />},
  ];
  return <Table id="services" caption="Services: all requests in the range, sampled or not" rows={services} columns={columns} rowKey={(row) => row.service} />;
}
