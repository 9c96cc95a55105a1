// Requests in flight, the oldest first: one line each, unfolding to its ids and its stack.
import type {ComponentChildren} from 'preact';
import type {RequestInFlight, RequestsInFlight} from '../../api/types';
import {Fold, type OpenSet} from '../../ui/fold';
import {formatMs, formatNumber} from '../../ui/format';
import {Frames} from '../../ui/frames';
import {Time} from '../../ui/time';
import {Wrapped} from '../../ui/wrapped';
import {AsyncFrames} from '../stacks/async';

const kShown = 200; // requests

const ageOf = (request: RequestInFlight): string => (request.ageMs === null ? 'age unknown' : formatMs(request.ageMs));

function stateOf(request: RequestInFlight): string {
  if (request.threadOsId) return `running on thread ${request.threadOsId}`;
  return request.wait?.text ?? 'no stack was found';
}

function matches(request: RequestInFlight, filter: string): boolean {
  const methods = [...request.frames, ...(request.threadFrames ?? [])].map((frame) => frame.method).join(' ');
  const text = `${request.method} ${request.path} ${request.route} ${request.endpoint} ${request.traceId} ${request.requestId} ${stateOf(request)} ${methods}`.toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

function Lead({data}: {data: RequestsInFlight}) {
  const oldest = data.requests[0];
  if (oldest) {
    return (
      <p class="lead">
        {formatNumber(data.inFlight)} {data.inFlight === 1 ? 'request' : 'requests'} in flight
        {oldest.ageMs === null ? '' : `; the oldest began ${formatMs(oldest.ageMs)} ago`}.
      </p>
    );
  }
  const contexts = data.contexts === 1 ? 'The HttpContext in its heap is not in use.' : `None of the ${formatNumber(data.contexts)} HttpContexts in its heap is in use.`;
  return <p class="lead">No request is in flight. {data.contexts ? contexts : ''}</p>;
}

export function RequestsView({data, filter, open}: {data: RequestsInFlight; filter: string; open: OpenSet}) {
  const shown = data.requests.filter((one) => matches(one, filter));
  return (
    <div data-requests={data.inFlight}>
      <Lead data={data} />
      <p class="dim">
        {data.runtime ? `.NET ${data.runtime} · ` : ''}paused for {formatMs(data.pauseMs)} · taken in {formatMs(data.durationMs)}
        {filter ? ` · ${formatNumber(shown.length)} of ${formatNumber(data.requests.length)} match` : ''}
      </p>
      {shown.slice(0, kShown).map((request) => (
        <Request key={request.requestId || request.context} request={request} open={open} />
      ))}
      {shown.length > kShown ? <p class="dim">and {formatNumber(shown.length - kShown)} more requests</p> : null}
      {data.notes.map((note) => (
        <p class="dim" key={note}>
          {note}
        </p>
      ))}
    </div>
  );
}

function Request({request, open}: {request: RequestInFlight; open: OpenSet}) {
  return (
    <Fold
      id={request.requestId || request.context}
      open={open}
      class="request"
      summary={
        <>
          <b class="request-age">{ageOf(request)}</b> <b>{request.method || '?'}</b> <Wrapped text={request.path || '?'} /> <span class="dim">{stateOf(request)}</span>
        </>
      }
    >
      <dl class="request-facts">
        <Fact name="Endpoint">{request.endpoint}</Fact>
        <Fact name="Route">{request.route}</Fact>
        <Fact name="Trace id">{request.traceId}</Fact>
        <Fact name="Request id">{request.requestId}</Fact>
        <Fact name="Protocol">{[request.protocol, request.upgraded ? 'upgraded' : ''].filter(Boolean).join(', ')}</Fact>
        <Fact name="Began">{request.startTime ? <Time iso={request.startTime} /> : ''}</Fact>
      </dl>
      {request.stacks > 1 ? <p class="dim">It awaits several tasks: this is the deepest of {formatNumber(request.stacks)} async stacks.</p> : null}
      {request.threadFrames ? <Frames frames={request.threadFrames} /> : null}
      <AsyncFrames frames={request.threadFrames ? request.frames.slice(1) : request.frames} />
    </Fold>
  );
}

function Fact({name, children}: {name: string; children: ComponentChildren}) {
  if (!children) return null;
  return (
    <>
      <dt>{name}</dt>
      <dd class="mono">{children}</dd>
    </>
  );
}
