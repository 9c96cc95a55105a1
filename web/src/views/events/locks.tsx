// Locks: who waits for one right now, and all waits of the span, ended or not, with the places that waited.
import type {ContentionView, Lock, LockSite, MonitorStacks, Thread} from '../../api/types';
import type {Span} from '../../api/view';
import type {Line} from '../../ui/chart';
import {formatMs, formatNumber} from '../../ui/format';
import {placeOf, shortMethod} from '../../ui/frames';
import {type Column, Table} from '../../ui/table';
import {Wrapped} from '../../ui/wrapped';
import {Facts, Timeline} from './frame';
import {counted} from './words';

export type Held = Pick<MonitorStacks, 'threads' | 'locks' | 'cycles' | 'locksUnread' | 'notes'>;

// Kinds that one thread holds and another one waits for.
const kLockKinds = new Set(['Monitor', 'Lock', 'ReaderWriterLockSlim', 'SemaphoreSlim']);

export const waitedFor = (held: Held): Lock[] => held.locks.filter((lock) => kLockKinds.has(lock.kind) && lock.waiters.length > 0);

export const waitersOf = (held: Held): number => new Set(waitedFor(held).flatMap((lock) => lock.waiters)).size;

function threadName(threads: Thread[], osId: number): string {
  const name = threads.find((one) => one.osId === osId)?.name;
  return name ? `${name} (${osId})` : `thread ${osId}`;
}

// The innermost frame that is not the lock's own code.
function whereOf(threads: Thread[], osId: number) {
  const frames = threads.find((one) => one.osId === osId)?.frames ?? [];
  return frames.find((frame) => frame.kind === 'managed') ?? frames.find((frame) => frame.method && frame.kind === 'framework');
}

const kMostNames = 5;

function names(threads: Thread[], ids: number[]): string {
  const shown = ids.slice(0, kMostNames).map((osId) => threadName(threads, osId));
  return ids.length > kMostNames ? `${shown.join(', ')} and ${ids.length - kMostNames} more` : shown.join(', ');
}

function lockColumns({threads, cycles}: Held): Column<Lock>[] {
  const inCycle = new Set(cycles.flat());
  const isDeadlock = (lock: Lock) => lock.ownerOsId !== undefined && inCycle.has(lock.ownerOsId) && lock.waiters.some((osId) => inCycle.has(osId));
  return [
    {id: 'type', title: 'Lock', value: (lock) => lock.type, as: 'code', show: (lock) => <span title={lock.object}><Wrapped text={lock.type || lock.object} />{isDeadlock(lock) ? <b class="harm"> deadlock</b> : null}</span>},
    {id: 'kind', title: 'Kind', value: (lock) => lock.kind},
    {id: 'owner', title: 'Held by', value: (lock) => lock.ownerOsId, show: (lock) => (lock.ownerOsId === undefined ? 'not known' : threadName(threads, lock.ownerOsId))},
    {id: 'count', title: 'Waiting', value: (lock) => lock.waiters.length, as: 'number'},
    {id: 'waiters', title: 'Threads that wait', value: (lock) => lock.waiters[0], show: (lock) => <span title={lock.waiters.map((osId) => threadName(threads, osId)).join('\n')}>{names(threads, lock.waiters)}</span>},
    {
      id: 'where',
      title: 'The first waits in',
      value: (lock) => whereOf(threads, lock.waiters[0])?.method,
      as: 'code',
      show: (lock) => {
        const frame = whereOf(threads, lock.waiters[0]);
        return frame ? (
          <span title={`${frame.method}\n${frame.file ?? frame.module}`}>
            <Wrapped text={shortMethod(frame.method)} /> <span class="dim">{placeOf(frame) || frame.module}</span>
          </span>
        ) : null;
      },
    },
  ];
}

function nowSentence(held: Held): string {
  const locks = waitedFor(held);
  const waiters = waitersOf(held);
  if (held.cycles.length) return `Deadlock: ${held.cycles.map((cycle) => `${cycle.map((osId) => threadName(held.threads, osId)).join(' and ')} wait for each other`).join('; ')}.`;
  if (!waiters) return 'No thread waits for a lock right now.';
  return `${counted(waiters, 'thread')} ${waiters === 1 ? 'waits' : 'wait'} for ${counted(locks.length, 'lock')} right now.`;
}

// What holds at this moment, also waits that began before anybody watched.
export function LocksNow({held, stacksAddress}: {held: Held; stacksAddress: string}) {
  const locks = waitedFor(held);
  return (
    <>
      <p data-now class={held.cycles.length ? 'harm' : ''}>
        <b>{nowSentence(held)}</b> <a href={stacksAddress}>Stacks of all threads</a>
      </p>
      {locks.length ? <Table id="now" caption={`${counted(locks.length, 'lock')} that threads wait for`} rows={locks} rowKey={(lock) => lock.object} columns={lockColumns(held)} most={50} /> : null}
      {held.locksUnread ? <p class="dim">{counted(held.locksUnread, 'lock')} could not be read.</p> : null}
      {held.notes.map((note) => (
        <p class="dim" key={note}>
          {note}
        </p>
      ))}
    </>
  );
}

const kSiteColumns: Column<LockSite>[] = [
  {
    id: 'method',
    title: 'Waited in',
    value: (one) => one.method,
    as: 'code',
    show: (one) => (
      <span title={[one.module, one.file].filter(Boolean).join('\n')}>
        <Wrapped text={one.method} /> <span class="dim">{placeOf(one) || one.module}</span>
      </span>
    ),
  },
  {id: 'count', title: 'Waits', value: (one) => one.count, as: 'number', show: (one) => formatNumber(one.count)},
  {id: 'unfinished', title: 'Still waiting', value: (one) => one.unfinished, as: 'number', show: (one) => (one.unfinished ? <b class="warn">{formatNumber(one.unfinished)}</b> : '0')},
  {id: 'total', title: 'Waited in all', value: (one) => one.totalMs, as: 'number', show: (one) => formatMs(one.totalMs)},
  {id: 'longest', title: 'Longest', value: (one) => one.longestMs, as: 'number', show: (one) => formatMs(one.longestMs)},
  {
    id: 'owners',
    title: 'Held meanwhile by',
    value: (one) => one.owners[0]?.osId,
    show: (one) => <span title={one.owners.map((owner) => `thread ${owner.osId}: ${owner.count} waits`).join('\n')}>{owners(one)}</span>,
  },
];

function owners(site: LockSite): string {
  const shown = site.owners.slice(0, kMostNames).map((owner) => `thread ${owner.osId} (${formatNumber(owner.count)} waits)`);
  const more = site.owners.length - shown.length;
  return shown.length ? `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}` : 'not known';
}

export function LockWaits({view, span, rate, rateIntervalMs}: {view: ContentionView; span: Span; rate: Line[]; rateIntervalMs: number}) {
  return (
    <>
      <Facts
        facts={[
          {id: 'waits', title: 'Waits', value: formatNumber(view.contentions), note: view.onlyCounted ? `${formatNumber(view.onlyCounted)} only counted, without time and place` : `${formatNumber(view.ratePerSecond ?? 0)} per second`},
          {id: 'unfinished', title: 'Still waiting', value: formatNumber(view.unfinished), note: 'of those that began while it was watched', tone: view.unfinished ? 'warn' : ''},
          {id: 'total', title: 'Waited in all', value: formatMs(view.totalMs), note: 'all threads together'},
          {id: 'longest', title: 'Longest', value: view.longestMs ? formatMs(view.longestMs) : 'none'},
          {id: 'locks', title: 'Locks', value: formatNumber(view.locks)},
        ]}
      />
      <Timeline id="rate" title="Waits per second" lines={rate} {...span} unit="{wait}/s" shape="line" intervalMs={rateIntervalMs} syncKey="locks" note="By the runtime's own counter, a value a second." />
      {view.sites.length ? (
        <>
          <h2>Where threads waited</h2>
          <Table id="site" caption={`${counted(view.contentions - view.onlyCounted, 'wait')} in ${counted(view.sites.length, 'place')}, the longest in all first`} rows={view.sites} rowKey={(one) => `${one.method} ${one.line ?? ''}`} columns={kSiteColumns} />
        </>
      ) : null}
    </>
  );
}
