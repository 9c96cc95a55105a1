// What the pages about a service share: its choice, what to say while there is none, the way back.
import type {ComponentChildren} from 'preact';
import {type Answer, useAnswer} from '../../api/answer';
import {askFor, everyMs, type Range} from '../../api/fleet';
import type {FleetServices} from '../../api/fleet-types';
import {addressOf, usePlace} from '../../frame/router';
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

// The filters, then the content once a service is chosen.
export function OfService({range, children}: {range: Range; children: (service: string) => ComponentChildren}) {
  const services = useServices(range);
  const service = usePlace().query.get('service') ?? '';
  return (
    <>
      <Loaded answer={services} waiting="Reading the services …">
        {({services: all}) => (
          <>
            <Filters services={all} />
            {all.length === 0 ? <NoRequests isAll /> : service ? null : <p>Choose a service.</p>}
          </>
        )}
      </Loaded>
      {service ? children(service) : null}
    </>
  );
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
