// The managed heap: a snapshot is taken or chosen, then looked at: what keeps how much alive, types, single objects, what has grown.
import type {ComponentChildren} from 'preact';
import {useState} from 'preact/hooks';
import {problemOf, useAnswer, useApi} from '../api/answer';
import type {Problem} from '../api/client';
import type {Check, Heap, HeapDiff, HeapInstances, HeapObject, Recording} from '../api/types';
import {processLabel, useScope} from '../frame/processes';
import {addressOf, setQuery, useParam, usePlace} from '../frame/router';
import type {PageProps} from '../page';
import {useOpenParam} from '../ui/fold';
import {formatBytes, formatMs, formatNumber, localTime} from '../ui/format';
import {Loaded, Notice, Trouble, useNow} from '../ui/state';
import {Time} from '../ui/time';
import {DiffView} from '../views/heap/diff';
import {Instances} from '../views/heap/instances';
import {ObjectView} from '../views/heap/object';
import {isForMemory, priceWords} from '../views/heap/price';
import {Retained} from '../views/heap/retained';
import {Generations, Handles, matchingTypes, RootTable, Strings, TypeTable} from '../views/heap/tables';

const kListMs = 15_000;
const kViews = [
  ['map', 'Retained'],
  ['types', 'Types'],
  ['roots', 'Roots'],
  ['generations', 'Generations'],
  ['strings', 'Strings'],
  ['handles', 'Handles'],
] as const;

const pathOf = (id: string, question = '') => `recordings/${encodeURIComponent(id)}/heap${question}`;

export function HeapPage({pid, process}: PageProps) {
  const {query} = usePlace();
  const id = query.get('snapshot') ?? '';
  const isAllowed = useScope('memory');
  const isTracing = useScope('trace');
  const list = useAnswer<Recording[]>(isAllowed && isTracing ? 'recordings' : undefined, {everyMs: kListMs});
  const kept = (list.data ?? []).filter((one) => one.kind === 'heap' && one.state === 'finished' && one.process.pid === pid);
  return (
    <>
      <h1>Heap of {process ? processLabel(process) : (kept[0]?.process.name ?? `process ${pid}`)}</h1>
      {isAllowed ? (
        <>
          <Take pid={pid} rssBytes={process?.rssBytes} isGone={!process} isFirst={!id} onTaken={(heap) => {
            list.refresh();
            setQuery({snapshot: heap.recording, type: undefined, object: undefined, compare: undefined, at: undefined}, 'push');
          }} />
          {id ? <Snapshot key={id} id={id} kept={kept} /> : <Kept kept={kept} pid={pid} />}
        </>
      ) : (
        <Notice kind="trouble" hint="Ask for a key with the scope memory: clrscope key create --scopes read,memory">
          Not permitted: a snapshot shows what is in the memory of the process.
        </Notice>
      )}
    </>
  );
}

function Kept({kept, pid}: {kept: Recording[]; pid: number}) {
  if (!kept.length) return null;
  return (
    <>
      <h2>Snapshots of this process</h2>
      <ul class="list" data-snapshots>
        {kept.map((one) => (
          <li key={one.id}>
            <a href={addressOf('/heap', {pid, snapshot: one.id})}>{one.name || <Time iso={one.started} />}</a> <span class="dim">{formatBytes(one.bytes)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

// The button, and what pressing it costs the process.
function Take({pid, rssBytes, isGone, isFirst, onTaken}: {pid: number; rssBytes?: number | null; isGone: boolean; isFirst: boolean; onTaken: (heap: Heap) => void}) {
  const api = useApi();
  const check = useAnswer<Check>(isGone ? undefined : `check?pid=${pid}`);
  const verb = check.data?.verbs?.find((one) => one.verb === 'heap');
  const [since, setSince] = useState(0);
  const [problem, setProblem] = useState<Problem>();
  const now = useNow();
  const take = async (force: boolean) => {
    setSince(Date.now());
    setProblem(undefined);
    try {
      onTaken(await api.get<Heap>(`heap?pid=${pid}&strings=true${force ? '&force=true' : ''}`));
    } catch (error) {
      setProblem(problemOf(error));
    }
    setSince(0);
  };
  return (
    <section aria-label="Take a snapshot">
      {isFirst ? <p>A snapshot shows what is on the managed heap and what keeps it alive. Take two while memory grows, and compare them.</p> : null}
      <p class="bar">
        <button type="button" class={isFirst ? 'button main' : 'button'} disabled={since > 0 || isGone || verb?.works === 'no'} onClick={() => void take(false)}>
          {since ? `Taking a snapshot … ${Math.max(0, Math.round((now - since) / 1000))} s` : 'Take a snapshot'}
        </button>
        {problem && isForMemory(problem.hint) ? (
          <button type="button" disabled={since > 0 || isGone} onClick={() => void take(true)}>
            Take it anyway
          </button>
        ) : null}
        <span class="dim" role="status" data-price>
          {isGone ? 'The process has exited: only kept snapshots can be seen.' : priceWords(rssBytes, verb)}
        </span>
      </p>
      {problem ? <Trouble problem={problem} /> : null}
    </section>
  );
}

function Snapshot({id, kept}: {id: string; kept: Recording[]}) {
  const {query} = usePlace();
  const answer = useAnswer<Heap>(pathOf(id));
  const [type, object, other] = ['type', 'object', 'compare'].map((name) => query.get(name) ?? '');
  const to = (changes: Record<string, string | undefined>) => {
    const next = new URLSearchParams(query);
    for (const [name, value] of Object.entries({type: undefined, object: undefined, compare: undefined, open: undefined, ...changes})) {
      if (value) next.set(name, value);
      else next.delete(name);
    }
    return addressOf('/heap', Object.fromEntries(next));
  };
  const links = {typeLink: (name: string) => to({type: name}), objectLink: (address: string) => to({object: address})};
  const back = (
    <p>
      <a href={to({})}>← The whole heap</a>
    </p>
  );
  return (
    <Loaded answer={answer} waiting="Reading the snapshot …">
      {(heap) => (
        <>
          <Summary heap={heap} />
          <Compare id={id} other={other} kept={kept} />
          {object ? (
            <Asked<HeapObject> key={object} path={pathOf(id, `?object=${encodeURIComponent(object)}`)} back={back}>
              {(data) => <ObjectView data={data} {...links} />}
            </Asked>
          ) : type ? (
            <OneType key={type} path={pathOf(id, `?type=${encodeURIComponent(type)}`)} type={type} back={back} links={links} />
          ) : other ? (
            <Asked<HeapDiff> key={other} path={pathOf(id, `?diff=${encodeURIComponent(other)}`)} back={back}>
              {(data) => <DiffView data={data} typeLink={links.typeLink} />}
            </Asked>
          ) : (
            <Whole heap={heap} typeLink={links.typeLink} />
          )}
          {heap.notes.map((note) => (
            <p class="dim" key={note}>
              {note}
            </p>
          ))}
        </>
      )}
    </Loaded>
  );
}

function Asked<T>({path, back, children}: {path: string; back: ComponentChildren; children: (data: T) => ComponentChildren}) {
  const answer = useAnswer<T>(path);
  return (
    <>
      {back}
      <Loaded answer={answer}>{children}</Loaded>
    </>
  );
}

interface Links {
  typeLink: (type: string) => string;
  objectLink: (address: string) => string;
}

function OneType({path, type, back, links}: {path: string; type: string; back: ComponentChildren; links: Links}) {
  const open = useOpenParam('open', 'path0');
  return (
    <Asked<HeapInstances>
      path={path}
      back={
        <>
          {back}
          <h2 class="mono">{type}</h2>
        </>
      }
    >
      {(data) => <Instances data={data} open={open} {...links} />}
    </Asked>
  );
}

function Summary({heap}: {heap: Heap}) {
  const garbage = heap.unreachableBytes;
  return (
    <>
      <p class="lead" data-heap={heap.recording}>
        {formatBytes(heap.bytes)} in {formatNumber(heap.objects)} objects of {formatNumber(heap.allTypes)} types
        {garbage ? <span class="dim">, {formatBytes(garbage)} of it waits for the next collection</span> : null}
      </p>
      <p class="dim">
        {heap.taken ? (
          <>
            taken <Time iso={heap.taken} />
          </>
        ) : (
          'taken at an unknown time'
        )}
        {heap.pauseMs ? ` · the process stood still for ${formatMs(heap.pauseMs)}` : ''}
        {heap.runtime ? ` · .NET ${heap.runtime}` : ''} · {heap.serverGc ? 'server GC' : 'workstation GC'} · {formatBytes(heap.freeBytes)} free between objects
        {heap.unreadBytes ? ` · ${formatBytes(heap.unreadBytes)} could not be read` : ''}
      </p>
    </>
  );
}

function Compare({id, other, kept}: {id: string; other: string; kept: Recording[]}) {
  const choices = kept.filter((one) => one.id !== id);
  if (!choices.length && !other) return null;
  return (
    <p class="bar">
      <label>
        Compare with{' '}
        <select value={other} onChange={(event) => setQuery({compare: event.currentTarget.value || undefined, type: undefined, object: undefined}, 'push')}>
          <option value="">nothing</option>
          {other && !choices.some((one) => one.id === other) ? <option value={other}>{other}</option> : null}
          {choices.map((one) => (
            <option key={one.id} value={one.id}>
              {one.name || localTime(Date.parse(one.started))}
            </option>
          ))}
        </select>
      </label>
    </p>
  );
}

function Whole({heap, typeLink}: {heap: Heap; typeLink: (type: string) => string}) {
  const [view, setView] = useParam('view', 'map');
  const [filter, setFilter] = useParam('q');
  const [at, setAt] = useParam('at');
  const types = matchingTypes(heap.types, filter);
  return (
    <>
      <div class="bar" role="group" aria-label="What to show">
        {kViews.map(([name, title]) => (
          <button key={name} type="button" aria-pressed={view === name} onClick={() => setView(name, 'push')}>
            {title}
          </button>
        ))}
      </div>
      {view === 'types' ? (
        <>
          <p class="bar">
            <input type="search" aria-label="Search types" placeholder="search types" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
            <span class="dim">
              {formatNumber(types.length)} of {formatNumber(heap.allTypes)} types
              {heap.allTypes > heap.types.length ? `; the ${formatNumber(heap.types.length)} with the largest size are listed` : ''}
            </span>
            {filter ? <a href={typeLink(filter)}>All objects of types that match</a> : null}
          </p>
          <TypeTable types={types} link={typeLink} />
        </>
      ) : view === 'roots' ? (
        <RootTable roots={heap.roots} />
      ) : view === 'generations' ? (
        <Generations heap={heap} />
      ) : view === 'strings' ? (
        <Strings heap={heap} />
      ) : view === 'handles' ? (
        <Handles heap={heap} />
      ) : (
        <Retained heap={heap} at={at} onOpen={(key) => setAt(key, 'push')} typeLink={typeLink} />
      )}
    </>
  );
}
