// The rows of switches above the picture: what is shown, of whom, and the search.
import type {Ref} from 'preact';
import {useMemo} from 'preact/hooks';
import {kindTitles, kKinds} from '../../ui/kinds';
import {kWaitingKind, type Trace} from './data';
import type {FlameState} from './state';
import {kFramework} from './state';
import type {Choice, Weight} from './tree';
import {durationText} from './words';

const kWeights: [Weight, string, string][] = [
  ['on', 'On CPU', 'Time on a processor (w)'],
  ['off', 'Waiting', 'Time not on a processor: locks, I/O, sleep (w)'],
  ['both', 'Both', 'Both; waiting is a frame of its own (w)'],
];

interface ToolbarProps {
  trace: Trace;
  state: FlameState;
  weights: Weight[]; // that there are
  isTableShown: boolean;
  isCompared: boolean;
  result: string; // of the search
  searchBox: Ref<HTMLInputElement>;
  onChoice: (change: Partial<Choice>) => void;
  onKinds: (kinds: number[]) => void;
  onView: (isSandwich: boolean) => void;
  onTable: () => void;
  onReset: () => void;
  onSearch: (text: string) => void;
  onNextMatch: () => void;
}

function Switch({title, help, isOn, isDisabled, onPress}: {title: string; help: string; isOn?: boolean; isDisabled?: boolean; onPress: () => void}) {
  return (
    <button type="button" title={help} aria-pressed={isOn} disabled={isDisabled} onClick={onPress}>
      {title}
    </button>
  );
}

export function Toolbar(props: ToolbarProps) {
  const {state, onChoice} = props;
  const {choice} = state;
  return (
    <div class="flame-bar" role="toolbar" aria-label="Flame graph">
      <span class="flame-group">
        <Switch title="Flame" help="Everything, from the roots to the leaves (v)" isOn={!state.isSandwich} onPress={() => props.onView(false)} />
        <Switch title="Sandwich" help="Callers and callees of one function (v)" isOn={state.isSandwich} onPress={() => props.onView(true)} />
      </span>
      <span class="flame-group" hidden={props.weights.length < 2}>
        {kWeights.filter(([weight]) => props.weights.includes(weight)).map(([weight, title, help]) => (
          <Switch key={weight} title={title} help={help} isOn={choice.weight === weight} onPress={() => onChoice({weight})} />
        ))}
      </span>
      {props.trace.json.threadId.length > 1 ? <Who trace={props.trace} choice={choice} isDisabled={props.isCompared} onChoice={onChoice} /> : null}
      <Switch title="Invert" help="Callers below what they called (i)" isOn={choice.inverted} isDisabled={state.isSandwich} onPress={() => onChoice({inverted: !choice.inverted})} />
      <Switch title="Hide framework" help="Take frames of .NET itself out; their time is their callers’ (f)" isOn={kFramework.every((kind) => choice.hiddenKinds.has(kind))} onPress={() => props.onKinds(kFramework)} />
      <Switch title="Table" help="The same as a table (t)" isOn={props.isTableShown} onPress={props.onTable} />
      <Switch title="Reset zoom" help="Show everything (Home)" isDisabled={!state.zoom || state.isSandwich} onPress={props.onReset} />
      <input
        type="search"
        ref={props.searchBox}
        value={state.search}
        placeholder="Search (/)"
        aria-label="Search functions"
        title="A part of a name or module, or /regular expression/. Enter goes from match to match."
        onInput={(event) => props.onSearch(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Enter' && props.onNextMatch()}
      />
    </div>
  );
}

// Threads, those with most time on processors first.
function Who({trace, choice, isDisabled, onChoice}: {trace: Trace; choice: Choice; isDisabled: boolean; onChoice: ToolbarProps['onChoice']}) {
  const {json} = trace;
  const groups = useMemo(() => {
    const on = new Float64Array(json.threadId.length);
    const off = new Float64Array(json.threadId.length);
    json.rowThread.forEach((thread, i) => {
      on[thread] += json.rowOnUs[i];
      off[thread] += json.rowOffUs[i];
    });
    return json.processes
      .map((process, index) => ({
        index,
        label: `${process.name || 'process'} (${process.pid})`,
        threads: json.threadId
          .map((id, thread) => ({thread, label: `${json.threadName[thread] || 'thread'} ${id} · ${durationText(on[thread])}`}))
          .filter(({thread}) => json.threadProcess[thread] === index)
          .sort((a, b) => on[b.thread] - on[a.thread] || off[b.thread] - off[a.thread]),
      }))
      .filter((one) => one.threads.length > 0);
  }, [json]);
  const value = choice.thread >= 0 ? `t${choice.thread}` : choice.process >= 0 ? `p${choice.process}` : 'all';
  return (
    <select
      aria-label="Threads"
      title={isDisabled ? 'A comparison is of all threads' : 'Of which threads'}
      value={value}
      disabled={isDisabled}
      onChange={(event) => {
        const chosen = event.currentTarget.value;
        const number = Number(chosen.slice(1));
        onChoice({process: chosen.startsWith('p') ? number : -1, thread: chosen.startsWith('t') ? number : -1});
      }}
    >
      <option value="all">{json.processes.length > 1 ? `all processes (${json.processes.length})` : `all threads (${json.threadId.length})`}</option>
      {groups.map((group) => (
        <optgroup key={group.index} label={group.label}>
          {json.processes.length > 1 ? <option value={`p${group.index}`}>all of {group.label}</option> : null}
          {group.threads.map((one) => (
            <option key={one.thread} value={`t${one.thread}`}>
              {one.label}
            </option>
          ))}
        </optgroup>
      ))}
    </select>
  );
}

// Whose code has which colour; each can be taken out. In a comparison colours mean something else.
export function Legend({trace, state, isCompared, result, onKinds, onChoice}: Pick<ToolbarProps, 'trace' | 'state' | 'isCompared' | 'result' | 'onKinds' | 'onChoice'>) {
  const used = useMemo(() => new Set(Array.from(trace.nodeName.subarray(1), (name) => trace.kinds[name])), [trace]);
  const {hiddenKinds, unnamed} = state.choice;
  return (
    <div class="flame-legend" role="group" aria-label="Kinds of code; press one to take its frames out">
      {isCompared ? (
        <span class="flame-key">
          <span class="flame-dot diff-more" />
          larger share (+) <span class="flame-dot diff-less" />
          smaller share (−), in percentage points (pp) of all time. Take out:
        </span>
      ) : null}
      {kKinds.map((kind, index) =>
        used.has(index) ? (
          <button key={kind} type="button" aria-pressed={!hiddenKinds.has(index)} title={hiddenKinds.has(index) ? 'taken out: press to show' : 'press to take out'} onClick={() => onKinds([index])}>
            {isCompared ? null : <span class={`flame-dot kind-${index}`} />}
            {kindTitles[kind]}
          </button>
        ) : null,
      )}
      {trace.json.offFrom && !isCompared ? (
        <span class="flame-key">
          <span class={`flame-dot kind-${kWaitingKind}`} />
          waiting
        </span>
      ) : null}
      {trace.hasUnnamed ? (
        <label class="flame-key">
          <input type="checkbox" checked={!unnamed} onChange={() => onChoice({unnamed: !unnamed})} /> fold functions without names
        </label>
      ) : null}
      <output class="flame-result mono">{result}</output>
    </div>
  );
}
