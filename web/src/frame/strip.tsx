// The status strip: whether the controller answers, what it has open in the process, what was lost, what it costs.
import {useRef} from 'preact/hooks';
import type {Status, StatusLive} from '../api/types';
import {clockTime, formatBytes, formatNumber, localZone} from '../ui/format';
import {setPaused, usePaused} from './pause';
import {useStatus} from './processes';
import {usePlace} from './router';

interface Reading {
  status: Status;
  at: number;
}

// Between two readings: CPU of the controller, events per second, CPU of the threads of the process that send events.
function rates(before: Reading | undefined, now: Reading): {cpu?: number; events?: number; cost?: number} {
  const ms = before ? now.at - before.at : 0;
  if (!before || ms <= 0) return {};
  const events = now.status.live && before.status.live ? now.status.live.events - before.status.live.events : undefined;
  const spent = (now.status.live?.appCpuMs ?? NaN) - (before.status.live?.appCpuMs ?? NaN);
  return {cpu: ((now.status.cpuMs - before.status.cpuMs) / ms) * 100, events: events === undefined || events < 0 ? undefined : (events / ms) * 1000, cost: spent >= 0 ? (spent / ms) * 100 : undefined};
}

const kCost = 'CPU of the threads of the runtime that send its events, measured: to clrscope and to other tools. What the threads of the app spend on writing events is not measured.';

// What the sessions cost the process, as far as it is measured.
function Cost({live, percent}: {live: StatusLive; percent?: number}) {
  const unknown = live.appCpuUnknown ?? (percent === undefined ? 'two measurements are needed' : '');
  return (
    <span data-cost title={unknown ? `Unknown: ${unknown}.` : kCost}>
      cost to the app: {unknown || percent === undefined ? 'unknown' : `at least ${percent.toFixed(1)} % CPU`}
    </span>
  );
}

export function Strip() {
  const {data: status, problem, at} = useStatus();
  const paused = usePaused();
  const place = usePlace();
  const readings = useRef<{before?: Reading; now?: Reading}>({});
  if (status && readings.current.now?.at !== at) readings.current = {before: readings.current.now, now: {status, at}};
  const {cpu, events, cost} = readings.current.now ? rates(readings.current.before, readings.current.now) : {};
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
          <Cost live={live} percent={cost} />
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
      <span data-zone>times in {localZone()}</span>
      <button type="button" data-pause aria-pressed={paused > 0} onClick={() => setPaused(!paused)}>
        {paused ? `paused at ${clockTime(paused)}: resume` : 'pause'}
      </button>
    </footer>
  );
}
