// How services are profiled: what is in force, a form to change it, the history with a way back.
import {useState} from 'preact/hooks';
import {problemOf, useAnswer, useApi} from '../../api/answer';
import type {Problem} from '../../api/client';
import {askFor, kEveryMs, useRange} from '../../api/fleet';
import type {ConfigurationChange, ConfigurationVersion, FleetConfigurations, FleetHosts, FleetStatus} from '../../api/fleet-types';
import {addressOf, setQuery, usePlace} from '../../frame/router';
import {Age, Loaded, Notice, Trouble} from '../../ui/state';
import {ChangeForm, HistoryTable, percentIn} from '../../views/fleet/configurations';
import {useServices} from './parts';

export function FleetConfigurationsPage() {
  const range = useRange();
  const service = usePlace().query.get('service') ?? '';
  const services = useServices(range);
  const answer = useAnswer<FleetConfigurations>('fleet/configurations?accept=application/json', {everyMs: kEveryMs});
  const known = [...new Set([...(answer.data?.services ?? []), ...(services.data?.services ?? [])].map((one) => one.service))].sort();
  if (service && !known.includes(service)) known.push(service);
  return (
    <>
      <h1>Configuration</h1>
      <div class="bar">
        <label>
          Service{' '}
          <select data-filter="service" value={service} onChange={(event) => setQuery({service: event.currentTarget.value}, 'push')}>
            <option value="">choose …</option>
            {known.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
        <Age at={answer.at} />
      </div>
      <Loaded answer={answer} waiting="Reading the configurations …">
        {({services: all}) =>
          service ? (
            <OfOne key={service} service={service} versions={all.find((one) => one.service === service)?.versions ?? []} refresh={answer.refresh} />
          ) : all.length ? (
            <ul class="choices">
              {all.map((one) => (
                <li key={one.service}>
                  <a href={addressOf('/fleet/configurations', {...range.query, service: one.service})}>{one.service}</a>: version {one.versions[0].version}, {percentIn(one.versions[0])}
                </li>
              ))}
            </ul>
          ) : (
            <Notice hint="Choose a service to change how its hosts are profiled.">No service has a configuration: hosts use what their command line says.</Notice>
          )
        }
      </Loaded>
    </>
  );
}

function OfOne({service, versions, refresh}: {service: string; versions: ConfigurationVersion[]; refresh: () => void}) {
  const api = useApi();
  const range = useRange();
  const {data: status} = useAnswer<FleetStatus>('fleet/status');
  const hosts = useAnswer<FleetHosts>(askFor('fleet/hosts', range), {everyMs: kEveryMs});
  const [problem, setProblem] = useState<Problem>();
  const [isBusy, setBusy] = useState(false);
  const [said, setSaid] = useState('');
  const newest = versions[0];
  const change = async (body: Omit<ConfigurationChange, 'service' | 'basedOn'>) => {
    setBusy(true);
    setProblem(undefined);
    setSaid('');
    try {
      const made = await api.post<ConfigurationVersion>('fleet/configurations', {service, basedOn: newest?.version ?? 0, ...body});
      setSaid(`Version ${made.version} is made: ${percentIn(made)}. Hosts take it within seconds.`);
    } catch (error) {
      setProblem(problemOf(error));
    }
    setBusy(false);
    refresh();
  };
  const mine = hosts.data?.hosts.filter((one) => one.service === service && one.silentMs < 60_000) ?? [];
  const waiting = mine.filter((one) => one.configuration !== one.wantedConfiguration && !one.configurationTrouble).length;
  const failed = mine.filter((one) => one.configurationTrouble);
  return (
    <>
      {problem ? <Trouble problem={problem} /> : null}
      {said ? <Notice>{said}</Notice> : null}
      {status && !status.admin ? (
        <Notice kind="trouble" hint="Ask whoever runs the server for a token with the scopes read,admin.">
          You may not change configurations: your token lacks the scope admin.
        </Notice>
      ) : null}
      <p class="lead" data-summary>
        {newest ? `Version ${newest.version}, ${percentIn(newest)}.` : 'Hosts use what their command line says.'} {mine.length} {mine.length === 1 ? 'process sends' : 'processes send'}; {waiting} still to change, {failed.length} cannot.
      </p>
      {failed.length ? (
        <Notice kind="trouble" hint="They go on with the version they have.">
          {failed[0].host}: {failed[0].configurationTrouble}
        </Notice>
      ) : null}
      <ChangeForm key={newest?.version ?? 0} newest={newest} isDisabled={isBusy || !status?.admin} onChange={(body) => void change(body)} />
      <HistoryTable versions={versions} isDisabled={isBusy || !status?.admin} onRollBack={(version) => void change({rollBackTo: version, percent: 100})} />
    </>
  );
}
