// Recordings that are kept, as a table; some can be chosen, to compare or to delete.
import type {Recording} from '../../api/types';
import {addressOf} from '../../frame/router';
import {formatBytes, formatNumber, formatSeconds} from '../../ui/format';
import {type Column, Table} from '../../ui/table';
import {Time} from '../../ui/time';
import {Wrapped} from '../../ui/wrapped';

export const titleOf = (one: Recording): string => one.name || one.file;
export const isRunning = (one: Recording): boolean => ['starting', 'recording', 'stopping'].includes(one.state);

export function processWords(one: Recording): string {
  if (!one.process.pid) return one.kind === 'upload' ? '' : 'whole machine';
  return `${one.process.name} (${one.process.pid})`;
}

export function matches(one: Recording, filter: string): boolean {
  const word = filter.trim().toLowerCase();
  return [titleOf(one), one.file, processWords(one), one.profile, one.kind, one.by].some((text) => text.toLowerCase().includes(word));
}

// Of one that is not whole.
function stateWords({state}: Recording): string {
  if (state === 'finished') return '';
  return state === 'lost' ? 'cut: server stopped' : state;
}

interface ListProps {
  recordings: Recording[];
  chosen: string[];
  onChoose: (id: string, isChosen: boolean) => void;
  detailsOf: (one: Recording) => string; // address
}

export function List({recordings, chosen, onChoose, detailsOf}: ListProps) {
  const columns: Column<Recording>[] = [
    {
      id: 'chosen',
      title: 'Choose',
      value: (one) => (chosen.includes(one.id) ? 0 : 1),
      show: (one) => <input type="checkbox" aria-label={`Choose ${titleOf(one)}`} checked={chosen.includes(one.id)} onChange={(event) => onChoose(one.id, event.currentTarget.checked)} />,
    },
    {
      id: 'name',
      title: 'Name',
      value: titleOf,
      show: (one) => (
        <>
          <a href={detailsOf(one)}>
            <Wrapped text={titleOf(one)} />
          </a>
          <div>{one.kind === 'heap' ? <a href={addressOf('/heap', {pid: one.process.pid, snapshot: one.id})}>Heap</a> : <a href={addressOf('/flame', {recording: one.id, pid: one.process.pid || undefined})}>Flame graph</a>}</div>
          <div class="dim">{[one.kind === 'upload' ? 'uploaded' : one.profile || one.notes[0]?.replace(/^Profile: /, ''), stateWords(one)].filter(Boolean).join(' · ')}</div>
        </>
      ),
    },
    {id: 'process', title: 'Process', value: processWords},
    {id: 'started', title: 'Started', value: (one) => one.started, show: (one) => <Time iso={one.started} />},
    {id: 'length', title: 'Length', value: (one) => one.durationMs, show: (one) => (one.durationMs ? formatSeconds(one.durationMs / 1000) : ''), as: 'number'},
    {id: 'size', title: 'Size', value: (one) => one.bytes, show: (one) => formatBytes(one.bytes), as: 'number'},
    {id: 'samples', title: 'Samples', value: (one) => one.samples, show: (one) => (one.kind === 'upload' ? '' : formatNumber(one.samples)), as: 'number'},
    {id: 'events', title: 'Events', value: (one) => one.events, show: (one) => formatNumber(one.events), as: 'number'},
    {id: 'lost', title: 'Lost', value: (one) => one.lost, show: (one) => <span class={one.lost ? 'warn' : ''}>{formatNumber(one.lost)}</span>, as: 'number'},
  ];
  return <Table id="recordings" caption="Recordings, the newest first" rows={recordings} columns={columns} rowKey={(one) => one.id} most={1000} />;
}
