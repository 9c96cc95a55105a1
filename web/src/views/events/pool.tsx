// The thread pool: workers over time, the queue, throughput, and why the number of workers changed.
import type {PoolAdjustment, ThreadPoolView} from '../../api/types';
import type {Span} from '../../api/view';
import type {Line, Point} from '../../ui/chart';
import {formatMs, formatNumber} from '../../ui/format';
import {keysOf} from '../../ui/short-id';
import {type Column, Table} from '../../ui/table';
import {Clock} from '../../ui/time';
import {Facts, Timeline} from './frame';
import {counted, poolReason} from './words';

// By the runtime's counters.
export interface PoolCounters {
  threads: Point[];
  queue: Point[];
  completed: Point[]; // per second
  intervalMs: number;
}

interface Change extends PoolAdjustment {
  key: string;
}

function columns(from: number): Column<Change>[] {
  return [
    {id: 'time', title: 'Time', value: (one) => one.atMs, as: 'number', show: (one) => <Clock ms={from + one.atMs} />},
    {id: 'threads', title: 'Workers wanted', value: (one) => one.threads, as: 'number', show: (one) => formatNumber(one.threads)},
    {
      id: 'reason',
      title: 'Reason',
      value: (one) => one.reason,
      show: (one) => (
        <>
          {one.reason} <span class="dim">{poolReason(one.reason)}</span>
        </>
      ),
    },
    {id: 'rate', title: 'Work items per second before', value: (one) => one.throughputPerSecond, as: 'number', show: (one) => formatNumber(one.throughputPerSecond ?? 0)},
  ];
}

interface Reason {
  reason: string;
  count: number;
}

const kReasonColumns: Column<Reason>[] = [
  {id: 'count', title: 'Changes', value: (one) => one.count, as: 'number', show: (one) => formatNumber(one.count)},
  {id: 'reason', title: 'Reason', value: (one) => one.reason},
  {id: 'meaning', title: 'Meaning', value: (one) => poolReason(one.reason)},
];

function reasonsOf(changes: PoolAdjustment[]): Reason[] {
  const counts = new Map<string, number>();
  for (const {reason} of changes) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts].map(([reason, count]) => ({reason, count})).sort((a, b) => b.count - a.count);
}

const latest = (points: Point[]): number | undefined => points[points.length - 1]?.[1];

// What is wrong with the pool, if anything: "2,000 work items wait in the queue and none was completed in the last second."
export function poolHarm(view: ThreadPoolView, counters: PoolCounters): string {
  const [queue, completed] = [latest(counters.queue) ?? view.queueLength, latest(counters.completed)];
  const words = [];
  if (queue) words.push(`${counted(queue, 'work item')} ${queue === 1 ? 'waits' : 'wait'} in the queue${completed === 0 ? ' and none was completed in the last second' : ''}.`);
  if (view.starvations) words.push(`${counted(view.starvations, 'worker')} added because queued work did not move: the pool starves.`);
  if (view.blockings) words.push(`${counted(view.blockings, 'worker')} added because pool threads block on tasks (sync over async).`);
  return words.join(' ');
}

export function PoolWork({view, span, counters}: {view: ThreadPoolView; span: Span; counters: PoolCounters}) {
  const queue = latest(counters.queue) ?? view.queueLength ?? undefined;
  const completed = latest(counters.completed);
  const threads = latest(counters.threads);
  const keys = keysOf(view.adjustments, (one) => `${one.threads} ${one.reason} ${one.throughputPerSecond}`);
  const changes = view.adjustments.map((one, index): Change => ({...one, key: keys[index]}));
  const held = (points: Point[]): Point[] => (points.length ? [...points, [span.to, points[points.length - 1][1]]] : []); // the last holds until now
  const workers: Line[] = [
    {label: 'pool threads', points: held(counters.threads)},
    {label: 'workers that work', points: held(view.workers.map((one): Point => [span.from + one.atMs, one.active]))},
    {label: 'workers wanted', points: held(changes.map((one): Point => [span.from + one.atMs, one.threads]))},
  ].filter((line) => line.points.length);
  return (
    <>
      <p data-quiet>{poolHarm(view, counters) ? view.summary : 'Nothing waits in the queue, and no worker was added because work did not move.'}</p>
      <Facts
        facts={[
          {id: 'threads', title: 'Pool threads', value: threads === undefined ? 'not known' : formatNumber(threads), note: view.limits ? `allowed: ${formatNumber(view.limits.minWorkers)} to ${formatNumber(view.limits.maxWorkers)}` : undefined},
          {id: 'workers', title: 'Most that worked', value: view.workers.length ? formatNumber(view.mostWorkers) : '–', note: view.lastWorkers === undefined ? 'no change in this time' : `${formatNumber(view.lastWorkers)} at the end`},
          {id: 'queue', title: 'Queue', value: queue === undefined ? 'not known' : formatNumber(queue), note: view.queue ? `longest wait ${formatMs(view.queue.longestWaitMs)}` : 'work items that wait', tone: queue ? 'warn' : ''},
          {id: 'completed', title: 'Completed per second', value: completed === undefined ? 'not known' : formatNumber(completed)},
          {id: 'added', title: 'Added in need', value: formatNumber(view.starvations + view.blockings), note: 'for starvation or blocked workers', tone: view.starvations + view.blockings ? 'warn' : ''},
        ]}
      />
      <Timeline id="workers" title="Workers" lines={workers} {...span} unit="{thread}" shape="steps" intervalMs={Infinity} syncKey="pool" />
      <div class="columns">
        <Timeline id="queue" title="Queue" lines={[{label: '', points: counters.queue}]} {...span} unit="{work item}" shape="line" intervalMs={counters.intervalMs} syncKey="pool" height={110} />
        <Timeline id="completed" title="Work items completed per second" lines={[{label: '', points: counters.completed}]} {...span} unit="{work item}/s" shape="line" intervalMs={counters.intervalMs} syncKey="pool" height={110} />
      </div>
      <h2>Changes of the number of workers</h2>
      {changes.length ? (
        <>
          <Table id="reason" caption="Why it changed" rows={reasonsOf(changes)} rowKey={(one) => one.reason} columns={kReasonColumns} />
          <Table id="pool" caption={`${counted(changes.length, 'change')}, the newest first`} rows={[...changes].reverse()} rowKey={(one) => one.key} columns={columns(span.from)} />
        </>
      ) : (
        <p class="dim">The runtime did not change it in this time.</p>
      )}
    </>
  );
}
