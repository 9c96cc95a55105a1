// One recording: what it is, what can be made of it, its name, its end.
import type {ComponentChildren} from 'preact';
import {useState} from 'preact/hooks';
import type {Format, Recording} from '../../api/types';
import {addressOf, open} from '../../frame/router';
import {formatBytes, formatNumber, formatSeconds} from '../../ui/format';
import {Lost, Notice} from '../../ui/state';
import {Time} from '../../ui/time';
import {Confirm} from '../../ui/confirm';
import {isRunning, processWords, titleOf} from './list';

interface DetailsProps {
  recording: Recording;
  others: Recording[]; // to compare with
  formats: Format[];
  addressAs: (format: string) => string;
  speedscope: string; // address
  htmlFile: string; // address
  onRename: (name: string) => void;
  onDelete: () => void;
}

export function Details({recording: one, others, formats, addressAs, speedscope, htmlFile, onRename, onDelete}: DetailsProps) {
  const facts: [string, ComponentChildren][] = [
    ['Process', one.process.pid ? <a href={addressOf('/overview', {pid: one.process.pid})}>{processWords(one)}</a> : processWords(one) || 'not known'],
    ['Started', <Time iso={one.started} />],
    ['Length', one.durationMs ? formatSeconds(one.durationMs / 1000) : 'not known'],
    ['Size', formatBytes(one.bytes)],
    ['Events', formatNumber(one.events)],
    ['Samples', one.kind === 'upload' ? 'see the reports' : `${formatNumber(one.samples)}${one.sampling ? ` by ${one.sampling}` : ''}`],
    ['Lost', formatNumber(one.lost)],
    ['Profile', one.profile],
    ['Providers', one.providers.join(', ')],
    ['Ended by', one.ending],
    ['Asked for by', one.by],
    ['File', one.file],
  ];
  return (
    <>
      {isRunning(one) ? null : (
        <>
          <p class="bar">
            <a class="button main" href={addressOf('/flame', {recording: one.id, pid: one.process.pid || undefined})}>
              Flame graph
            </a>
            <a class="button" href={speedscope} data-outside>
              Open in speedscope
            </a>
            <CompareWith recording={one} others={others} />
          </p>
          <p class="bar downloads">
            <span>Download:</span>
            {formats.map((format) => (
              <a key={format.name} href={addressAs(format.name)} download data-outside title={format.summary}>
                {format.name}
              </a>
            ))}
            <a href={htmlFile} download data-outside title="the flame graph as one HTML file">
              HTML
            </a>
          </p>
          <div class="bar">
            <Rename key={one.id} recording={one} onRename={onRename} />
            <Confirm words="Delete" question={`Delete ${titleOf(one)} for good?`} onConfirm={onDelete} />
          </div>
        </>
      )}
      <dl class="facts-list">
        {facts.map(([title, value]) =>
          value === '' ? null : (
            <div key={title}>
              <dt>{title}</dt>
              <dd>{value}</dd>
            </div>
          ),
        )}
      </dl>
      <Lost lost={one.lost} />
      {one.notes.map((note) => (
        <Notice key={note}>{note}</Notice>
      ))}
    </>
  );
}

function CompareWith({recording, others}: {recording: Recording; others: Recording[]}) {
  if (!others.length) return null;
  return (
    <label>
      compare with
      <select
        value=""
        onChange={(event) => {
          const other = event.currentTarget.value;
          if (other) open(addressOf('/flame', {recording: recording.id, compare: other, pid: recording.process.pid || undefined}));
        }}
      >
        <option value="">another recording …</option>
        {others.map((one) => (
          <option key={one.id} value={one.id}>
            {titleOf(one)}
          </option>
        ))}
      </select>
    </label>
  );
}

function Rename({recording, onRename}: {recording: Recording; onRename: (name: string) => void}) {
  const [name, setName] = useState(recording.name ?? '');
  return (
    <form
      class="bar rename"
      onSubmit={(event) => {
        event.preventDefault();
        onRename(name.trim());
      }}
    >
      <label>
        Name <input name="name" maxLength={200} placeholder={recording.file} value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </label>
      <button type="submit" disabled={name.trim() === (recording.name ?? '')}>
        Rename
      </button>
    </form>
  );
}
