// All threads of a process at one moment: deadlocks first, then groups in the order of interest; idle ones in one line.
import type {ComponentChildren} from 'preact';
import {useEffect, useMemo, useState} from 'preact/hooks';
import {formatMs, formatNumber} from '../../ui/format';
import {Notice} from '../../ui/state';
import type {Pasts} from './changes';
import {Deadlocks} from './deadlocks';
import {type GroupProps, GroupView} from './group';
import {Locks} from './locks';
import {countWords, filtered, type Group, groupsOf, idleWords, kRanks, type Rank, type Seen, singlesOf, type StacksData} from './threads';
import {DataContext, WordContext} from './words';

// What the reader chose; in the address where there is one.
export interface Choices {
  view: string; // '' or 'threads'
  native: string; // '' or 'true'
  filter: string;
  all: string; // 'open', 'closed' or '': as it is by default
  open: string; // ids of what was opened against the default, by commas
  closed: string;
}

interface ViewProps {
  data: StacksData;
  seen: Seen[];
  pasts: Pasts;
  choices: Choices;
  choose: (changes: Partial<Choices>) => void;
  isOld?: boolean;
  tools: (groups: Group[]) => ComponentChildren;
  age?: ComponentChildren;
  actions?: ComponentChildren; // below a deadlock
}

const kTitles: Record<Rank, string> = {deadlock: 'Deadlocked', lock: 'Waiting for locks, and who holds them', running: 'Running', wait: 'Waiting', idle: 'Idle'};

const listed = (text: string): Set<string> => new Set(text.split(',').filter(Boolean));

// The part of the address behind '#': '#t31' is a thread, '#l0x7f…' a lock. Grows a count so that the same one can be jumped to again.
function useTarget(): {hash: string; count: number; again: () => void} {
  const [state, setState] = useState({hash: location.hash, count: 0});
  const again = () => setState((before) => ({hash: location.hash, count: before.count + 1}));
  useEffect(() => {
    window.addEventListener('hashchange', again);
    return () => window.removeEventListener('hashchange', again);
  }, []);
  return {...state, again};
}

export function StacksView({data, seen, pasts, choices, choose, isOld = false, tools, age, actions}: ViewProps) {
  const {filter, view} = choices;
  const groups = useMemo(() => (view === 'threads' ? singlesOf(seen) : groupsOf(seen)), [seen, view]);
  const left = useMemo(() => filtered(groups, filter, data), [groups, filter]);
  const word = filter.trim().toLowerCase();
  const [opened, closed] = [listed(choices.open), listed(choices.closed)];
  const isOpen = (id: string, byDefault: boolean): boolean => {
    if (opened.has(id) || closed.has(id)) return opened.has(id);
    if (word && (byDefault || id === 'idle')) return true; // what the filter found is seen
    return choices.all ? choices.all === 'open' : byDefault;
  };
  const setOpen = (ids: string[], open: boolean) => {
    for (const id of ids) {
      (open ? closed : opened).delete(id);
      (open ? opened : closed).add(id);
    }
    choose({open: [...opened].join(','), closed: [...closed].join(',')});
  };
  const {hash, count, again} = useTarget();
  const target = hash.startsWith('#t') ? Number(hash.slice(2)) : 0;
  useEffect(() => {
    jump(hash, {groups, left, isOpen, setOpen, clearFilter: () => choose({filter: ''})});
    const wait = requestAnimationFrame(() => document.getElementById(hash.slice(1))?.scrollIntoView({block: 'center'}));
    return () => cancelAnimationFrame(wait);
  }, [hash, count, view]);
  const parts = {pasts, target, isOpen, setOpen: (id: string, open: boolean) => setOpen([id], open)};
  const idle = left.filter((group) => group.rank === 'idle');
  const shown = left.reduce((sum, group) => sum + group.members.length, 0);
  return (
    <DataContext.Provider value={data}>
      <WordContext.Provider value={word}>
        <div
          class="stacks-view"
          onClick={(event) => {
            const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('a[href^="#"]') : null;
            if (link && link.hash === location.hash) again();
          }}
        >
          {tools(left)}
          <Deadlocks data={data} actions={actions} />
          <p class="count">
            {countWords(seen)}
            {view === 'threads' ? '' : `, in ${formatNumber(groups.length)} ${groups.length === 1 ? 'group' : 'groups'}`}.{' '}
            {word ? (
              <strong role="status">
                {formatNumber(shown)} of {formatNumber(seen.length)} threads match.
              </strong>
            ) : null}
          </p>
          <Cost data={data} age={age} />
          {data.notes.map((note) => (
            <Notice key={note}>{note}</Notice>
          ))}
          {data.locksUnread ? <Notice>{formatNumber(data.locksUnread)} locks could not be read: a deadlock among them would not be seen.</Notice> : null}
          <div class={isOld ? 'groups old' : 'groups'} data-old={isOld ? 'yes' : undefined}>
            {kRanks
              .filter((rank) => rank !== 'idle')
              .map((rank) => (
                <RankPart key={rank} title={kTitles[rank]} groups={left.filter((group) => group.rank === rank)} parts={parts} />
              ))}
            {idle.length ? <IdlePart groups={idle} parts={parts} /> : null}
            <Locks locks={data.locks} target={hash.startsWith('#l') ? hash.slice(2) : ''} open={isOpen('locks', false)} setOpen={(open) => setOpen(['locks'], open)} />
          </div>
        </div>
      </WordContext.Provider>
    </DataContext.Provider>
  );
}

interface JumpTools {
  groups: Group[];
  left: Group[];
  isOpen: (id: string, byDefault: boolean) => boolean;
  setOpen: (ids: string[], open: boolean) => void;
  clearFilter: () => void;
}

// Opens what a thread or lock is folded into.
function jump(hash: string, {groups, left, isOpen, setOpen, clearFilter}: JumpTools): void {
  if (hash.startsWith('#l') && !isOpen('locks', false)) setOpen(['locks'], true);
  if (!hash.startsWith('#t')) return;
  const has = (group: Group) => group.members.some((one) => `#t${one.thread.osId}` === hash);
  const group = groups.find(has);
  if (!group) return;
  if (!left.some(has)) clearFilter();
  const folded = [group.id, ...(group.rank === 'idle' ? ['idle'] : [])].filter((id) => !isOpen(id, id !== 'idle'));
  if (folded.length) setOpen(folded, true);
}

type Parts = Omit<GroupProps, 'group'>;

function RankPart({title, groups, parts}: {title: string; groups: Group[]; parts: Parts}) {
  if (!groups.length) return null;
  return (
    <section class="rank">
      <h2>{title}</h2>
      {groups.map((group) => (
        <GroupView key={group.id} group={group} {...parts} />
      ))}
    </section>
  );
}

function IdlePart({groups, parts}: {groups: Group[]; parts: Parts}) {
  const open = parts.isOpen('idle', false);
  return (
    <section class="rank">
      <h2>Idle</h2>
      <details
        class="idle"
        open={open}
        onToggle={(event) => {
          if (event.target === event.currentTarget && event.currentTarget.open !== open) parts.setOpen('idle', event.currentTarget.open);
        }}
      >
        <summary>{idleWords(groups)}</summary>
        {open ? groups.map((group) => <GroupView key={group.id} group={group} {...parts} />) : null}
      </details>
    </section>
  );
}

function Cost({data, age}: {data: StacksData; age?: ComponentChildren}) {
  const {pool} = data;
  const facts = [
    data.runtime ? `.NET ${data.runtime}` : '',
    data.source === 'diagnostic port' ? 'taken by the runtime itself' : data.pauseMs ? `paused for ${formatMs(data.pauseMs)}` : 'not paused',
    `taken in ${formatMs(data.durationMs)}`,
  ];
  const workers = pool && [
    pool.workers !== undefined ? `${formatNumber(pool.workers)} workers` : '',
    pool.minWorkers !== undefined && pool.maxWorkers !== undefined ? `${formatNumber(pool.minWorkers)} to ${formatNumber(pool.maxWorkers)} allowed` : '',
    pool.blocked ? `${formatNumber(pool.blocked)} blocked in waits` : '',
    pool.addedForBlocking ? `${formatNumber(pool.addedForBlocking)} added for blocked ones` : '',
    pool.queued !== undefined ? `${formatNumber(pool.queued)} items queued` : '',
  ];
  return (
    <p class="dim cost">
      {facts.filter(Boolean).join(' · ')}
      {workers ? <> · Thread pool: {workers.filter(Boolean).join(', ')}</> : null}
      {age ? <> · {age}</> : null}
    </p>
  );
}
