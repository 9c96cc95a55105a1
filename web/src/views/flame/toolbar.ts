// The row of switches above the picture: what is shown, of whom, and the search.
import {kindTitles, kKinds} from '../../ui/kinds';
import type {Trace} from './data';
import {kWaitingKind, type Weight} from './tree';
import {durationText} from './words';

export interface ToolbarEvents {
  onWeight(weight: Weight): void;
  onWho(process: number, thread: number): void;
  onInvert(): void;
  onFramework(): void;
  onKind(kind: number): void;
  onTable(): void;
  onSearch(text: string): void;
  onNextMatch(): void;
  onReset(): void;
}

export class Toolbar {
  readonly element = document.createElement('div');
  readonly legend = document.createElement('div');
  readonly searchBox = document.createElement('input');
  private weights = new Map<Weight, HTMLButtonElement>();
  private kinds = new Map<number, HTMLButtonElement>();
  private who = document.createElement('select');
  private result = document.createElement('output');
  private invertButton: HTMLButtonElement;
  private frameworkButton: HTMLButtonElement;
  private tableButton: HTMLButtonElement;
  private resetButton: HTMLButtonElement;

  constructor(trace: Trace, private events: ToolbarEvents) {
    this.element.className = 'flame-bar';
    this.element.setAttribute('role', 'toolbar');
    this.element.setAttribute('aria-label', 'Flame graph');
    const choices = document.createElement('span');
    choices.className = 'flame-group';
    for (const [weight, title, help] of kWeights) {
      const one = button(title, help, () => events.onWeight(weight));
      this.weights.set(weight, one);
      choices.append(one);
    }
    this.invertButton = button('Invert', 'Callers below what they called (i)', () => events.onInvert());
    this.frameworkButton = button('Hide framework', 'Take frames of .NET itself out; their time is their callers’ (f)', () => events.onFramework());
    this.tableButton = button('Table', 'The call tree as a table (t)', () => events.onTable());
    this.resetButton = button('Reset zoom', 'Show everything (Home)', () => events.onReset());
    this.searchBox.type = 'search';
    this.searchBox.placeholder = 'Search (/)';
    this.searchBox.setAttribute('aria-label', 'Search functions');
    this.searchBox.title = 'A part of a name or module, or /regular expression/. Enter goes from match to match.';
    this.searchBox.addEventListener('input', () => events.onSearch(this.searchBox.value));
    this.searchBox.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') events.onNextMatch();
    });
    this.result.className = 'flame-result mono';
    this.fillWho(trace);
    this.element.append(choices, this.who, this.invertButton, this.frameworkButton, this.tableButton, this.resetButton, this.searchBox);
    this.legend.className = 'flame-legend';
    this.legend.setAttribute('aria-label', 'Kinds of code; press one to take its frames out');
    this.legend.setAttribute('role', 'group');
    this.fillLegend(trace);
    this.legend.append(this.result); // here it moves nothing when it comes
  }

  private fillWho(trace: Trace): void {
    const {json} = trace;
    const times = new Float64Array(json.threadId.length);
    for (let i = 0; i < json.rowThread.length; ++i) times[json.rowThread[i]] += json.rowOnUs[i] + json.rowOffUs[i] * 1e-6;
    const onCpu = (thread: number) => Math.floor(times[thread]);
    this.who.setAttribute('aria-label', 'Threads');
    this.who.title = 'Of which threads';
    this.who.append(new Option(json.processes.length > 1 ? `all processes (${json.processes.length})` : `all threads (${json.threadId.length})`, 'all'));
    json.processes.forEach((process, index) => {
      const threads = json.threadId.map((_, thread) => thread).filter((thread) => json.threadProcess[thread] === index);
      if (threads.length === 0) return;
      threads.sort((a, b) => times[b] - times[a]);
      const group = document.createElement('optgroup');
      group.label = `${process.name || 'process'} (${process.pid})`;
      if (json.processes.length > 1) group.append(new Option(`all of ${group.label}`, `p${index}`));
      for (const thread of threads)
        group.append(new Option(`${json.threadName[thread] || 'thread'} ${json.threadId[thread]} · ${durationText(onCpu(thread))}`, `t${thread}`));
      this.who.append(group);
    });
    this.who.addEventListener('change', () => {
      const value = this.who.value;
      const number = Number(value.slice(1));
      this.events.onWho(value.startsWith('p') ? number : -1, value.startsWith('t') ? number : -1);
    });
  }

  private fillLegend(trace: Trace): void {
    const used = new Set(Array.from(trace.nodeName.subarray(1), (name) => trace.json.nameKind[name]));
    kKinds.forEach((kind, index) => {
      if (!used.has(index)) return;
      const one = button('', '', () => this.events.onKind(index));
      const dot = document.createElement('span');
      dot.className = `flame-dot kind-${index}`;
      one.append(dot, kindTitles[kind]);
      this.kinds.set(index, one);
      this.legend.append(one);
    });
    const waiting = document.createElement('span');
    waiting.className = 'flame-waiting-key';
    const dot = document.createElement('span');
    dot.className = `flame-dot kind-${kWaitingKind}`;
    waiting.append(dot, 'waiting');
    this.legend.append(waiting);
  }

  show(state: {weight: Weight; inverted: boolean; hidden: ReadonlySet<number>; framework: boolean; table: boolean; zoomed: boolean; who: string}): void {
    for (const [weight, one] of this.weights) one.setAttribute('aria-pressed', String(weight === state.weight));
    for (const [kind, one] of this.kinds) {
      const hidden = state.hidden.has(kind);
      one.setAttribute('aria-pressed', String(!hidden));
      one.title = hidden ? 'taken out: press to show' : 'press to take out';
    }
    this.invertButton.setAttribute('aria-pressed', String(state.inverted));
    this.frameworkButton.setAttribute('aria-pressed', String(state.framework));
    this.tableButton.setAttribute('aria-pressed', String(state.table));
    this.resetButton.disabled = !state.zoomed;
    this.who.value = state.who;
  }

  showResult(text: string): void {
    this.result.textContent = text;
  }
}

const kWeights: [Weight, string, string][] = [
  ['on', 'On CPU', 'Time on a processor'],
  ['off', 'Waiting', 'Time not on a processor: locks, I/O, sleep'],
  ['both', 'Both', 'Both; waiting is a frame of its own'],
];

function button(text: string, help: string, onClick: () => void): HTMLButtonElement {
  const made = document.createElement('button');
  made.type = 'button';
  made.textContent = text;
  made.title = help;
  made.addEventListener('click', onClick);
  return made;
}
