// A profile of requests: routes, the requests and the flame graph of one route, the waterfall of one request.
// Which of them is shown is in the address: route, trace, show.
import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import {addressOf, open, type Place, type Query, setQuery, useParam, usePlace} from '../../frame/router';
import {Fold, useOpenParam} from '../../ui/fold';
import {formatMs, formatNumber, formatPercent} from '../../ui/format';
import {Notice} from '../../ui/state';
import {Time} from '../../ui/time';
import {Wrapped} from '../../ui/wrapped';
import {FlameView} from '../flame/view';
import {Filter} from '../stacks/bar';
import {findTrace, flameOf, lostWords, requestsOf, routeId, type SampledStack, shareSampled} from './profile';
import {type ListedRequest, RequestTable, RouteTable} from './tables';
import type {ProfiledRequest, RequestProfile, UnmeasuredMethod} from '../../api/types';
import {Waterfall} from './waterfall';

// What belongs to the profile as a whole; the rest of the query belongs to what is shown of it.
const kKept = ['pid', 'tab', 'run', 'filter', 'include', 'exclude', 'sample', 'seconds', 'sort-routes', 'sort-requests'];

function hrefFor({path, query}: Place, changes: Query): string {
  const kept: Query = {};
  for (const name of kKept) kept[name] = query.get(name) ?? undefined;
  return addressOf(path, {...kept, ...changes});
}

// `isLive`: it goes on. What the reader has opened stays as it is when more comes. `recording`: the id of the recording that it comes from, if there is one.
export function ProfileView({profile, isLive = false, recording}: {profile: RequestProfile; isLive?: boolean; recording?: string}) {
  const place = usePlace();
  const [route, trace] = [place.query.get('route') ?? '', place.query.get('trace') ?? ''];
  return (
    <div class="request-profile" data-profile={profile.seen}>
      <Summary profile={profile} isLive={isLive} />
      <div class="bar">
        <FindTrace value={trace} hrefOf={(id) => hrefFor(place, {trace: id})} />
        {route || trace || (profile.routes.length < 2 && !place.query.has('filter')) ? null : <RouteFilter />}
      </div>
      {trace ? (
        <OneTrace profile={profile} trace={trace} place={place} isLive={isLive} />
      ) : route ? (
        <OneRoute key={route} profile={profile} route={route} place={place} isLive={isLive} recording={recording} />
      ) : (
        <Routes profile={profile} place={place} isLive={isLive} />
      )}
    </div>
  );
}

const listed = (one: ProfiledRequest): ListedRequest => ({...one, spanCount: one.spans.length});

const percentOf = (value: number | null, factor = 1): string => (value === null ? 'unknown' : formatPercent(value * factor));

function Summary({profile, isLive}: {profile: RequestProfile; isLive: boolean}) {
  const {seen, sampled, forced, inFlight, notKept, cost, methods} = profile;
  const lost = lostWords(profile);
  return (
    <>
      <p class="lead">
        {formatNumber(seen)} {seen === 1 ? 'request' : 'requests'} in {formatMs(profile.durationMs)}; {formatNumber(sampled)} sampled ({formatPercent(shareSampled(profile))})
        {forced ? `, ${formatNumber(forced)} of them by the debug key` : ''}.
      </p>
      <p class="dim" data-price>
        Sampling probability {percentOf(profile.probability, 100)} · cost {percentOf(cost.cpuPercent)} of the CPU time of the process
        {isLive ? '' : ` · ${formatNumber(methods.instrumented)} of ${formatNumber(methods.chosen)} chosen methods called`}
        {inFlight && !isLive ? ` · ${formatNumber(inFlight)} sampled ${inFlight === 1 ? 'request' : 'requests'} had not ended` : ''}
        {notKept && !isLive ? ` · ${formatNumber(notKept)} sampled requests are not kept` : ''} · {lost.length === 0 ? 'nothing lost' : isLive ? `lost: ${lost.join('; ')}` : 'some data lost'}
      </p>
      {lost.length && !isLive ? <Notice kind="trouble">Lost: {lost.join('; ')}.</Notice> : null}
      {profile.notes.map((note) => (
        <Notice key={note}>{note}</Notice>
      ))}
      {methods.notMeasured?.length ? <Unmeasured methods={methods.notMeasured} count={methods.refused} /> : null}
    </>
  );
}

function Unmeasured({methods, count}: {methods: UnmeasuredMethod[]; count: number}) {
  const folds = useOpenParam('folds');
  return (
    <Fold id="unmeasured" open={folds} summary={`${formatNumber(count)} chosen ${count === 1 ? 'method' : 'methods'} could not be instrumented`}>
      <table>
        <thead>
          <tr>
            <th scope="col">Method</th>
            <th scope="col">Reason</th>
          </tr>
        </thead>
        <tbody>
          {methods.map((one, i) => (
            <tr key={i}>
              <td>
                <Wrapped text={one.method} />
              </td>
              <td>
                {one.reason}
                {one.hresult ? ` (${one.hresult})` : ''}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {count > methods.length ? <p class="dim">and {formatNumber(count - methods.length)} more</p> : null}
    </Fold>
  );
}

export function FindTrace({value, hrefOf, example = 'trace id or its beginning'}: {value: string; hrefOf: (id: string) => string; example?: string}) {
  const [typed, setTyped] = useState(value);
  return (
    <form
      class="bar"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        open(hrefOf(typed.trim()));
      }}
    >
      <input type="search" class="mono find-trace" aria-label="Trace id" placeholder={example} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
      <button>Find request</button>
    </form>
  );
}

interface PartProps {
  profile: RequestProfile;
  place: Place;
  isLive: boolean;
}

function RouteFilter() {
  const [filter, setFilter] = useParam('filter');
  return <Filter value={filter} onChange={setFilter} label="Filter routes" example="filter routes" />;
}

function Routes({profile, place, isLive}: PartProps) {
  const wanted = (place.query.get('filter') ?? '').trim().toLowerCase();
  const routes = wanted ? profile.routes.filter((one) => routeId(one).toLowerCase().includes(wanted)) : profile.routes;
  if (profile.routes.length === 0 && isLive) return <p role="status">Waiting for the first request to end …</p>;
  if (profile.routes.length === 0)
    return <Notice hint="Send requests to the process while it is profiled, or profile for longer.">No request ended while requests were profiled.</Notice>;
  return (
    <>
      {wanted ? (
        <p class="dim" role="status">
          {formatNumber(routes.length)} of {formatNumber(profile.routes.length)} routes
        </p>
      ) : null}
      <RouteTable routes={routes} hrefOf={(route) => hrefFor(place, {route})} isLive={isLive} />
    </>
  );
}

function Trail({place, route}: {place: Place; route: string}) {
  return (
    <nav class="trail" aria-label="Where you are">
      <a href={hrefFor(place, {})}>All routes</a>
      {route ? (
        <>
          {' › '}
          <a href={hrefFor(place, {route})}>
            <Wrapped text={route} />
          </a>
        </>
      ) : null}
    </nav>
  );
}

// A picture of requests does not change under its reader: it is made again when the reader says so.
function useHeld(requests: ProfiledRequest[], isWanted: boolean): [ProfiledRequest[], () => void] {
  const [held, setHeld] = useState<ProfiledRequest[]>();
  useEffect(() => {
    if (!isWanted) setHeld(undefined);
    else if (!held && requests.length) setHeld(requests);
  });
  return [(isWanted && held) || requests, () => setHeld(requests)];
}

function OneRoute({profile, route, place, isLive, recording}: PartProps & {route: string; recording?: string}) {
  const all = useMemo(() => requestsOf(profile, route), [profile, route]);
  const isFlame = place.query.get('show') === 'flame';
  const [requests, renew] = useHeld(all, isFlame);
  const isOld = requests !== all && requests.map((one) => one.traceId).join() !== all.map((one) => one.traceId).join();
  const flame = useMemo(() => flameOf(requests, route, profile.pid), [requests]);
  const missing = requests.reduce((sum, one) => sum + one.spansLost, 0);
  const totals = profile.routes.find((one) => routeId(one) === route);
  const show = (title: string, changes: Query, isShown: boolean) => (
    <button type="button" aria-pressed={isShown} onClick={() => setQuery(changes, 'push')}>
      {title}
    </button>
  );
  return (
    <section aria-label="Route" data-one-route={route}>
      <Trail place={place} route="" />
      <h2 class="mono">
        <Wrapped text={route} />
      </h2>
      {totals ? (
        <p>
          {formatNumber(totals.count)} requests{totals.perSecond === null ? '' : `, ${formatNumber(totals.perSecond)} per second`}: half within {formatMs(totals.p50Ms)}, 95 % within {formatMs(totals.p95Ms)}, 99 % within {formatMs(totals.p99Ms)}. {formatNumber(totals.errors)}{' '}
          failed. {formatNumber(totals.sampled)} sampled, {formatNumber(requests.length)} of them kept: the slowest, the failed and some others.
        </p>
      ) : null}
      {requests.length === 0 && isLive ? (
        <p role="status">Sampled requests of this route appear here …</p>
      ) : requests.length === 0 ? (
        <Notice hint="Profile for longer, or with a higher sampling rate.">No request of this route was sampled.</Notice>
      ) : (
        <>
          <p class="switch" role="group" aria-label="Show">
            {show('Slowest requests', {show: undefined}, !isFlame)}
            {show('Flame graph', {show: 'flame', weight: 'both'}, isFlame)}
            {isFlame && (isLive || isOld) ? (
              <button type="button" disabled={!isOld} onClick={renew}>
                Update the flame graph
              </button>
            ) : null}
            {recording ? (
              <a class="button" href={addressOf('/flame', {recording, route})} title="CPU samples of all sampled requests of the route, all methods; the flame graph beside it has the time of the chosen methods">
                Flame graph of CPU samples
              </a>
            ) : null}
          </p>
          {isFlame ? (
            <FlameView json={flame} summary={`${formatNumber(requests.length)} requests merged, ${formatNumber(flame.samples)} calls of chosen methods. On CPU: a thread executed the method. Waiting: it was suspended and no method that it called explains it.${missing ? ` ${formatNumber(missing)} calls are missing.` : ''}`} />
          ) : (
            <RequestTable requests={requests.map(listed)} caption={isLive ? 'Sampled requests' : 'Sampled requests, the slowest first'} hrefOf={(one) => hrefFor(place, {trace: one.traceId})} isLive={isLive} />
          )}
        </>
      )}
    </section>
  );
}

// The same objects as long as they say the same, so that their waterfall is not made again.
function useFound(profile: RequestProfile, trace: string): ProfiledRequest[] {
  const last = useRef<ProfiledRequest[]>([]);
  return useMemo(() => {
    const found = findTrace(profile, trace);
    if (JSON.stringify(found) !== JSON.stringify(last.current)) last.current = found;
    return last.current;
  }, [profile, trace]);
}

function OneTrace({profile, trace, place, isLive}: PartProps & {trace: string}) {
  const found = useFound(profile, trace);
  if (found.length === 0 && isLive)
    return (
      <>
        <Trail place={place} route="" />
        <p role="status">Waiting for a request whose trace id begins with {trace.slice(0, 64)} …</p>
      </>
    );
  if (found.length === 0)
    return (
      <>
        <Trail place={place} route="" />
        <Notice hint={`${formatNumber(profile.sampled)} of ${formatNumber(profile.seen)} requests were sampled${profile.notKept ? `, and ${formatNumber(profile.notKept)} of those were not kept` : ''}.`}>
          No sampled request has a trace id that begins with {trace.slice(0, 64)}.
        </Notice>
      </>
    );
  if (found.length > 1 && found.some((one) => one.traceId !== found[0].traceId))
    return (
      <>
        <Trail place={place} route="" />
        <RequestTable requests={found.map(listed)} caption="Requests whose trace id begins so" hrefOf={(one) => hrefFor(place, {trace: one.traceId})} />
      </>
    );
  return (
    <>
      <Trail place={place} route={routeId(found[0])} />
      {found.map((one, i) => (
        <OneRequest key={i} request={one} />
      ))}
    </>
  );
}

export function OneRequest({request, stacks}: {request: ProfiledRequest; stacks?: SampledStack[]}) {
  return (
    <section aria-label="Request" data-request={request.traceId}>
      <h2 class="mono">
        {request.method} <Wrapped text={request.path} />
      </h2>
      <p>
        <b class={request.status >= 500 || request.error ? 'harm' : ''}>
          {request.status}
          {request.error ? ` ${request.error}` : ''}
        </b>{' '}
        in {formatMs(request.durationMs)}: threads worked {formatMs(request.runningMs)} for it, none for {formatMs(request.waitingMs)}
        {request.queuedMs > 0 ? ` (queued ${formatMs(request.queuedMs)})` : ''}. Began <Time iso={request.startTime} />. {request.aborted ? 'The client closed the connection. ' : ''}
        {request.forced ? 'Sampled by the debug key. ' : ''}
        Trace id{request.ownId ? ' (made by clrscope: the request had none)' : ''} <code class="trace-id">{request.traceId}</code>
      </p>
      {request.spansLost ? <Notice kind="trouble">{formatNumber(request.spansLost)} spans of this request are missing.</Notice> : null}
      <Waterfall request={request} stacks={stacks} />
    </section>
  );
}
