// What each of the curated views shows: its timeline and its tables, from the members of /views/TOPIC.
import type {Line, Point} from '../../ui/chart';
import {formatBytes, formatNumber, formatSeconds} from '../../ui/format';

export type Row = Record<string, unknown>;

export interface Column {
  title: string;
  as: 'text' | 'code' | 'number' | 'ms' | 'bytes' | 'percent';
  value: (row: Row) => unknown;
}

export interface Topic {
  id: string;
  unit: string;
  bars: boolean;
  lines: (answer: Row, from: number) => Line[];
  follows?: boolean; // its timeline is made of what /live tells while the page is open (answer.told)
  tables: {title: string; rows: (answer: Row) => Row[]; columns: Column[]}[];
}

export function below(row: Row, path: string): unknown {
  return path.split('.').reduce<unknown>((at, part) => (at as Row | undefined)?.[part], row);
}

const rows = (name: string) => (answer: Row) => (answer[name] as Row[] | undefined) ?? [];
const newest = (name: string) => (answer: Row) => rows(name)(answer).slice().reverse();
const column = (path: string, title: string, as: Column['as'] = 'text'): Column => ({title, as, value: (row) => below(row, path)});

export function cellText(shown: Column, row: Row): string {
  const value = shown.value(row);
  if (value === undefined || value === null) return '';
  if (typeof value !== 'number') return String(value);
  switch (shown.as) {
    case 'ms':
      return formatSeconds(value / 1000);
    case 'bytes':
      return formatBytes(value);
    case 'percent':
      return `${formatNumber(value)} %`;
    default:
      return formatNumber(value);
  }
}

function points(list: Row[], from: number, time: string, value: string): Point[] {
  return list
    .map((row): Point => [from + Number(row[time]), Number(below(row, value))])
    .filter(([ms, height]) => Number.isFinite(ms) && Number.isFinite(height))
    .sort((a, b) => a[0] - b[0]);
}

function livePoints(answer: Row, value: string): Point[] {
  return rows('told')(answer).map((row): Point => [Date.parse(String(row.time)), Number(row[value])]);
}

// How many happened in each second.
function perSecond(times: number[]): Point[] {
  const at = new Map<number, number>();
  for (const ms of times) {
    const second = Math.floor(ms / 1000) * 1000;
    at.set(second, (at.get(second) ?? 0) + 1);
  }
  return [...at].sort((a, b) => a[0] - b[0]);
}

export const topics: Topic[] = [
  {
    id: 'gc',
    unit: 'ms',
    bars: true,
    lines: (answer, from) =>
      [0, 1, 2].map((generation) => ({
        label: `gen ${generation} pause`,
        points: points(
          rows('collections')(answer).filter((one) => one.generation === generation),
          from,
          'startMs',
          'pauseMs',
        ),
      })),
    tables: [
      {
        title: 'Collections, the newest first',
        rows: newest('collections'),
        columns: [
          column('number', 'Number', 'number'),
          column('generation', 'Generation', 'number'),
          column('reason', 'Reason'),
          column('type', 'Type'),
          column('pauseMs', 'Pause', 'ms'),
          column('durationMs', 'Took', 'ms'),
          column('heapAfter.totalBytes', 'Heap after', 'bytes'),
          column('heapAfter.gen0Bytes', 'Gen 0', 'bytes'),
          column('heapAfter.gen1Bytes', 'Gen 1', 'bytes'),
          column('heapAfter.gen2Bytes', 'Gen 2', 'bytes'),
          column('heapAfter.lohBytes', 'Large objects', 'bytes'),
          column('heapAfter.promotedBytes', 'Promoted', 'bytes'),
        ],
      },
    ],
  },
  {
    id: 'jit',
    unit: 'ms',
    bars: true,
    lines: (answer, from) => [{label: 'compile time', points: points(rows('methods')(answer), from, 'startMs', 'jitMs')}],
    tables: [
      {
        title: 'By tier',
        rows: rows('byTier'),
        columns: [column('tier', 'Tier'), column('count', 'Methods', 'number'), column('jitMs', 'Time', 'ms'), column('ilBytes', 'IL', 'bytes'), column('nativeBytes', 'Code', 'bytes')],
      },
      {
        title: 'Methods, the newest first',
        rows: newest('methods'),
        columns: [column('method', 'Method', 'code'), column('tier', 'Tier'), column('jitMs', 'Time', 'ms'), column('ilBytes', 'IL', 'bytes'), column('nativeBytes', 'Code', 'bytes'), column('module', 'Module')],
      },
    ],
  },
  {
    id: 'exceptions',
    unit: '/s',
    bars: true,
    lines: (answer) => [{label: 'thrown per second', points: perSecond(rows('recent')(answer).map((row) => Date.parse(String(row.time))))}],
    tables: [
      {
        title: 'By type',
        rows: rows('byType'),
        columns: [
          column('type', 'Type', 'code'),
          column('count', 'Thrown', 'number'),
          column('ratePerSecond', 'Per second', 'number'),
          column('percent', 'Share', 'percent'),
          column('message', 'Last message'),
          {title: 'Most often in', as: 'code', value: (row) => ((row.sites as Row[] | undefined) ?? [])[0]?.method},
        ],
      },
    ],
  },
  {
    id: 'contention',
    unit: 'ms',
    bars: true,
    lines: (answer) => [{label: 'waited', points: livePoints(answer, 'waitedMs')}],
    follows: true,
    tables: [
      {
        title: 'Where threads waited for locks',
        rows: rows('sites'),
        columns: [
          column('method', 'Method', 'code'),
          column('count', 'Waits', 'number'),
          column('totalMs', 'Total', 'ms'),
          column('longestMs', 'Longest', 'ms'),
          column('unfinished', 'Still waiting', 'number'),
          {title: 'Held by', as: 'text', value: (row) => ((row.owners as Row[] | undefined) ?? []).slice(0, 3).map((one) => `thread ${String(one.threadId)}`).join(', ')},
        ],
      },
    ],
  },
  {
    id: 'threadpool',
    unit: '',
    bars: false,
    lines: (answer, from) => [{label: 'worker threads', points: points(rows('workers')(answer), from, 'timeMs', 'active')}],
    tables: [
      {
        title: 'Changes, the newest first',
        rows: newest('adjustments'),
        columns: [column('timeMs', 'After', 'ms'), column('threads', 'Threads', 'number'), column('reason', 'Reason'), column('throughputPerSecond', 'Work items/s', 'number')],
      },
    ],
  },
];
