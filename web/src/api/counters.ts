// Counters with their history, and as they come.
import type {Api} from './client';
import type {Point} from '../ui/chart';

export interface Counter {
  provider: string;
  name: string;
  display?: string;
  unit: string;
  kind: string;
  tags: Record<string, string>;
  value: number;
  time?: string;
  points?: {time: string; value: number}[];
}

interface CountersAnswer {
  pid: number;
  process: string;
  live: boolean;
  ended?: string;
  lost: number;
  leftOut: number;
  intervalMs: number;
  counters: Counter[];
}

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

const kKeepMs = 11 * 60_000;

export function tagsText(tags: Record<string, string>): string {
  return Object.entries(tags)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ');
}

// What a process told so far, and everything it tells from now on.
export class CounterBook {
  readonly instruments = new Map<string, Instrument>();
  process = '';
  intervalMs = 1000;
  ended = '';
  lost = 0;
  firstMs = 0;
  latestMs = 0;
  isConnected = false;
  missed = 0;

  constructor(readonly pid: number) {}

  async load(api: Api): Promise<void> {
    const answer = await api.get<CountersAnswer>(`counters?pid=${this.pid}&history=600`);
    this.process = answer.process;
    this.intervalMs = answer.intervalMs || 1000;
    this.ended = answer.ended ?? '';
    this.lost = answer.lost;
    for (const counter of answer.counters) {
      const series = this.series(counter);
      series.points = (counter.points ?? []).map((point): Point => [Date.parse(point.time), point.value]);
      const last = series.points[series.points.length - 1];
      if (last) this.note(series.points[0][0], last[0]);
    }
  }

  add(counters: Counter[]): void {
    for (const counter of counters) {
      const ms = Date.parse(counter.time ?? '');
      if (!Number.isFinite(ms)) continue;
      const points = this.series(counter).points;
      if (points.length && ms <= points[points.length - 1][0]) continue; // told in the history already
      points.push([ms, counter.value]);
      while (points.length && points[0][0] < ms - kKeepMs) points.shift();
      this.note(ms, ms);
    }
  }

  private note(first: number, last: number): void {
    this.firstMs = this.firstMs ? Math.min(this.firstMs, first) : first;
    this.latestMs = Math.max(this.latestMs, last);
  }

  // Follows what comes; the browser resumes by itself where it was cut off.
  follow(api: Api, onChange: () => void): () => void {
    return api.live<unknown>(
      `live?pid=${this.pid}&topics=counters`,
      ['counters', 'missed', 'end'],
      (kind, data) => {
        if (kind === 'counters') this.add(data as Counter[]);
        else if (kind === 'missed') this.missed += (data as {items?: number}).items ?? 1;
        else this.ended = (data as {reason?: string}).reason ?? 'the process ended';
        onChange();
      },
      (isConnected) => {
        this.isConnected = isConnected;
        onChange();
      },
    );
  }

  find(provider: string, ...names: string[]): Instrument | undefined {
    for (const name of names) {
      const found = this.instruments.get(`${provider}\n${name}`);
      if (found) return found;
    }
    return undefined;
  }

  private series(counter: Counter): Series {
    const id = `${counter.provider}\n${counter.name}`;
    let instrument = this.instruments.get(id);
    if (!instrument) {
      const {provider, name, unit, kind} = counter;
      instrument = {id, provider, name, title: counter.display || name, unit: kind === 'rate' && unit ? `${unit}/s` : unit, kind, series: new Map()};
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
