// The flame graph of a recording, perhaps compared with another. Also the single HTML file of `clrscope flame`.
import type {Flame as FlameAnswer, Recording} from '../api/types';
import {useAnswer, useApi} from '../api/answer';
import {formatAddress, speedscopeAddress} from '../api/recordings';
import {addressOf, setQuery, usePlace} from '../frame/router';
import type {PageProps} from '../page';
import {Loaded, Notice} from '../ui/state';
import {formatNumber, localTime} from '../ui/format';
import {FlameView} from '../views/flame/view';

const routeQuery = (route: string, before: string) => (route ? `${before}route=${encodeURIComponent(route)}` : '');
const dataPath = (id: string, route = '') => (id ? `flame?recording=${encodeURIComponent(id)}${routeQuery(route, '&')}` : undefined);
const titleOf = (one: Recording) => one.name || one.file;

export function Flame({pid}: PageProps) {
  const {query} = usePlace();
  const id = query.get('recording') ?? '';
  if (!id)
    return (
      <>
        <h1>Flame graph</h1>
        <Notice hint="Record a process for some seconds, or choose a recording.">Of which recording?</Notice>
        <p class="bar">
          <a class="button main" href={addressOf('/record', {pid: pid || undefined})}>
            Record
          </a>
          <a class="button" href={addressOf('/recordings', {pid: pid || undefined})}>
            Recordings
          </a>
        </p>
      </>
    );
  const route = query.get('route') ?? '';
  return <OneFlame key={`${id} ${route}`} id={id} route={route} pid={pid} other={route ? '' : (query.get('compare') ?? '')} />;
}

// What the graph of a route covers, and what it does not.
function routeSummary(data: FlameAnswer): string | undefined {
  const {route} = data;
  if (!route) return undefined;
  return `CPU samples of ${formatNumber(route.sampled)} sampled requests (of ${formatNumber(route.requests)}): ${formatNumber(route.samples)}. Not in the graph: ${formatNumber(route.otherRoutes)} in requests of other routes, ${formatNumber(route.outside)} in no sampled request.${data.lost ? ` ${formatNumber(data.lost)} events were lost.` : ''}`;
}

function OneFlame({id, route, pid, other}: {id: string; route: string; pid: number; other: string}) {
  const api = useApi();
  const now = useAnswer<FlameAnswer>(dataPath(id, route));
  const recordings = useAnswer<Recording[]>('recordings');
  const recording = recordings.data?.find((one) => one.id === id);
  const process = pid || recording?.process.pid || now.data?.processes[0]?.pid;
  const recordAddress = (profile: string) => addressOf('/record', {pid: process, profile});
  return (
    <>
      <h1>Flame graph{route ? ` of the CPU time of ${route}` : recording?.name ? ` of ${recording.name}` : now.data ? ` of ${now.data.title}` : ''}</h1>
      <div class="bar flame-links">
        {recording ? <a href={speedscopeAddress(api, recording)}>Open in speedscope</a> : null}
        <a href={api.address(`recordings/${encodeURIComponent(id)}/flame.html${routeQuery(route, '?')}`)} download data-outside>
          Save as one HTML file
        </a>
        {recording ? (
          <a href={formatAddress(api, recording, 'nettrace')} download data-outside>
            Save the trace
          </a>
        ) : null}
        <a href={addressOf('/recordings', {recording: id, pid: pid || undefined})}>Formats and reports</a>
        {route ? <a href={addressOf(`/recordings/${encodeURIComponent(id)}/requests`, {route})}>Requests of the route</a> : <CompareWith id={id} other={other} recording={recording} all={recordings.data ?? []} />}
      </div>
      <Loaded answer={now} waiting="Reading the recording …">
        {(data) => (other ? <Compared key={other} data={data} other={other} recordAddress={recordAddress} /> : <FlameView json={data} summary={routeSummary(data)} recordAddress={recordAddress} />)}
      </Loaded>
    </>
  );
}

function Compared({data, other, recordAddress}: {data: FlameAnswer; other: string; recordAddress: (profile: string) => string}) {
  const before = useAnswer<FlameAnswer>(dataPath(other));
  return (
    <>
      {before.data ? null : (
        <Loaded answer={before} waiting="Reading the other recording …">
          {() => null}
        </Loaded>
      )}
      <FlameView json={data} other={before.data} recordAddress={recordAddress} />
    </>
  );
}

// Recordings of the same program come first.
function CompareWith({id, other, recording, all}: {id: string; other: string; recording?: Recording; all: Recording[]}) {
  const isSame = (one: Recording) => one.process.name === recording?.process.name;
  const choices = all.filter((one) => one.id !== id && one.state === 'finished').sort((a, b) => Number(isSame(b)) - Number(isSame(a)) || b.started.localeCompare(a.started));
  if (choices.length === 0 && !other) return null;
  return (
    <span class="flame-compare">
      <label>
        Compare with{' '}
        <select title="An earlier recording: what has grown since is orange, what has shrunk is blue" value={other} onChange={(event) => setQuery({compare: event.currentTarget.value || undefined, thread: undefined, process: undefined}, 'push')}>
          <option value="">nothing</option>
          {other && !choices.some((one) => one.id === other) ? <option value={other}>{other}</option> : null}
          {choices.map((one) => (
            <option key={one.id} value={one.id}>
              {titleOf(one)} · {localTime(Date.parse(one.started))}
            </option>
          ))}
        </select>
      </label>
      {other ? (
        <button type="button" title="The other recording becomes the one that is shown" onClick={() => setQuery({recording: other, compare: id}, 'push')}>
          Swap
        </button>
      ) : null}
    </span>
  );
}

export function FlameSingle({data}: {data: FlameAnswer}) {
  return (
    <>
      <header class="single-top">
        <h1>{data.title} · flame graph</h1>
        <button type="button" data-theme-switch>
          theme
        </button>
      </header>
      <main class="flame-main">
        <FlameView json={data} summary={routeSummary(data)} />
      </main>
    </>
  );
}
