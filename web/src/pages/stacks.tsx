// What every thread does right now; the same view from data inside a file.
import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import {useAnswer, useApi} from '../api/answer';
import type {AsyncStacks, MonitorStacks} from '../api/types';
import {processLabel} from '../frame/processes';
import {addressOf, setQuery, useParam, usePlace} from '../frame/router';
import type {PageProps} from '../page';
import {CopyButton} from '../ui/copy-button';
import {useOpenParam} from '../ui/fold';
import {Age, Loaded} from '../ui/state';
import {AsyncView} from '../views/stacks/async';
import {Bar, Filter, ViewSwitch} from '../views/stacks/bar';
import {nextPasts, type Pasts} from '../views/stacks/changes';
import {plainText} from '../views/stacks/text';
import {type Group, look, type Seen, type StacksData} from '../views/stacks/threads';
import {type Choices, StacksView} from '../views/stacks/view';

export type {StacksData} from '../views/stacks/threads';

const kNames = ['view', 'native', 'filter', 'all', 'open', 'closed'] as const;
const kEvery = [
  ['', 'off'],
  ['2', '2 s'],
  ['5', '5 s'],
];

function useChoices(): [Choices, (changes: Partial<Choices>) => void] {
  const {query} = usePlace();
  const choices = Object.fromEntries(kNames.map((name) => [name, query.get(name) ?? ''])) as unknown as Choices;
  return [choices, (changes) => setQuery(changes, 'view' in changes || 'native' in changes ? 'push' : 'replace')];
}

// Since when each thread is where it is: from all looks since the page was opened.
function usePasts(seen: Seen[] | undefined, at: number): Pasts {
  const known = useRef<{at: number; pasts: Pasts}>({at: 0, pasts: new Map()});
  if (seen && at !== known.current.at) known.current = {at, pasts: nextPasts(known.current.pasts, seen, at)};
  return known.current.pasts;
}

export function Stacks(props: PageProps) {
  const [view] = useParam('view');
  return view === 'async' ? <AsyncStacksPage {...props} /> : <ThreadStacks {...props} />;
}

// What async methods wait for: they have no thread while they do.
function AsyncStacksPage({pid, process}: PageProps) {
  const [filter, setFilter] = useParam('filter');
  const answer = useAnswer<AsyncStacks>(`stacks?pid=${pid}&async=true`);
  const open = useOpenParam('open');
  return (
    <>
      <h1>Async stacks of {process ? processLabel(process) : pid}</h1>
      <div class="stacks-view">
        <div class="bar stacks-bar">
          <ViewSwitch view="async" hasAsync onView={(view) => setQuery({view}, 'push')} />
          <Filter value={filter} onChange={setFilter} label="Filter async stacks" example="filter methods, waits" />
          <button type="button" class="main" data-refresh aria-busy={answer.isLoading} onClick={answer.refresh}>
            Refresh
          </button>
          <Age at={answer.at} />
        </div>
        <Loaded answer={answer} waiting="Reading the async methods of the process …">
          {(data) => <AsyncView data={data} filter={filter} open={open} />}
        </Loaded>
      </div>
    </>
  );
}

function ThreadStacks({pid, process}: PageProps) {
  const api = useApi();
  const [choices, choose] = useChoices();
  const [every, setEvery] = useParam('every');
  const query = `pid=${pid}${choices.native === 'true' ? '&native=true' : ''}`;
  const answer = useAnswer<MonitorStacks>(`stacks?${query}&lines=true`, {everyMs: Number(every) * 1000});
  const {data, at, problem, isLoading} = answer;
  const seen = useMemo(() => data && look(data, choices.native === 'true'), [data, choices.native]);
  const pasts = usePasts(seen, at);
  const whose = process ? processLabel(process) : data ? `${data.process} (${pid})` : pid;

  const printed = api.address(`stacks?${query}&lines=true${choices.view === 'threads' ? '' : '&merged=true'}&accept=text/plain`);
  const tools = (groups: Group[]) => (
    <Bar choices={choices} choose={choose} hasNative hasAsync>
      <button type="button" class="main" data-refresh aria-busy={isLoading} onClick={answer.refresh}>
        Refresh
      </button>
      <label>
        auto-refresh
        <select name="every" value={every} onChange={(event) => setEvery(event.currentTarget.value)}>
          {kEvery.map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
      </label>
      <CopyButton label="Copy as text" text={() => plainText(data as StacksData, seen ?? [], groups)} />
    </Bar>
  );
  const actions = (
    <p class="actions">
      <a class="button" href={addressOf('/doctor', {pid})}>
        Ask the doctor
      </a>{' '}
      <a class="button" href={addressOf('/views/contention', {pid})}>
        Watch locks
      </a>
    </p>
  );
  const age = (
    <>
      <Age at={at} /> ·{' '}
      <a href={printed} data-outside target="_blank" rel="noreferrer" title="A new snapshot, as the terminal prints it">
        as text
      </a>
    </>
  );
  return (
    <>
      <h1>Stacks of {whose}</h1>
      <Loaded answer={answer} waiting="Looking at all threads …">
        {(known) => <StacksView data={known} seen={seen ?? []} pasts={pasts} choices={choices} choose={choose} isOld={problem !== undefined} tools={tools} age={age} actions={actions} />}
      </Loaded>
    </>
  );
}

export function StacksSingle({data}: {data: StacksData}) {
  const [choices, setChoices] = useState<Choices>({view: '', native: '', filter: '', all: '', open: '', closed: ''});
  const choose = (changes: Partial<Choices>) => setChoices((before) => ({...before, ...changes}));
  const hasNative = useMemo(() => data.threads.some((thread) => thread.frames.some((frame) => frame.kind === 'native')), [data]);
  const seen = useMemo(() => look(data, choices.native === 'true'), [data, choices.native]);
  useEffect(() => {
    document.title = `Stacks of ${data.process} (${data.pid})`;
  }, [data]);
  return (
    <main id="main">
      <h1>
        Stacks of {data.process} ({data.pid})
      </h1>
      <StacksView
        data={data}
        seen={seen}
        pasts={new Map()}
        choices={choices}
        choose={choose}
        tools={(groups) => (
          <Bar choices={choices} choose={choose} hasNative={hasNative}>
            <CopyButton label="Copy as text" text={() => plainText(data, seen, groups)} />
            <button type="button" data-theme-switch>
              theme
            </button>
          </Bar>
        )}
      />
    </main>
  );
}
