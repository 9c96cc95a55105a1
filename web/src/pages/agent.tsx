// The agent in a process: attach and detach it, switch its sources, see their price and what they tell.
import {useState} from 'preact/hooks';
import {problemOf, useAnswer, useApi} from '../api/answer';
import type {Problem} from '../api/client';
import type {AgentPage as AgentData, AgentSeen, AgentSource, AgentSourceState} from '../api/types';
import {processLabel, useScope} from '../frame/processes';
import type {PageProps} from '../page';
import {type OpenSet, useOpenParam} from '../ui/fold';
import {formatMs, formatNumber, formatPercent} from '../ui/format';
import {Age, Ended, Loaded, Notice, Trouble} from '../ui/state';
import {Measures} from '../views/agent/measures';
import {AllocationsSeen, LockWaitsSeen, SurvivorsSeen, ThrownExceptions} from '../views/agent/tables';

const kEveryMs = 2000;

export function AgentPage({pid, process}: PageProps) {
  const isAllowed = useScope('trace');
  return (
    <>
      <h1>Agent in {process ? processLabel(process) : `process ${pid}`}</h1>
      {isAllowed ? (
        <Watched key={pid} pid={pid} isGone={!process} />
      ) : (
        <Notice kind="trouble" hint="Ask for a key with the scope trace: clrscope key create --scopes read,trace">
          Not permitted: the agent is loaded into the process and shows what its code does.
        </Notice>
      )}
    </>
  );
}

function Watched({pid, isGone}: {pid: number; isGone: boolean}) {
  const api = useApi();
  const answer = useAnswer<AgentData>(isGone ? undefined : `agent?pid=${pid}`, {everyMs: kEveryMs});
  const sources = useAnswer<AgentSource[]>('agent/sources');
  const open = useOpenParam('open');
  const [busy, setBusy] = useState('');
  const [problem, setProblem] = useState<Problem>();
  const act = async (words: string, path: string) => {
    setBusy(words);
    setProblem(undefined);
    try {
      await api.post<unknown>(path);
    } catch (error) {
      setProblem(problemOf(error));
    }
    setBusy('');
    answer.refresh();
  };
  const toggle = (seen: AgentSeen | undefined | null, id: string, isOn: boolean) => {
    const on = (seen?.sources ?? []).filter((one) => one.on && one.id !== id).map((one) => one.id);
    if (isOn) on.push(id);
    void act(`Switching ${id} ${isOn ? 'on' : 'off'} …`, `agent/sources?pid=${pid}&on=${on.join(',') || 'none'}`);
  };
  return (
    <>
      {isGone ? <Ended /> : null}
      <Loaded answer={answer} waiting={isGone ? 'Nothing was seen before the process exited.' : 'Asking for the agent …'}>
        {({agent, seen}) => (
          <>
            <p class="bar">
              {agent.loaded ? (
                <button type="button" disabled={isGone || !!busy} onClick={() => void act('Removing the agent …', `agent/detach?pid=${pid}`)}>
                  Detach
                </button>
              ) : (
                <button type="button" class="button main" disabled={isGone || !!busy} onClick={() => void act('Loading the agent …', `agent/attach?pid=${pid}`)}>
                  Attach
                </button>
              )}
              <span class="dim" role="status" data-agent>
                {busy || (agent.loaded ? `Loaded (${agent.mode}, ${agent.identity}); ${agent.sources.length ? agent.sources.join(', ') : 'idle: it costs nothing'}` : 'Not loaded')}
              </span>
              <Age at={answer.at} />
            </p>
            {agent.loaded ? null : <p>The agent is a small native library that sees what only the inside of a process knows. It does nothing until a source is on.</p>}
            {agent.missing?.length ? <Notice hint={agent.missing.join('; ')}>Another profiler is loaded: the agent works beside it, with less.</Notice> : null}
            {agent.sameVersion ? null : <Notice kind="trouble" hint="Detach it, then attach it again.">This agent belongs to another version of clrscope.</Notice>}
            {problem ? <Trouble problem={problem} /> : null}
            {seen?.ended ? <Notice kind="trouble">No longer listening: {seen.ended}. The last data are kept.</Notice> : null}
            {agent.loaded || seen ? (
              <Sources all={sources.data ?? []} seen={seen ?? undefined} isFixed={isGone || !!busy || !agent.loaded} onSwitch={(id, isOn) => toggle(seen, id, isOn)} />
            ) : null}
            {seen ? <Tables seen={seen} open={open} /> : null}
            {agent.loaded ? <Measures pid={pid} isFixed={isGone || !!busy} /> : null}
          </>
        )}
      </Loaded>
    </>
  );
}

interface SourcesProps {
  all: AgentSource[];
  seen: AgentSeen | undefined;
  isFixed: boolean;
  onSwitch: (id: string, isOn: boolean) => void;
}

// A switch for each source, with what it has cost.
function Sources({all, seen, isFixed, onSwitch}: SourcesProps) {
  const stateOf = (id: string): AgentSourceState | undefined => seen?.sources.find((one) => one.id === id);
  return (
    <section aria-label="Sources">
      <h2>Sources</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Sources and their cost">
        <table class="agent-sources">
          <thead>
            <tr>
              <th scope="col">On</th>
              <th scope="col">Source</th>
              <th scope="col" class="num">
                Seen
              </th>
              <th scope="col" class="num">
                Per second
              </th>
              <th scope="col">Cost so far</th>
            </tr>
          </thead>
          <tbody>
            {all
              .filter((one) => one.switchable)
              .map((one) => {
                const state = stateOf(one.id);
                return (
                  <tr key={one.id} data-source={one.id}>
                    <td>
                      <input type="checkbox" aria-label={one.title} checked={!!state?.on} disabled={isFixed} onChange={(event) => onSwitch(one.id, event.currentTarget.checked)} />
                    </td>
                    <td title={one.description}>
                      {one.title} <span class="dim">{one.description}</span>
                    </td>
                    <td class="num">{state?.onMs ? formatNumber(state.count) : ''}</td>
                    <td class="num">{state?.on ? formatNumber(Math.round(state.perSecond ?? 0)) : ''}</td>
                    <td data-price>{state?.onMs ? priceOf(state) : 'nothing'}</td>
                  </tr>
                );
              })}
          </tbody>
        </table>
      </div>
      {seen?.dropped.length ? (
        <Notice kind="trouble">Not recorded: {seen.dropped.map((one) => `${formatNumber(one.count)} ${one.reason}`).join(', ')}.</Notice>
      ) : null}
    </section>
  );
}

const priceOf = (state: AgentSourceState) =>
  `${formatMs(state.callbackMs)} on threads of the process, ${formatPercent(Number(((100 * state.callbackMs) / Math.max(1, state.onMs)).toPrecision(2)))} of one processor`;

function Tables({seen, open}: {seen: AgentSeen; open: OpenSet}) {
  return (
    <>
      {seen.exceptions ? (
        <>
          <h2>Exceptions</h2>
          <ThrownExceptions data={seen.exceptions} open={open} />
        </>
      ) : null}
      {seen.contention ? (
        <>
          <h2>Lock waits</h2>
          <LockWaitsSeen data={seen.contention} open={open} />
        </>
      ) : null}
      {seen.allocations ? (
        <>
          <h2>Allocations</h2>
          <AllocationsSeen data={seen.allocations} open={open} />
        </>
      ) : null}
      {seen.survivors ? (
        <>
          <h2>Survivors</h2>
          <SurvivorsSeen data={seen.survivors} open={open} />
        </>
      ) : null}
    </>
  );
}
