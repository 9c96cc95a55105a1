// A recording that runs, and one that has ended.
import type {Session} from '../../api/types';
import {addressOf} from '../../frame/router';
import {formatBytes, formatNumber, formatSeconds} from '../../ui/format';
import {StopBar} from '../../ui/stop-bar';
import {Time} from '../../ui/time';

interface RunningProps {
  session: Session;
  isBusy: boolean;
  onStop: () => void;
  onDiscard: () => void;
}

function stateText(state: string): string {
  if (state === 'recording') return 'Recording';
  return state === 'stopping' ? 'Collecting method names' : 'Starting';
}

export function Running({session, isBusy, onStop, onDiscard}: RunningProps) {
  const elapsed = session.durationMs / 1000;
  const seconds = (session.plannedMs ?? 0) / 1000;
  const rate = elapsed > 0 ? session.events / elapsed : 0;
  const isStopping = session.state === 'stopping';
  return (
    <section class="card running" data-recording={session.state} data-session={session.id}>
      <h2>
        {stateText(session.state)} {session.process.pid ? session.process.name : 'the whole machine'}
        {session.profile ? <span class="dim"> {session.profile}</span> : null}
      </h2>
      <progress max={seconds || undefined} value={isStopping || !seconds ? undefined : Math.min(elapsed, seconds)} aria-label="Recorded so far" />
      <dl class="facts" aria-live="off">
        <div>
          <dt>time</dt>
          <dd>
            {formatSeconds(elapsed)}
            {seconds ? ` of ${formatSeconds(seconds)}` : ''}
          </dd>
        </div>
        <div>
          <dt>samples</dt>
          <dd>{formatNumber(session.samples)}</dd>
        </div>
        <div>
          <dt>events</dt>
          <dd>
            {formatNumber(session.events)}, {formatNumber(Math.round(rate))}/s
          </dd>
        </div>
        <div>
          <dt>size</dt>
          <dd>{formatBytes(session.bytes)}</dd>
        </div>
        <div>
          <dt>lost</dt>
          <dd class={session.lost ? 'warn' : ''}>{formatNumber(session.lost)}</dd>
        </div>
      </dl>
      <StopBar isBusy={isBusy} isOver={isStopping} onStop={onStop} onDiscard={onDiscard}>
        started <Time iso={session.started} short />
        {session.by ? ` by ${session.by}` : ''}; it goes on when you leave this page
      </StopBar>
    </section>
  );
}

export function Ended({session, pid}: {session: Session; pid: number}) {
  const links = {pid: pid || undefined, recording: session.id};
  return (
    <section class="card" data-result={session.id}>
      <h2>{session.state === 'lost' ? 'The recording was cut: server stopped' : 'Recorded'}</h2>
      <p>
        <b>{session.name || session.file}</b> · {formatSeconds(session.durationMs / 1000)} · {formatNumber(session.samples)} samples · {formatNumber(session.events)} events · {formatBytes(session.bytes)} ·{' '}
        <span class={session.lost ? 'warn' : ''}>lost {formatNumber(session.lost)}</span>
      </p>
      {session.ending ? <p class="dim">Ended: {session.ending}</p> : null}
      {session.notes.map((note, i) => (
        <p key={i} class="dim">
          {note}
        </p>
      ))}
      <p class="bar">
        <a class={session.samples > 0 ? 'button main' : 'button'} href={addressOf('/flame', links)}>
          Flame graph
        </a>
        <a class="button" href={addressOf('/recordings', links)}>
          Formats and reports
        </a>
      </p>
    </section>
  );
}
