// What the reader chose, as query parameters: they survive reload, go back and forth, and can be passed on.
import type {Query} from '../../frame/router';
import {kKinds} from '../../ui/kinds';
import type {Trace} from './data';
import type {Choice, Weight} from './tree';

export type Panel = 'tree' | 'functions' | 'off';

export interface FlameState {
  choice: Choice;
  isSandwich: boolean;
  fn: string; // the function in the middle of the sandwich
  zoom: string; // key of a path, or empty
  search: string;
  panel: Panel | ''; // empty: as fits the screen
  sort: string; // of the functions: a column, "-" before it: the largest first
  filter: string; // of the functions
}

export const kFramework = [kKinds.indexOf('framework'), kKinds.indexOf('runtime')];
const kPanels: readonly string[] = ['tree', 'functions', 'off'];

// A recording without samples on processors is about waiting.
function defaultWeight({json}: Trace): Weight {
  return json.samples === 0 && json.waits > 0 ? 'off' : 'on';
}

// Those with data. Where it can be recorded what is missing, its view says so.
export function weightsOf({json}: Trace, canRecord: boolean): Weight[] {
  if (canRecord || (json.onFrom && json.offFrom)) return ['on', 'off', 'both'];
  return json.offFrom ? ['off'] : ['on'];
}

export function readState(query: URLSearchParams, trace: Trace, canRecord = true): FlameState {
  const {json} = trace;
  const weight = weightsOf(trace, canRecord).find((one) => one === query.get('weight'));
  const hidden = (query.get('hide') ?? '').split(',');
  const indexOf = (name: string, find: (id: number) => number) => (query.has(name) ? find(Number(query.get(name))) : -1);
  const panel = query.get('panel') ?? '';
  return {
    choice: {
      weight: weight ?? defaultWeight(trace),
      inverted: query.get('inverted') === '1',
      hiddenKinds: new Set(kKinds.flatMap((kind, index) => (hidden.includes(kind) ? [index] : []))),
      unnamed: query.get('unnamed') === '1',
      thread: indexOf('thread', (id) => json.threadId.indexOf(id)),
      process: indexOf('process', (id) => json.processes.findIndex((one) => one.pid === id)),
    },
    isSandwich: query.get('view') === 'sandwich',
    fn: query.get('fn') ?? '',
    zoom: query.get('zoom') ?? '',
    search: query.get('q') ?? '',
    panel: kPanels.includes(panel) ? (panel as Panel) : '',
    sort: query.get('sort') ?? '-self',
    filter: query.get('filter') ?? '',
  };
}

// The parameters of a choice; those that are as they are anyway are left out.
export function choiceQuery(choice: Choice, trace: Trace): Query {
  const {json} = trace;
  return {
    weight: choice.weight === defaultWeight(trace) ? undefined : choice.weight,
    inverted: choice.inverted ? '1' : undefined,
    hide: [...choice.hiddenKinds].map((kind) => kKinds[kind]).join(','),
    unnamed: choice.unnamed ? '1' : undefined,
    thread: choice.thread >= 0 ? json.threadId[choice.thread] : undefined,
    process: choice.thread < 0 && choice.process >= 0 ? json.processes[choice.process].pid : undefined,
  };
}
