// Sentences of the viewer.
import type {FlameJson} from './data';
import type {Choice} from './tree';
import {countText, durationText} from './words';

export function summaryText(json: FlameJson): string {
  const parts: string[] = [];
  if (json.durationMs > 0) parts.push(`${durationText(json.durationMs * 1000)} recorded ${json.startTime}`);
  if (json.onFrom) parts.push(`${countText(json.samples)} samples on CPU (${json.onFrom})`);
  if (json.offFrom) parts.push(`${countText(json.waits)} ${json.offFrom === 'kernel' ? 'waits' : 'samples waiting'} (${json.offFrom})`);
  if (json.unfinished > 0) parts.push(`${countText(json.unfinished)} not ended when the recording ended`);
  parts.push(`lost ${countText(json.lost)}`);
  if (json.brokenStacks !== undefined) parts.push(`${countText(json.brokenStacks)} stacks cut short`);
  if (json.withoutStack > 0) parts.push(`${countText(json.withoutStack)} without a stack`);
  if (json.folded > 0) parts.push(`${countText(json.folded)} tiny frames folded into their callers`);
  if (json.damage) parts.push(json.damage);
  return parts.join(' · ');
}

export function emptyText(json: FlameJson, choice: Choice): string {
  if (!json.onFrom && !json.offFrom)
    return 'This trace holds no samples of stacks. Record some: clrscope collect -p PID --profile cpu-sampling, or --profile dotnet-sampled-thread-time where perf may not be used.';
  const whose = choice.thread >= 0 ? 'This thread' : choice.process >= 0 ? 'This process' : 'Nothing';
  if (choice.weight === 'off' && !json.offFrom)
    return 'This trace does not tell of waiting. Record it: clrscope collect -p PID --profile thread-time.';
  if (choice.weight === 'on' && !json.onFrom) return 'This trace does not tell of time on processors. Choose Waiting.';
  if (choice.weight === 'off') return whose === 'Nothing' ? 'No thread was seen waiting.' : `${whose} was not seen waiting. Choose On CPU, or other threads.`;
  return whose === 'Nothing' ? 'No thread was seen on a processor.' : `${whose} was not seen on a processor. Choose Waiting, or other threads.`;
}

const kKeys: [string, string][] = [
  ['click, Enter', 'zoom in'],
  ['Esc, Backspace', 'back out'],
  ['Home', 'show everything'],
  ['arrows', 'move from frame to frame'],
  ['/', 'search; Enter or n goes to the next match'],
  ['i', 'invert: callers below what they called'],
  ['f', 'hide the framework'],
  ['w', 'on CPU, waiting, both'],
  ['t', 'table'],
  ['c', 'copy the name'],
];

export function keysText(): HTMLElement {
  const list = document.createElement('dl');
  for (const [key, meaning] of kKeys) {
    const term = document.createElement('dt');
    const mark = document.createElement('kbd');
    mark.textContent = key;
    term.append(mark);
    const text = document.createElement('dd');
    text.textContent = meaning;
    list.append(term, text);
  }
  const form = document.createElement('form');
  form.method = 'dialog';
  const close = document.createElement('button');
  close.textContent = 'Close';
  form.append(list, close);
  return form;
}
