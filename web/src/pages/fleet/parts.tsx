// What the pages about a service share: the requests that the address chooses, what to say while there is no service, the way back.
import type {ComponentChildren} from 'preact';
import {type Answer, useAnswer} from '../../api/answer';
import {askFor, everyMs, type Range, selectionOf, useRange} from '../../api/fleet';
import type {FleetServices} from '../../api/fleet-types';
import {addressOf, type Query, useParam, usePlace} from '../../frame/router';
import {Loaded, Notice} from '../../ui/state';
import {Wrapped} from '../../ui/wrapped';
import {Filters} from '../../views/fleet/filters';

export const useServices = (range: Range): Answer<FleetServices> => useAnswer<FleetServices>(askFor('fleet/services', range), {everyMs: everyMs(range)});

export function NoRequests({isAll = false}: {isAll?: boolean}) {
  return (
    <Notice hint={isAll ? <code>clrscope requests -n APP --include NAMESPACE --to grpc://SERVER:52330</code> : 'Choose a longer range, or other filters.'}>
      {isAll ? 'No requests in this range. Hosts send them with:' : 'No requests match in this range.'}
    </Notice>
  );
}

// Which requests the address chooses.
export interface Selected {
  range: Range;
  selection: Query;
  service: string;
  route: string; // empty: all
}

// The filters, then the content once a service is chosen.
export function SelectionPage({titleOf, lead, children}: {titleOf: (route: string) => string; lead?: string; children: (selected: Selected) => ComponentChildren}) {
  const range = useRange();
  const selection = selectionOf(usePlace());
  const services = useServices(range);
  const [service, route] = [String(selection.service ?? ''), String(selection.route ?? '')];
  return (
    <>
      <h1>{titleOf(route)}</h1>
      {lead ? <p>{lead}</p> : null}
      <Loaded answer={services} waiting="Reading the services …">
        {({services: all}) => (
          <>
            <Filters services={all} />
            {all.length === 0 ? <NoRequests isAll /> : service ? null : <p>Choose a service.</p>}
          </>
        )}
      </Loaded>
      {service ? (
        <div class="request-profile">
          <Trail service={service} route={route} />
          {children({range, selection, service, route})}
        </div>
      ) : null}
    </>
  );
}

// The newest two versions, as names are ordered; the one that is chosen counts as the newer.
export function versionPair(versions: string[], chosen: string): {version: string; baseVersion: string} | undefined {
  const known = versions.filter(Boolean).sort((a, b) => a.localeCompare(b, undefined, {numeric: true}));
  const version = chosen || known[known.length - 1];
  const others = known.filter((one) => one !== version);
  const older = others.filter((one) => known.indexOf(one) < known.indexOf(version));
  const baseVersion = older[older.length - 1] ?? others[others.length - 1];
  return version && baseVersion ? {version, baseVersion} : undefined;
}

// Buttons to the page that compares these requests with those of another version or time.
export function CompareLinks({range, selection}: {range: Range; selection: Query}) {
  const services = useServices(range);
  const service = services.data?.services.find((one) => one.service === selection.service);
  const pair = versionPair(service?.versions ?? [], String(selection.version ?? ''));
  const earlier = `${Math.max(1, Math.round(range.seconds))}s`;
  return (
    <p class="bar">
      {pair ? (
        <a class="button" data-compare="versions" href={addressOf('/fleet/compare', {...range.query, ...selection, ...pair})}>
          Compare versions {pair.baseVersion} and {pair.version}
        </a>
      ) : null}
      <a class="button" data-compare="time" href={addressOf('/fleet/compare', {...range.query, ...selection, baseShift: earlier})}>
        Compare with the time before
      </a>
    </p>
  );
}

const kWeights: [name: string, words: string][] = [
  ['running', 'Running time of measured methods'],
  ['cpu', 'CPU time, all methods'],
];

// What a flame graph draws; the address keeps it.
export function useWeight(): {isCpu: boolean; query: Query; choice: ComponentChildren} {
  const [by, setBy] = useParam('by');
  const isCpu = by === 'cpu';
  const choice = (
    <p class="switch" role="group" aria-label="Flame graph of">
      {kWeights.map(([name, words]) => (
        <button key={name} type="button" data-by={name} aria-pressed={isCpu === (name === 'cpu')} onClick={() => setBy(name === 'cpu' ? name : '')}>
          {words}
        </button>
      ))}
    </p>
  );
  return {isCpu, query: {by: isCpu ? 'cpu' : undefined}, choice};
}

export function Trail({service, route}: {service: string; route: string}) {
  const {query} = usePlace();
  const kept = Object.fromEntries(['last', 'from', 'to', 'version', 'host', 'status'].map((name) => [name, query.get(name) ?? undefined]));
  return (
    <nav class="trail" aria-label="Where you are">
      <a href={addressOf('/fleet/services', kept)}>All services</a>
      {' › '}
      <a href={addressOf('/fleet/routes', {...kept, service})}>
        <Wrapped text={service.slice(0, 200)} />
      </a>
      {route ? (
        <>
          {' › '}
          <a href={addressOf('/fleet/routes', {...kept, service, route})}>
            <Wrapped text={route.slice(0, 200)} />
          </a>
        </>
      ) : null}
    </nav>
  );
}
