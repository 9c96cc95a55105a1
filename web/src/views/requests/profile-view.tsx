// A profile of requests: routes, the requests and the flame graph of one route, the waterfall of one request.
// Which of them is shown is in the address: route, trace, show.
import {useMemo, useState} from 'preact/hooks';
import {addressOf, open, type Place, type Query, setQuery, usePlace} from '../../frame/router';
import {formatMs, formatNumber, formatPercent} from '../../ui/format';
import {Notice} from '../../ui/state';
import {Time} from '../../ui/time';
import {Wrapped} from '../../ui/wrapped';
import {FlameView} from '../flame/view';
import {findTrace, flameOf, lostWords, requestsOf, routeId, shareSampled} from './profile';
import {RequestTable, RouteTable} from './tables';
import type {ProfiledRequest, RequestProfile} from './types';
import {Waterfall} from './waterfall';

// What belongs to the profile as a whole; the rest of the query belongs to what is shown of it.
const kKept = ['pid', 'tab', 'include', 'exclude', 'sample', 'seconds', 'sort-routes', 'sort-requests'];

function hrefFor({path, query}: Place, changes: Query): string {
  const kept: Query = {};
  for (const name of kKept) kept[name] = query.get(name) ?? undefined;
  return addressOf(path, {...kept, ...changes});
}

export function ProfileView({profile}: {profile: RequestProfile}) {
  const place = usePlace();
  const [route, trace] = [place.query.get('route') ?? '', place.query.get('trace') ?? ''];
  return (
    <div class="request-profile" data-profile={profile.seen}>
      <Summary profile={profile} />
      <FindTrace value={trace} hrefOf={(id) => hrefFor(place, {trace: id})} />
      {trace ? <OneTrace profile={profile} trace={trace} place={place} /> : route ? <OneRoute key={route} profile={profile} route={route} place={place} /> : <Routes profile={profile} place={place} />}
    </div>
  );
}

function Summary({profile}: {profile: RequestProfile}) {
  const {seen, sampled, forced, inFlight, notKept, cost, methods} = profile;
  const lost = lostWords(profile);
  return (
    <>
      <p class="lead">
        {formatNumber(seen)} {seen === 1 ? 'request' : 'requests'} in {formatMs(profile.durationMs)}; {formatNumber(sampled)} sampled ({formatPercent(shareSampled(profile))})
        {forced ? `, ${formatNumber(forced)} of them by the debug key` : ''}.
      </p>
      <p class="dim" data-price>
        Sampling probability {formatPercent(100 * profile.probability)} · cost {formatPercent(cost.cpuPercent)} of the CPU time of the process · {formatNumber(methods.instrumented)} of {formatNumber(methods.chosen)} chosen methods called
        {methods.refused ? `, ${formatNumber(methods.refused)} could not be instrumented` : ''}
        {inFlight ? ` · ${formatNumber(inFlight)} sampled ${inFlight === 1 ? 'request' : 'requests'} had not ended` : ''}
        {notKept ? ` · ${formatNumber(notKept)} sampled requests are not kept` : ''} · {lost.length ? 'some data lost' : 'nothing lost'}
      </p>
      {lost.length ? <Notice kind="trouble">Lost: {lost.join('; ')}.</Notice> : null}
      {profile.notes.map((note) => (
        <Notice key={note}>{note}</Notice>
      ))}
    </>
  );
}

function FindTrace({value, hrefOf}: {value: string; hrefOf: (id: string) => string}) {
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
      <input type="search" class="mono find-trace" aria-label="Trace id" placeholder="trace id or its beginning" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
      <button>Find request</button>
    </form>
  );
}

interface PartProps {
  profile: RequestProfile;
  place: Place;
}

function Routes({profile, place}: PartProps) {
  if (profile.routes.length === 0)
    return <Notice hint="Send requests to the process while it is profiled, or profile for longer.">No request ended while requests were profiled.</Notice>;
  return <RouteTable routes={profile.routes} hrefOf={(route) => hrefFor(place, {route})} />;
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

function OneRoute({profile, route, place}: PartProps & {route: string}) {
  const requests = useMemo(() => requestsOf(profile, route), [profile, route]);
  const flame = useMemo(() => flameOf(requests, route, profile.pid), [requests]);
  const missing = requests.reduce((sum, one) => sum + one.spansLost, 0);
  const isFlame = place.query.get('show') === 'flame';
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
          {formatNumber(totals.count)} requests, {formatNumber(totals.perSecond)} per second: half within {formatMs(totals.p50Ms)}, 95 % within {formatMs(totals.p95Ms)}, 99 % within {formatMs(totals.p99Ms)}. {formatNumber(totals.errors)}{' '}
          failed. {formatNumber(totals.sampled)} sampled, {formatNumber(requests.length)} of them kept: the slowest, the failed and some others.
        </p>
      ) : null}
      {requests.length === 0 ? (
        <Notice hint="Profile for longer, or with a higher sampling rate.">No request of this route was sampled.</Notice>
      ) : (
        <>
          <p class="switch" role="group" aria-label="Show">
            {show('Slowest requests', {show: undefined}, !isFlame)}
            {show('Flame graph', {show: 'flame', weight: 'both'}, isFlame)}
          </p>
          {isFlame ? (
            <FlameView json={flame} summary={`${formatNumber(requests.length)} requests merged, ${formatNumber(flame.samples)} calls of chosen methods. On CPU: a thread executed the method. Waiting: it was suspended and no method that it called explains it.${missing ? ` ${formatNumber(missing)} calls are missing.` : ''}`} />
          ) : (
            <RequestTable requests={requests} caption="Sampled requests, the slowest first" hrefOf={(one) => hrefFor(place, {trace: one.traceId})} />
          )}
        </>
      )}
    </section>
  );
}

function OneTrace({profile, trace, place}: PartProps & {trace: string}) {
  const found = useMemo(() => findTrace(profile, trace), [profile, trace]);
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
        <RequestTable requests={found} caption="Requests whose trace id begins so" hrefOf={(one) => hrefFor(place, {trace: one.traceId})} />
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

function OneRequest({request}: {request: ProfiledRequest}) {
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
      <Waterfall request={request} />
    </section>
  );
}
