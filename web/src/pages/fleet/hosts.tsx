// Processes that send requests: health, version, cost, loss, sampling.
import {useAnswer} from '../../api/answer';
import {askFor, everyMs, useRange} from '../../api/fleet';
import type {FleetHosts} from '../../api/fleet-types';
import {addressOf, setQuery, usePlace} from '../../frame/router';
import {formatNumber} from '../../ui/format';
import {Age, Loaded, Notice} from '../../ui/state';
import {HostTable, isSilent} from '../../views/fleet/hosts';
import {NoRequests} from './parts';

export function FleetHostsPage() {
  const range = useRange();
  const service = usePlace().query.get('service') ?? '';
  const answer = useAnswer<FleetHosts>(askFor('fleet/hosts', range), {everyMs: everyMs(range)});
  return (
    <>
      <h1>Hosts</h1>
      <Loaded answer={answer} waiting="Reading the hosts …">
        {({hosts: all}) => {
          const hosts = service ? all.filter((one) => one.service === service) : all;
          const lost = hosts.reduce((sum, one) => sum + one.lostRequests, 0);
          const silent = hosts.filter(isSilent).length;
          return (
            <>
              <div class="bar">
                <label>
                  Service{' '}
                  <select data-filter="service" value={service} onChange={(event) => setQuery({service: event.currentTarget.value}, 'push')}>
                    <option value="">all</option>
                    {[...new Set([...all.map((one) => one.service), ...(service ? [service] : [])])].sort().map((one) => (
                      <option key={one} value={one}>
                        {one}
                      </option>
                    ))}
                  </select>
                </label>
                <Age at={answer.at} />
              </div>
              {hosts.length === 0 ? (
                <NoRequests isAll />
              ) : (
                <>
                  <p class="lead">
                    {formatNumber(hosts.length)} {hosts.length === 1 ? 'process' : 'processes'}, {silent ? `${formatNumber(silent)} silent for more than a minute` : 'all sending'}; {lost ? `${formatNumber(lost)} requests lost` : 'nothing lost'}.
                  </p>
                  {lost ? <Notice kind="trouble" hint="The relay on the host says why: its spool was full, it was killed, or batches were refused.">{formatNumber(lost)} requests were sent and are not stored.</Notice> : null}
                  <HostTable hosts={hosts} hrefOf={(host) => addressOf('/fleet/routes', {...range.query, service: host.service, host: host.host})} />
                </>
              )}
            </>
          );
        }}
      </Loaded>
    </>
  );
}
