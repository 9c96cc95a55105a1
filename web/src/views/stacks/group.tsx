// Threads that stand in the same place: a heading that says what they do, who they are, and their stack once.
import {useContext, useMemo} from 'preact/hooks';
import {shortMethod} from '../../ui/frames';
import {type Pasts, unchangedMs} from './changes';
import type {Group, Seen} from './threads';
import {Holds, Marked, StackLines, stateWords, ThreadFacts, Unchanged, WaitWords, WordContext} from './words';

const kFewMembers = 3;
const kLinePx = 19;
const kHeadPx = 34;

export interface GroupProps {
  group: Group;
  pasts: Pasts;
  target: number; // osId of the thread that the address points to
  isOpen: (id: string, byDefault: boolean) => boolean;
  setOpen: (id: string, open: boolean) => void;
}

// What they do, in words.
function Doing({group}: {group: Group}) {
  if (group.wait) return <WaitWords wait={group.wait} />;
  const {thread, lines, owner} = group.members[0];
  const top = lines.find(({frame}) => frame?.kind === 'managed')?.frame ?? lines.find(({frame}) => frame)?.frame;
  const state = (group.total > 1 && thread.state !== 'running' ? thread.state : stateWords(thread)) || 'in an unknown state';
  if (!top) return <>{owner === 'runtime' && thread.state !== 'running' ? 'no managed code, ' : ''}{state}</>;
  return (
    <>
      {state}, in <Marked text={shortMethod(top.method)} />
    </>
  );
}

function Who({one}: {one: Seen}) {
  return (
    <>
      thread <Marked text={String(one.thread.osId)} /> “<Marked text={one.thread.name || 'without a name'} />”
    </>
  );
}

// How long all of them have not moved. Idle ones are meant to stay where they are.
function unchangedTogether({members, rank}: Group, pasts: Pasts): number {
  return rank === 'idle' ? 0 : Math.min(...members.map((one) => unchangedMs(pasts.get(one.thread.osId))));
}

function Members({group, pasts, target, isOpen, setOpen}: GroupProps) {
  const id = `m${group.id}`;
  const {members} = group;
  const unchanged = unchangedTogether(group, pasts);
  const longer = (ms: number) => (ms > unchanged && group.rank !== 'idle' ? ms : 0); // else the heading says it
  const isWhole = members.length <= kFewMembers + 1 || isOpen(id, false) || members.findIndex((one) => one.thread.osId === target) >= kFewMembers;
  return (
    <ul class="members">
      {(isWhole ? members : members.slice(0, kFewMembers)).map((one) => (
        <li key={one.thread.osId} id={`t${one.thread.osId}`} class={one.thread.osId === target ? 'target' : ''}>
          <Who one={one} /> <ThreadFacts thread={one.thread} past={pasts.get(one.thread.osId)} />
          <Unchanged ms={longer(unchangedMs(pasts.get(one.thread.osId)))} />
          <Holds thread={one.thread} />
        </li>
      ))}
      {members.length > kFewMembers + 1 ? (
        <li>
          <button type="button" class="link" aria-expanded={isWhole} onClick={() => setOpen(id, !isWhole)}>
            {isWhole ? 'show fewer threads' : `and ${members.length - kFewMembers} more threads`}
          </button>
        </li>
      ) : null}
    </ul>
  );
}

function Heading({group, pasts, open, setOpen}: {group: Group; pasts: Pasts; open: boolean; setOpen: (open: boolean) => void}) {
  const {members, total} = group;
  return (
    <div class="head" id={total === 1 ? `t${members[0].thread.osId}` : undefined}>
      <button type="button" class="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
        {total === 1 ? <Who one={members[0]} /> : <>{members.length < total ? `${members.length} of ${total}` : total} ×</>}
      </button>{' '}
      <Doing group={group} />
      <Unchanged ms={unchangedTogether(group, pasts)} />
    </div>
  );
}

export function GroupView(props: GroupProps) {
  const {group, pasts, target, isOpen, setOpen} = props;
  const word = useContext(WordContext);
  const {members, lines, total} = group;
  const [first] = members;
  const open = isOpen(group.id, true);
  const isSingle = total === 1;
  const {broken} = first.thread;
  // The stack is the long part: it is compared only when it can have changed.
  const stack = useMemo(() => <StackLines lines={lines} broken={broken} word={word} />, [first.key, broken, word]);
  const height = kHeadPx + (open ? (lines.length + Math.min(members.length, kFewMembers) + 1) * kLinePx : 0);
  return (
    <div class={`group rank-${group.rank}${open ? ' open' : ''}${isSingle && first.thread.osId === target ? ' target' : ''}`} data-group={group.id} data-threads={members.length} style={{containIntrinsicBlockSize: `auto ${height}px`}}>
      <Heading group={group} pasts={pasts} open={open} setOpen={(isOn) => setOpen(group.id, isOn)} />
      {open ? (
        <>
          {isSingle ? (
            <div class="thread-facts">
              <ThreadFacts thread={first.thread} past={pasts.get(first.thread.osId)} hasState={!!group.wait} />
              <Holds thread={first.thread} />
            </div>
          ) : (
            <Members {...props} />
          )}
          {stack}
        </>
      ) : null}
    </div>
  );
}
