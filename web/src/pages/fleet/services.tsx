// All services that sent requests in the range.
import {useAnswer} from '../../api/answer';
import {askFor, everyMs, useRange} from '../../api/fleet';
import type {FleetSeriesAnswer} from '../../api/fleet-types';
import {addressOf} from '../../frame/router';
import {Age, Loaded} from '../../ui/state';
import {ServiceTable} from '../../views/fleet/services';
import {NoRequests, useServices} from './parts';

export function FleetServicesPage() {
  const range = useRange();
  const services = useServices(range);
  const {data} = useAnswer<FleetSeriesAnswer>(askFor('fleet/series', range, {by: 'service'}), {everyMs: everyMs(range)});
  const latency = data && new Map(data.series.map((one) => [one.group, one]));
  return (
    <>
      <h1>Services</h1>
      <p class="bar">
        <Age at={services.at} />
      </p>
      <Loaded answer={services} waiting="Reading the services …">
        {({services: all}) => (all.length === 0 ? <NoRequests isAll /> : <ServiceTable services={all} latency={latency} hrefOf={(service) => addressOf('/fleet/routes', {...range.query, service})} />)}
      </Loaded>
    </>
  );
}
