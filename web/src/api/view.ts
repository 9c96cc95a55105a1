// GET /views/TOPIC of a process, asked for again and again.
import {useRef} from 'preact/hooks';
import {useParam} from '../frame/router';
import {type Answer, useAnswer} from './answer';

// What all views share.
export interface View {
  summary: string;
  since: string;
  live: boolean;
  ended?: string;
  endedAt?: string;
  lost: number;
  leftOut: number;
  from: string;
  durationMs: number;
}

export interface Span {
  from: number; // ms since 1970
  to: number;
}

export const spanOf = (view: View): Span => ({from: Date.parse(view.from), to: Date.parse(view.from) + view.durationMs});

export const kRanges = ['1', '5', '10'];
const kDefaultRange = '10';

// How far back charts and tables reach, in minutes; in the address.
export function useMinutes(fallback = kDefaultRange): [string, (minutes: string) => void] {
  const [minutes, setMinutes] = useParam('minutes', fallback);
  return [kRanges.includes(minutes) ? minutes : fallback, setMinutes];
}

// A long answer costs the controller more: it is asked for less often.
function pauseFor(rows: number): number {
  if (rows < 1000) return 2000;
  return rows < 5000 ? 6000 : 30_000;
}

export function useView<T extends View>(topic: string, pid: number, minutes: string, rows: (view: T) => number = () => 0): Answer<T> {
  const everyMs = useRef(pauseFor(0));
  const seconds = minutes === kDefaultRange ? '' : `&seconds=${Number(minutes) * 60}`;
  const answer = useAnswer<T>(`views/${topic}?pid=${pid}${seconds}`, {everyMs: everyMs.current, isLast: (view) => !view.live});
  if (answer.data) everyMs.current = Math.max(everyMs.current, pauseFor(rows(answer.data)));
  return answer;
}
