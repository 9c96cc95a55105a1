// The chosen line of a waterfall in words and numbers: what the picture shows, as a table.
import {CopyButton} from '../../ui/copy-button';
import {formatMs, formatNumber} from '../../ui/format';
import {Wrapped} from '../../ui/wrapped';
import {type Row, type SampledStack, type Segment, stacksIn} from './profile';
import {tableLabel} from '../flame/labels';
import type {ProfiledRequest} from '../../api/types';

const kShown = 50; // parts
const kStacks = 5;

const outcomes = {returned: 'returned', faulted: 'ended with an exception', cancelled: 'was cancelled', open: 'had not ended when the request was recorded'};

const whatOf = ({kind, waitedFor, thread}: Segment): string => {
  if (kind === 'running') return thread ? `thread ${thread}` : '';
  if (kind === 'queued') return 'a thread of the pool';
  return waitedFor?.length ? waitedFor.join(', ') : 'code outside the chosen methods: I/O, a timer, a lock, the framework';
};

export function SpanDetails({row, request, stacks}: {row: Row; request: ProfiledRequest; stacks?: SampledStack[]}) {
  const {span} = row;
  const {runningMs, waitingMs, queuedMs} = span ?? request;
  return (
    <section class="wf-details" aria-label="Chosen span" data-details={row.id}>
      <h3 class="mono">
        <Wrapped text={row.method} />
      </h3>
      <p>
        {formatMs(row.endMs - row.startMs)} from {formatMs(row.startMs)} on: running {formatMs(runningMs)}, waiting {formatMs(waitingMs)}
        {queuedMs > 0 ? ` (of it queued ${formatMs(queuedMs)})` : ''}.{' '}
        {span ? `${span.async ? 'Async' : 'Synchronous'}; it ${outcomes[span.outcome] ?? span.outcome}.` : ''}{' '}
        {row.endMs > request.durationMs ? `It ended ${formatMs(row.endMs - request.durationMs)} after the request.` : ''}{' '}
        {span ? <CopyButton text={row.method} label="Copy name" /> : null}
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Parts of the span">
        <table>
          <caption>Parts, in order</caption>
          <thead>
            <tr>
              <th scope="col">State</th>
              <th scope="col" class="num">
                From
              </th>
              <th scope="col" class="num">
                Duration
              </th>
              <th scope="col">On or for</th>
            </tr>
          </thead>
          <tbody>
            {row.segments.slice(0, kShown).map((one, i) => (
              <tr key={i}>
                <td>{one.kind}</td>
                <td class="num">{formatMs(one.startMs)}</td>
                <td class="num">{formatMs(one.endMs - one.startMs)}</td>
                <td class="code">
                  <Wrapped text={whatOf(one)} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {row.segments.length > kShown ? <p class="dim">and {formatNumber(row.segments.length - kShown)} more parts</p> : null}
      {stacks ? <HotStacks stacks={stacksIn(stacks, row.id, request.spans)} /> : null}
    </section>
  );
}

// Where CPU samples were taken while the span or what it called ran, the hottest first.
function HotStacks({stacks}: {stacks: SampledStack[]}) {
  const samples = stacks.reduce((sum, one) => sum + one.samples, 0);
  const cpuMs = stacks.reduce((sum, one) => sum + one.cpuMs, 0);
  if (samples === 0) return <p class="dim" data-samples="0">No CPU sample was taken while it ran.</p>;
  return (
    <section aria-label="CPU samples" data-samples={samples}>
      <h4>
        {formatNumber(samples)} CPU {samples === 1 ? 'sample' : 'samples'}, {formatMs(cpuMs)} of CPU time
      </h4>
      {stacks.slice(0, kStacks).map((one, i) => (
        <details key={i} open={i === 0}>
          <summary>
            {formatNumber(one.samples)} in <b>{tableLabel(one.frames[0] ?? '').label || 'unknown code'}</b>
          </summary>
          <ol class="hot-stack code">
            {one.frames.map((frame, at) => (
              <li key={at}>
                <Wrapped text={frame} />
              </li>
            ))}
          </ol>
        </details>
      ))}
      {stacks.length > kStacks ? <p class="dim">and {formatNumber(stacks.length - kStacks)} more stacks: see the flame graph of the route by CPU time.</p> : null}
    </section>
  );
}
