// Counters with their history, and as they come.
import type {Api} from './client';
import type {Counters, CounterValue, StreamEnd, StreamMissed} from './types';
import type {Point} from '../ui/chart';

export interface Series {
  key: string; // of provider, name and tags
  tags: string; // "gc.heap.generation=gen0", or nothing
  points: Point[];
}

export interface Instrument {
  id: string; // provider and name
  provider: string;
  name: string;
  title: string;
  unit: string;
  kind: string;
  series: Map<string, Series>;
}

export const kRuntime = 'System.Runtime';
export const kHistoryMs = 10 * 60_000;
const kKeepMs = kHistoryMs + 60_000;

export function tagsText(tags: Record<string, string>): string {
  return Object.entries(tags)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ');
}

const idOf = ({provider, name}: Pick<CounterValue, 'provider' | 'name'>): string => `${provider}\n${name}`;

function chosenIds(choice: string): Set<string> {
  const parts = [...choice.matchAll(/([^[\],]+)\[([^\]]*)\]/g)];
  return new Set(parts.flatMap(([, provider, names]) => names.split(',').map((name) => idOf({provider, name}))));
}

// What a process told so far, and everything it tells from now on.
export class CounterBook {
  readonly instruments = new Map<string, Instrument>();
  process = '';
  since = '';
  intervalMs = 1000;
  notes: string[] = [];
  ended = ''; // why nothing more comes
  endedAt = '';
  lost = 0; // events, by the runtime
  leftOut = 0; // series or values, by the controller
  missed = 0; // items, by this page
  firstMs = 0;
  latestMs = 0;
  at = 0; // when something came last, ms since 1970 here
  isConnected = false;

  private readonly wanted?: Set<string>; // ids; undefined: all

  // `choice`: only these, "System.Runtime[dotnet.exceptions,dotnet.timer.count],Shop[orders]"; empty: all.
  constructor(readonly pid: number, private readonly choice = '') {
    if (choice) this.wanted = chosenIds(choice);
  }

  // Asks for the values of the last ten minutes, and keeps those that are new.
  async load(api: Api): Promise<void> {
    const choice = this.choice ? `&counters=${encodeURIComponent(this.choice)}` : '';
    const answer = await api.get<Counters>(`counters?pid=${this.pid}&history=${kHistoryMs / 1000}${choice}`);
    this.process = answer.process;
    this.since = answer.since;
    this.intervalMs = answer.intervalMs || 1000;
    this.notes = answer.notes;
    this.ended = answer.live ? '' : answer.ended || 'it no longer sends data';
    this.endedAt = answer.endedAt ?? '';
    this.lost = answer.lost;
    this.leftOut = answer.leftOut;
    this.at = Date.now();
    for (const counter of answer.counters) {
      const series = this.series(counter);
      for (const point of counter.points ?? []) this.put(series, Date.parse(point.time), point.value);
    }
  }

  add(counters: CounterValue[]): void {
    this.at = Date.now();
    for (const counter of counters) {
      if (this.wanted && !this.wanted.has(idOf(counter))) continue;
      this.put(this.series(counter), Date.parse(counter.time), counter.value);
    }
  }

  private put({points}: Series, ms: number, value: number | null): void {
    if (!Number.isFinite(ms) || (points.length && ms <= points[points.length - 1][0])) return; // known already
    points.push([ms, value ?? Number.NaN]);
    let old = 0;
    while (points[old][0] < ms - kKeepMs) ++old;
    if (old) points.splice(0, old);
    this.firstMs = this.firstMs ? Math.min(this.firstMs, ms) : ms;
    this.latestMs = Math.max(this.latestMs, ms);
  }

  // Follows what comes; the browser resumes by itself where it was cut off.
  follow(api: Api, onChange: () => void): () => void {
    const stop = api.live<unknown>(
      `live?pid=${this.pid}&topics=counters`,
      ['counters', 'missed', 'end'],
      (kind, data) => {
        if (kind === 'counters') this.add(data as CounterValue[]);
        else if (kind === 'missed') this.missed += (data as StreamMissed).items;
        else {
          this.ended = (data as StreamEnd).reason || 'the process ended';
          this.endedAt ||= new Date().toISOString();
          stop();
        }
        onChange();
      },
      (isConnected) => {
        this.isConnected = isConnected;
        onChange();
      },
    );
    return stop;
  }

  find(provider: string, ...names: string[]): Instrument | undefined {
    for (const name of names) {
      const found = this.instruments.get(`${provider}\n${name}`);
      if (found) return found;
    }
    return undefined;
  }

  private series(counter: CounterValue): Series {
    const id = idOf(counter);
    let instrument = this.instruments.get(id);
    if (!instrument) {
      const {provider, name, unit, kind} = counter;
      instrument = {id, provider, name, title: counter.display || name, unit: kind === 'rate' ? `${unit}/s` : unit, kind, series: new Map()};
      this.instruments.set(id, instrument);
    }
    const tags = tagsText(counter.tags);
    let series = instrument.series.get(tags);
    if (!series) {
      series = {key: `${id}\n${tags}`, tags, points: []};
      instrument.series.set(tags, series);
    }
    return series;
  }
}

// All series of an instrument added up. Values of one interval belong together though their times differ by some
// milliseconds; a series that told nothing in an interval adds nothing to it.
export function summed(instrument: Instrument | undefined, intervalMs: number, factor = 1): Point[] {
  const all = instrument ? [...instrument.series.values()].map((one) => one.points) : [];
  if (all.length === 1) return factor === 1 ? all[0] : all[0].map(([ms, value]): Point => [ms, value * factor]);
  const points = all.flatMap((list, series) => list.map(([ms, value]) => ({ms, value, series}))).sort((a, b) => a.ms - b.ms);
  const sums: Point[] = [];
  let seen = new Set<number>();
  for (const {ms, value, series} of points) {
    const last = sums[sums.length - 1];
    if (!Number.isFinite(value)) continue;
    if (last && ms - last[0] < intervalMs / 2 && !seen.has(series)) {
      last[1] += value * factor;
      seen.add(series);
    } else {
      sums.push([ms, value * factor]);
      seen = new Set([series]);
    }
  }
  return sums;
}
