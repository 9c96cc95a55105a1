// The pages of a fleet server: the range of time and the search for a trace id are above all of them.
import {useAnswer} from '../api/answer';
import {useRange} from '../api/fleet';
import type {FleetStatus} from '../api/fleet-types';
import type {Group} from '../page';
import {fleetPages} from '../pages';
import {clockTime, localZone} from '../ui/format';
import {RangeChoice} from '../views/fleet/range-choice';
import {FindTrace} from '../views/requests/profile-view';
import {findPage, Layout, NotFound} from './layout';
import {setPaused, usePaused} from './pause';
import {addressOf, usePlace} from './router';

const kStatusMs = 5000;
const kGroups: [Group, string][] = [['fleet', 'Fleet']];
const kHome = '/fleet/services';

export function FleetFrame() {
  const place = usePlace();
  const range = useRange();
  const status = useAnswer<FleetStatus>('fleet/status', {everyMs: kStatusMs});
  const paused = usePaused();
  const found = findPage(fleetPages, place.path);
  const service = place.query.get('service') ?? undefined;
  const Content = found?.page.Content;
  const trace = found?.values.traceId ?? '';
  return (
    <Layout
      place={place}
      pages={fleetPages}
      groups={kGroups}
      found={found}
      home={addressOf(kHome, range.query)}
      hrefOf={(page) => addressOf(page.path, {...range.query, service: page.path === kHome ? undefined : service})}
      isSignedIn={status.data?.signedIn ?? false}
      keys={[]}
      top={
        <div class="fleet-top">
          <RangeChoice range={range} />
          <FindTrace key={trace} value={trace} example="trace id" hrefOf={(id) => addressOf(`/fleet/requests/${encodeURIComponent(id)}`, range.query)} />
        </div>
      }
      strip={
        <footer class="strip">
          <span class={status.problem ? 'warn' : ''} role="status" data-connected={status.problem ? 'no' : 'yes'}>
            {status.problem ? `not connected since ${clockTime(status.at || Date.now())}` : status.data ? 'connected' : 'connecting …'}
          </span>
          {status.data ? <span>clrscope-fleet {status.data.version}</span> : null}
          {status.data?.reader ? <span>reading as {status.data.reader}</span> : null}
          {status.data?.tenant ? <span data-tenant={status.data.tenant}>tenant {status.data.tenant}</span> : null}
          <span data-zone>times in {localZone()}</span>
          <button type="button" data-pause aria-pressed={paused > 0} onClick={() => setPaused(!paused)}>
            {paused ? `paused at ${clockTime(paused)}: resume` : 'pause'}
          </button>
        </footer>
      }
    >
      {found && Content ? (
        <Content key={`${found.page.path} ${trace}`} pid={0} values={found.values} />
      ) : (
        <NotFound path={place.path}>
          <a class="button" href={addressOf(kHome)}>
            All services
          </a>
        </NotFound>
      )}
    </Layout>
  );
}
