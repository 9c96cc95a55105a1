// The states that every view has: waiting for data, not permitted, failed, live, paused, old because the target or the
// server is gone. Old data stay on the page, marked with their age.
import type {ComponentChildren} from 'preact';
import {useEffect, useState} from 'preact/hooks';
import type {Answer} from '../api/answer';
import type {Problem} from '../api/client';
import {usePaused} from '../frame/pause';
import {serverName} from '../server';
import {formatAge} from './format';
import {Hint} from './hint';
import {Clock} from './time';

// The current time, renewed every second: for ages.
export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

export function Notice({children, kind = 'note', hint}: {children: ComponentChildren; kind?: 'note' | 'trouble'; hint?: ComponentChildren}) {
  return (
    <div class={kind} role={kind === 'trouble' ? 'alert' : 'status'}>
      <p>{children}</p>
      {hint ? <p class="hint">{hint}</p> : null}
    </div>
  );
}

function meaning(problem: Problem): string {
  switch (problem.status) {
    case 0:
      return `The ${serverName()} cannot be reached.`;
    case 401:
      return 'You are signed out.';
    case 403:
      return `Not permitted: ${problem.message}`;
    default:
      return problem.message;
  }
}

export function Trouble({problem}: {problem: Problem}) {
  const hint = problem.status === 401 ? <a href={location.href} data-outside>Sign in</a> : problem.hint && <Hint text={problem.hint} />;
  return (
    <Notice kind="trouble" hint={hint}>
      {meaning(problem)}
    </Notice>
  );
}

// "updated 12:03:11, 4 s ago", or "paused".
export function Age({at}: {at: number}) {
  const now = useNow();
  const paused = usePaused();
  if (!at) return null;
  return (
    <span class="dim age">
      {paused ? 'paused · ' : ''}updated <Clock ms={at} />, {formatAge(now - at)} ago
    </span>
  );
}

interface LoadedProps<T> {
  answer: Answer<T>;
  children: (data: T) => ComponentChildren;
  waiting?: ComponentChildren; // while there is no data yet
}

// The data of an answer, or what stands in the way.
export function Loaded<T>({answer, children, waiting = 'Waiting for the first data …'}: LoadedProps<T>) {
  const {data, problem, at} = answer;
  if (data === undefined) {
    if (problem) return <Trouble problem={problem} />;
    return <p role="status">{waiting}</p>;
  }
  return (
    <>
      {problem ? <OldData at={at} problem={problem} /> : null}
      {children(data)}
    </>
  );
}

// A failure beside data that are kept.
export function OldData({at, problem}: {at: number; problem: Problem}) {
  const now = useNow();
  return (
    <Notice kind="trouble" hint={problem.hint && <Hint text={problem.hint} />}>
      {meaning(problem)} Showing data from <Clock ms={at} />, {formatAge(now - at)} ago.
    </Notice>
  );
}

// The target has exited: what is known stays.
export function Ended({at, reason}: {at?: string; reason?: string}) {
  return (
    <Notice kind="trouble">
      The process has exited{at ? <> at <Clock ms={Date.parse(at)} /></> : null}
      {reason ? ` (${reason})` : ''}. The last data are kept.
    </Notice>
  );
}

// Events that are missing, where and how many.
export function Lost({lost, leftOut = 0}: {lost: number; leftOut?: number}) {
  if (!lost && !leftOut) return null;
  const words = [lost ? `${lost.toLocaleString('en-US')} events were lost by the runtime` : '', leftOut ? `${leftOut.toLocaleString('en-US')} were left out by the controller` : ''];
  return <Notice kind="trouble">{words.filter(Boolean).join('; ')}: the numbers below are too small by that.</Notice>;
}
