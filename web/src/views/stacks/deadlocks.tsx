// Deadlocks: who waits for which lock, held by whom, and where in the program.
import type {ComponentChildren} from 'preact';
import {placeOf, shortMethod} from '../../ui/frames';
import {Wrapped} from '../../ui/wrapped';
import {SeverityMark} from '../doctor/findings';
import {countBehind, type StacksData} from './threads';
import {ThreadLink, WaitWords} from './words';

export function Deadlocks({data, actions}: {data: StacksData; actions?: ComponentChildren}) {
  return (
    <>
      {data.cycles.map((cycle) => (
        <Deadlock key={cycle.join(' ')} data={data} cycle={cycle} actions={actions} />
      ))}
    </>
  );
}

function Deadlock({data, cycle, actions}: {data: StacksData; cycle: number[]; actions?: ComponentChildren}) {
  const behind = countBehind(data, cycle);
  return (
    <section class="card error deadlock">
      <h2>
        <SeverityMark severity="error" /> Deadlock: {cycle.length === 1 ? 'a thread waits for itself' : `${cycle.length} threads are waiting for each other`}
      </h2>
      <ul>
        {cycle.map((osId) => {
          const thread = data.threads.find((one) => one.osId === osId);
          const frame = thread?.frames.find((one) => one.kind === 'managed');
          return (
            <li key={osId}>
              <ThreadLink osId={osId} /> is {thread?.waitingFor ? <WaitWords wait={thread.waitingFor} /> : 'waiting'}
              {frame ? (
                <div class="where mono" title={frame.method}>
                  <Wrapped text={shortMethod(frame.method)} /> <span class="dim">{placeOf(frame) || frame.module}</span>
                </div>
              ) : null}
            </li>
          );
        })}
      </ul>
      {behind ? <p>{behind === 1 ? '1 more thread waits' : `${behind} more threads wait`} behind them.</p> : null}
      {actions}
    </section>
  );
}
