// Processes that send requests: whether they are alive, what was lost, what recording costs.
import type {FleetHost} from '../../api/fleet-types';
import {formatAge, formatMs, formatNumber, formatPercent} from '../../ui/format';
import {type Column, Table} from '../../ui/table';
import {Time} from '../../ui/time';
import {Wrapped} from '../../ui/wrapped';

const kSilentMs = 60_000; // a source sends every few seconds while its process serves requests
const kLeastCost = 0.01; // percent
const kSkewMs = 10_000; // from here on the server corrects the clock

export const isSilent = (host: FleetHost): boolean => host.silentMs > kSilentMs;

// CPU time of the recorder per time in which it sent: percent of one core.
export function costOf(host: FleetHost): number | undefined {
  const ms = Date.parse(host.last) - Date.parse(host.first);
  return ms >= 1000 ? (100 * host.recorderCpuMs) / ms : undefined;
}

const programsOf = (host: FleetHost): string => [`process ${host.pid}`, host.runtime ? `.NET ${host.runtime.replace(/^\.NET /, '')}` : '', host.relayVersion ? `clrscope ${host.relayVersion}` : ''].filter(Boolean).join(', ');

const count = (id: string, title: string, value: (row: FleetHost) => number): Column<FleetHost> => ({id, title, as: 'number', value, show: (row) => formatNumber(value(row))});
const loss = (id: string, title: string, value: (row: FleetHost) => number): Column<FleetHost> => ({id, title, as: 'number', value, show: (row) => (value(row) ? <b class="harm">{formatNumber(value(row))}</b> : '0')});

export function HostTable({hosts, hrefOf}: {hosts: FleetHost[]; hrefOf: (host: FleetHost) => string}) {
  const columns: Column<FleetHost>[] = [
    {
      id: 'host',
      title: 'Host',
      value: (row) => row.host,
      show: (row) => (
        <>
          <a href={hrefOf(row)} data-host={row.host}>
            <Wrapped text={row.host.slice(0, 200)} />
          </a>
          <small>{programsOf(row)}</small>
        </>
      ),
    },
    {id: 'service', title: 'Service', value: (row) => row.service, show: (row) => <Wrapped text={row.service.slice(0, 200)} />},
    {id: 'version', title: 'Version', value: (row) => row.version},
    {
      id: 'state',
      title: 'State',
      value: (row) => row.silentMs,
      show: (row) => (
        <>
          <span class={isSilent(row) ? 'state warn' : 'state'} data-state={isSilent(row) ? 'silent' : 'sending'}>
            {isSilent(row) ? `silent for ${formatAge(row.silentMs).replace(/ /g, '\u00a0')}` : 'sending'}
          </span>
          <small>
            <Time iso={row.last} />
          </small>
        </>
      ),
    },
    count('stored', 'Stored', (row) => row.storedRequests),
    loss('lost', 'Lost', (row) => row.lostRequests),
    loss('unrecorded', 'Not recorded', (row) => row.unrecordedRequests),
    {id: 'sampled', title: 'Sampled', as: 'number', value: (row) => row.samplingPercent, show: (row) => formatPercent(row.samplingPercent ?? 0)},
    {
      id: 'cost',
      title: 'Recorder CPU',
      as: 'number',
      value: (row) => costOf(row),
      show: (row) => {
        const cost = costOf(row);
        return <span title={`${formatMs(row.recorderCpuMs)} in all`}>{cost === undefined ? '–' : cost < kLeastCost ? `< ${kLeastCost} %` : formatPercent(cost)}</span>;
      },
    },
    {id: 'skew', title: 'Clock', as: 'number', value: (row) => Math.abs(row.skewMs), show: (row) => <span class={Math.abs(row.skewMs) > kSkewMs ? 'warn' : ''}>{Math.abs(row.skewMs) < 1000 ? 'right' : `${formatAge(Math.abs(row.skewMs))} ${row.skewMs > 0 ? 'behind' : 'ahead'}`}</span>},
    ...(hosts.some((one) => one.configuration || one.wantedConfiguration)
      ? [
          {
            id: 'configuration',
            title: 'Configuration',
            value: (row: FleetHost) => row.configuration,
            show: (row: FleetHost) => (
              <span class={row.configurationTrouble ? 'warn' : ''} title={row.configurationTrouble || undefined} data-configuration={row.configuration}>
                {row.configuration ? `version ${row.configuration}` : 'own'}
                {row.configurationTrouble ? `, cannot take ${row.wantedConfiguration}` : row.configuration === row.wantedConfiguration ? '' : `, shall have ${row.wantedConfiguration || 'its own'}`}
              </span>
            ),
          },
        ]
      : []),
    ...(hosts.some((one) => one.writtenSamples) ? [count('samples', 'CPU samples', (row) => row.storedSamples), loss('lostSamples', 'Samples lost', (row) => row.lostSamples + row.unrecordedSamples)] : []),
  ];
  return <Table id="hosts" caption="Processes that sent requests in the range, with the time of the latest batch. Lost: sent by the host and not stored. Recorder CPU: percent of one core, outside the process." rows={hosts} columns={columns} rowKey={(row) => row.instance} />;
}
