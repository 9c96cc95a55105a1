// Which requests: service, version, host, status. What is chosen is in the address.
import type {FleetService} from '../../api/fleet-types';
import {setQuery, usePlace} from '../../frame/router';

const kStatuses = ['2xx', '3xx', '4xx', '5xx'];

function Choice({name, title, values, any}: {name: string; title: string; values: string[]; any?: string}) {
  const chosen = usePlace().query.get(name) ?? '';
  const all = chosen && !values.includes(chosen) ? [chosen, ...values] : values;
  return (
    <label>
      {title}{' '}
      <select data-filter={name} value={chosen} onChange={(event) => setQuery({[name]: event.currentTarget.value, ...(name === 'service' ? {route: undefined, version: undefined, host: undefined} : {})}, 'push')}>
        {any === undefined && chosen ? null : <option value="">{any ?? 'choose'}</option>}
        {all.map((value) => (
          <option key={value} value={value}>
            {value || '(none)'}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Filters({services}: {services: FleetService[]}) {
  const chosen = usePlace().query.get('service') ?? '';
  const service = services.find((one) => one.service === chosen);
  return (
    <div class="bar fleet-filters">
      <Choice name="service" title="Service" values={services.map((one) => one.service)} />
      {chosen ? (
        <>
          <Choice name="version" title="Version" values={(service?.versions ?? []).filter(Boolean)} any="any" />
          <Choice name="host" title="Host" values={service?.hosts ?? []} any="any" />
          <Choice name="status" title="Status" values={kStatuses} any="any" />
        </>
      ) : null}
    </div>
  );
}
