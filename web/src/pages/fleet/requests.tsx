// One trace: the waterfall of each of its requests. Without a trace id: where to find one.
import {useMemo} from 'preact/hooks';
import {useAnswer} from '../../api/answer';
import {askFor, everyMs, listedOf, type Range, requestOf} from '../../api/fleet';
import type {FleetRequest, FleetRequests, FleetTrace} from '../../api/fleet-types';
import {addressOf, type Query} from '../../frame/router';
import type {PageProps} from '../../page';
import {Loaded, Notice} from '../../ui/state';
import {Wrapped} from '../../ui/wrapped';
import {TraceView} from '../../views/fleet/trace';
import {traceIdOf} from '../../views/requests/profile';
import {OneRequest} from '../../views/requests/profile-view';
import {RequestTable} from '../../views/requests/tables';
import {SelectionPage, Trail} from './parts';
import {Bands} from './routes';

export function FleetTracePage({values}: PageProps) {
  const answer = useAnswer<FleetTrace>(`fleet/requests/${encodeURIComponent(traceIdOf(values.traceId))}`);
  return (
    <>
      <h1>Request</h1>
      <Loaded answer={answer} waiting="Reading the request …">
        {(trace) => (
          <div class="request-profile">
            {trace.lines?.length ? <TraceView trace={trace} /> : null}
            {trace.requests.map((one, i) => (
              <Stored key={i} request={one} />
            ))}
          </div>
        )}
      </Loaded>
    </>
  );
}

function Stored({request}: {request: FleetRequest}) {
  const shown = useMemo(() => requestOf(request), [request]);
  return (
    <>
      <Trail service={request.service} route={`${request.method} ${request.route || '(no route)'}`} />
      <OneRequest request={shown} stacks={request.sampleCount > 0 ? (request.stacks ?? []) : undefined} />
      <p class="dim">
        Recorded on <Wrapped text={request.host} />, {request.service} {request.version}. Queued time is known per method, not per step.
      </p>
    </>
  );
}

const kListed = 100;

export function FleetRequestsPage() {
  return (
    <SelectionPage titleOf={() => 'Requests'} lead="Type a trace id above to open one request. Or choose a service to see its slowest sampled requests.">
      {({range, selection}) => <Slowest range={range} selection={selection} />}
    </SelectionPage>
  );
}

function Slowest({range, selection}: {range: Range; selection: Query}) {
  const answer = useAnswer<FleetRequests>(askFor('fleet/requests', range, {...selection, limit: kListed}), {everyMs: everyMs(range)});
  return (
    <>
      <Bands selection={selection} />
      <Loaded answer={answer} waiting="Reading the slowest requests …">
        {({requests}) =>
          requests.length ? (
            <RequestTable requests={requests.map(listedOf)} caption="Sampled requests, the slowest first" hrefOf={({traceId}) => addressOf(`/fleet/requests/${traceId}`, range.query)} />
          ) : (
            <Notice hint="Choose a longer range or another band.">No sampled request matches.</Notice>
          )
        }
      </Loaded>
    </>
  );
}
