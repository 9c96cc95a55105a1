// The status strip: whether the controller answers, what it has open in the process, what was lost, what it costs.
import {useRef} from 'preact/hooks';
import type {Status} from '../api/types';
import {clockTime, formatBytes, formatNumber} from '../ui/format';
import {setPaused, usePaused} from './pause';
import {useStatus} from './processes';
import {usePlace} from './router';

interface Reading {
  status: Status;
  at: number;
}

// CPU of the controller and events per second, between two readings.
function rates(before: Reading | undefined, now: Reading): {cpu?: number; events?: number} {
  const ms = before ? now.at - before.at : 0;
  if (!before || ms <= 0) return {};
  const events = now.status.live && before.status.live ? now.status.live.events - before.status.live.events : undefined;
  return {cpu: ((now.status.cpuMs - before.status.cpuMs) / ms) * 100, events: events === undefined || events < 0 ? undefined : (events / ms) * 1000};
}

export function Strip() {
  const {data: status, problem, at} = useStatus();
  const paused = usePaused();
  const place = usePlace();
  const readings = useRef<{before?: Reading; now?: Reading}>({});
  if (status && readings.current.now?.at !== at) readings.current = {before: readings.current.now, now: {status, at}};
  const {cpu, events} = readings.current.now ? rates(readings.current.before, readings.current.now) : {};
  const live = status?.live;
  return (
    <footer class="strip">
      <span class={problem ? 'warn' : ''} role="status" data-connected={problem ? 'no' : 'yes'}>
        {problem ? `not connected since ${clockTime(at || Date.now())}` : status ? 'connected' : 'connecting …'}
      </span>
      {live ? (
        <>
          <span>
            {live.sessions === 1 ? '1 session' : `${live.sessions} sessions`} in the process{events === undefined ? '' : `, ${formatNumber(Math.round(events))} events/s`}
          </span>
          <span class={live.lost ? 'warn' : ''}>lost {formatNumber(live.lost)}</span>
        </>
      ) : place.query.has('pid') ? (
        <span>no session in the process</span>
      ) : null}
      {status ? (
        <span>
          clrscope: {formatBytes(status.rssBytes)}
          {cpu === undefined ? '' : `, ${cpu.toFixed(1)} % CPU`}
        </span>
      ) : null}
      <button type="button" data-pause aria-pressed={paused > 0} onClick={() => setPaused(!paused)}>
        {paused ? `paused at ${clockTime(paused)}: resume` : 'pause'}
      </button>
    </footer>
  );
}
