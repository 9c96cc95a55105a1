// Pieces of text about threads: links to threads and locks, waits, frames, marks where the filter matched.
import type {ComponentChildren} from 'preact';
import {createContext} from 'preact';
import {useContext} from 'preact/hooks';
import type {Thread, Wait} from '../../api/types';
import {formatMs, formatUptime} from '../../ui/format';
import {placeOf} from '../../ui/frames';
import type {Past} from './changes';
import type {Line, StacksData} from './threads';

export const DataContext = createContext<StacksData>({} as StacksData);
export const WordContext = createContext(''); // what the filter looks for, in lower case

// The text with all places marked that have the word. A function, not a component: there are thousands of lines.
function marked(text: string, word: string): ComponentChildren {
  if (!word) return text;
  const parts: ComponentChildren[] = [];
  const lower = text.toLowerCase();
  let at = 0;
  for (let found = lower.indexOf(word); found >= 0; found = lower.indexOf(word, at)) {
    parts.push(text.slice(at, found), <mark>{text.slice(found, found + word.length)}</mark>);
    at = found + word.length;
  }
  return [...parts, text.slice(at)];
}

export function Marked({text}: {text: string}) {
  return <>{marked(text, useContext(WordContext))}</>;
}

export function nameOf(data: StacksData, osId: number): string {
  return data.threads.find((thread) => thread.osId === osId)?.name ?? '';
}

export function ThreadLink({osId}: {osId: number}) {
  const data = useContext(DataContext);
  const name = nameOf(data, osId);
  return (
    <a href={`#t${osId}`}>
      thread <Marked text={String(osId)} />
      {name ? (
        <>
          {' '}
          “<Marked text={name} />”
        </>
      ) : null}
    </a>
  );
}

export function LockLink({object, type}: {object: string; type: string}) {
  return (
    <>
      <a href={`#l${object}`} class="mono">
        <Marked text={object} />
      </a>
      {type ? (
        <>
          {' '}
          (<Marked text={type} />)
        </>
      ) : null}
    </>
  );
}

const kThings: Partial<Record<Wait['kind'], string>> = {Monitor: 'lock', Lock: 'lock', Task: 'task', WaitHandle: 'event or handle', 'Thread.Join': 'the end of thread', 'Monitor.Wait': 'Monitor.Pulse of'};

// "waiting for lock 0x7f3a10 (Shop.Stock) held by thread 31 “orders”, …"
export function WaitWords({wait}: {wait: Wait}) {
  const data = useContext(DataContext);
  const detail = wait.detail ? `, ${wait.detail}` : '';
  if (wait.kind === 'Sleep') return <>sleeping{detail}</>;
  if (wait.kind === 'idle pool worker') return <>idle: a pool worker without work{detail}</>;
  if (wait.kind === 'I/O')
    return <>waiting for I/O{wait.detail ? `: ${wait.detail}` : ''}</>;
  const type = wait.type.endsWith(`.${wait.kind}`) ? '' : wait.type; // it says nothing that the kind does not
  const isKnown = wait.object !== null && data.locks.some((lock) => lock.object === wait.object);
  return (
    <>
      waiting for {wait.object ? '' : 'a '}
      {kThings[wait.kind] ?? <Marked text={wait.kind} />}
      {wait.object ? ' ' : ''}
      {wait.object && isKnown ? <LockLink object={wait.object} type={type} /> : <TypeWords object={wait.object} type={type} />}
      {wait.ownerOsId ? (
        <>
          {' '}
          held by <ThreadLink osId={wait.ownerOsId} />
        </>
      ) : null}
      {detail}
    </>
  );
}

function TypeWords({object, type}: {object: string | null; type: string}) {
  return (
    <>
      {object ? (
        <span class="mono">
          <Marked text={object} />
        </span>
      ) : null}
      {type ? (
        <>
          {' '}
          (<Marked text={type} />)
        </>
      ) : null}
    </>
  );
}

export function stateWords(thread: Thread): string {
  if (thread.state === 'running') return 'running on a CPU';
  const where = thread.waitChannel && thread.waitChannel !== '0' ? ` in ${thread.waitChannel}` : '';
  return thread.state === 'unknown' ? '' : thread.state + where;
}

// What is known of a thread beside its stack.
export function ThreadFacts({thread, past, hasState = true}: {thread: Thread; past?: Past; hasState?: boolean}) {
  const facts = [
    thread.managedId === null ? '' : `managed ${thread.managedId}`,
    thread.pool ? 'pool worker' : thread.background ? 'background' : '',
    hasState ? stateWords(thread) : '',
    thread.cpuMs ? `${formatMs(thread.cpuMs)} CPU` : '',
    past?.cpuPercent !== undefined && past.cpuPercent >= 1 ? `${Math.round(past.cpuPercent)} % of a CPU since the last look` : '',
    thread.exception ? `handles ${thread.exception}` : '',
  ].filter(Boolean);
  return <span class="dim">{facts.join(' · ')}</span>;
}

export function Unchanged({ms}: {ms: number}) {
  return ms ? <span class="unchanged"> unchanged for {formatUptime(ms)}</span> : null;
}

export function Holds({thread}: {thread: Thread}) {
  const data = useContext(DataContext);
  if (!thread.holds?.length) return null;
  return (
    <ul class="holds">
      {thread.holds.map((object) => {
        const lock = data.locks.find((one) => one.object === object);
        return (
          <li key={object}>
            holds <LockLink object={object} type={lock?.type ?? ''} />
            {lock?.waiters.length ? `, wanted by ${lock.waiters.length}` : ''}
          </li>
        );
      })}
    </ul>
  );
}

export function StackLines({lines, broken, word}: {lines: Line[]; broken?: string; word: string}) {
  return (
    <ol class="stack">
      {lines.map(({frame, skipped}, index) =>
        frame ? (
          <li key={index} class={`kind-${frame.kind ?? 'unknown'}`} title={frame.file ? `${frame.file}:${frame.line ?? ''}` : frame.module}>
            {marked(frame.module ? `${frame.module}!${frame.method || '?'}` : frame.method || '?', word)}
            {frame.file ? <span class="place"> {placeOf(frame)}</span> : null}
          </li>
        ) : (
          <li key={index} class="kind-native">
            [{skipped === 1 ? 'a native frame' : `${skipped} native frames`}]
          </li>
        ),
      )}
      {broken ? <li class="warn">[the stack ends here: {broken}]</li> : null}
    </ol>
  );
}
