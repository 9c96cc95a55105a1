// Sentences of the viewer.
import type {Ref} from 'preact';
import type {Flame} from '../../api/types';
import {formatNumber} from '../../ui/format';
import {Notice} from '../../ui/state';
import {Time} from '../../ui/time';
import type {Choice} from './tree';
import {durationText, percentText} from './words';

export function Summary({json}: {json: Flame}) {
  const parts: string[] = [];
  if (json.onFrom) parts.push(`${formatNumber(json.samples)} samples on CPU (${json.onFrom})`);
  if (json.offFrom) parts.push(`${formatNumber(json.waits)} ${json.offFrom === 'kernel' ? 'waits' : 'samples waiting'} (${json.offFrom})`);
  if (json.unfinished > 0) parts.push(`${formatNumber(json.unfinished)} not ended when the recording ended`);
  parts.push(`lost ${formatNumber(json.lost)}`);
  if (json.brokenStacks !== undefined) parts.push(`${formatNumber(json.brokenStacks)} stacks cut short`);
  if (json.withoutStack > 0) parts.push(`${formatNumber(json.withoutStack)} without a stack`);
  if (json.folded > 0) parts.push(`${formatNumber(json.folded)} tiny frames folded into their callers`);
  return (
    <p class="flame-summary">
      {json.durationMs ? (
        <>
          {durationText(json.durationMs * 1000)} recorded <Time iso={json.startTime} /> ·{' '}
        </>
      ) : null}
      {parts.join(' · ')}
    </p>
  );
}

const kManyBroken = 0.05; // of all samples

// What makes the picture less than true; `whose` is "The recording" or another.
export function Flaws({json, whose}: {json: Flame; whose: string}) {
  const broken = json.brokenStacks ?? 0;
  const stacks = json.samples + json.waits;
  return (
    <>
      {json.damage ? <Notice kind="trouble">{whose} is damaged: {json.damage}. What could be read is shown.</Notice> : null}
      {json.lost > 0 ? <Notice kind="trouble">{whose} lost {formatNumber(json.lost)} events: its times are too small by that.</Notice> : null}
      {broken > stacks * kManyBroken ? (
        <Notice>
          {whose} has {formatNumber(broken)} stacks ({percentText(broken, stacks)}) that were cut short: their outermost callers are missing.
        </Notice>
      ) : null}
    </>
  );
}

interface EmptyProps {
  json: Flame;
  choice: Choice;
  recordAddress?: (profile: string) => string; // where one can record; not in a file
}

export function Empty({json, choice, recordAddress}: EmptyProps) {
  const action = (profile: string, title: string, command: string) =>
    recordAddress ? (
      <p>
        <a class="button main" href={recordAddress(profile)}>
          {title}
        </a>
      </p>
    ) : (
      <p>
        Record it: <code>{command}</code>
      </p>
    );
  if (!json.onFrom && !json.offFrom)
    return (
      <div class="flame-empty" role="status">
        <p>This recording holds no samples of stacks.</p>
        {action('cpu-sampling', 'Record CPU', 'clrscope collect -p PID --profile cpu-sampling')}
      </div>
    );
  if (choice.weight === 'off' && !json.offFrom)
    return (
      <div class="flame-empty" role="status">
        <p>This recording does not tell of waiting.</p>
        {action('thread-time', 'Record waits', 'clrscope collect -p PID --profile thread-time')}
      </div>
    );
  if (choice.weight === 'on' && !json.onFrom)
    return (
      <div class="flame-empty" role="status">
        <p>This recording does not tell of time on processors. Choose Waiting.</p>
        {action('cpu-sampling', 'Record CPU', 'clrscope collect -p PID --profile cpu-sampling')}
      </div>
    );
  const whose = choice.thread >= 0 ? 'This thread' : choice.process >= 0 ? 'This process' : '';
  const where = choice.weight === 'off' ? 'waiting' : 'on a processor';
  const other = choice.weight === 'off' ? 'On CPU' : 'Waiting';
  return (
    <div class="flame-empty" role="status">
      <p>{whose ? `${whose} was not seen ${where}. Choose ${other}, or other threads.` : `No thread was seen ${where}.`}</p>
    </div>
  );
}

const kKeys: [string, string][] = [
  ['click, Enter', 'zoom in; in the sandwich: put the function into the middle'],
  ['Esc, Backspace', 'back out'],
  ['Home', 'show everything'],
  ['arrows', 'move from frame to frame'],
  ['right click, m, menu key', 'what can be done with a frame'],
  ['/', 'search; Enter or n goes to the next match'],
  ['v', 'flame graph or sandwich'],
  ['i', 'invert: callers below what they called'],
  ['f', 'hide the framework'],
  ['w', 'on CPU, waiting, both'],
  ['t', 'table'],
  ['c', 'copy the name'],
];

export function KeysDialog({dialog}: {dialog: Ref<HTMLDialogElement>}) {
  return (
    <dialog class="flame-keys" aria-label="Keys of the flame graph" ref={dialog}>
      <form method="dialog">
        <dl>
          {kKeys.map(([key, meaning]) => (
            <>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{meaning}</dd>
            </>
          ))}
        </dl>
        <button>Close</button>{' '}
        {document.getElementById('keys') ? <button data-keys>Keys of all pages</button> : null}
      </form>
    </dialog>
  );
}
