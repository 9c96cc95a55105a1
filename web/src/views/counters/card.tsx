// One counter: its chart, the values under the shared cursor, its table.
import type {Instrument} from '../../api/counters';
import type {Line} from '../../ui/chart';
import {Fold, type OpenSet} from '../../ui/fold';
import {Legend} from '../../ui/legend';
import {Plot} from '../../ui/plot';
import {SeriesTable} from '../../ui/series-table';
import {Wrapped} from '../../ui/wrapped';

const kMostLines = 8; // of a process

export interface Range {
  from: number; // ms since 1970
  to: number;
}

// Lines of an instrument, with `before` in front of each name: which process it is of. The same series of two processes
// have the same colour, and the second one is dashed.
export function linesOf(instrument: Instrument, compared: Instrument | undefined, before: [string, string], {from, to}: Range): Line[] {
  const tones = new Map([...instrument.series.keys()].map((tags, i) => [tags, i]));
  for (const tags of compared?.series.keys() ?? []) if (!tones.has(tags)) tones.set(tags, tones.size);
  return [instrument, compared].flatMap((one, i) =>
    [...(one?.series.values() ?? [])].map((series) => ({
      label: [compared ? before[i] : '', shortTags(series.tags)].filter(Boolean).join(' '),
      points: series.points.filter(([ms]) => ms >= from && ms <= to),
      tone: tones.get(series.tags),
      dashed: i === 1,
    })),
  );
}

// "gen0" instead of "gc.heap.generation=gen0": the title of the chart says what it is.
function shortTags(tags: string): string {
  return tags
    .split(', ')
    .map((tag) => tag.slice(tag.indexOf('=') + 1))
    .join(', ');
}

// "route, status" of "route=/a, status=200".
function tagNames(instrument: Instrument): string {
  const [first] = instrument.series.values();
  return (first?.tags ?? '')
    .split(', ')
    .filter((tag) => tag.includes('='))
    .map((tag) => tag.slice(0, tag.indexOf('=')))
    .join(', ');
}

// As in an address: no line breaks, no commas.
export const cardId = (instrument: Instrument): string => `${instrument.provider}/${instrument.name}`.replace(/[,\s]/g, '_');

interface CardProps extends Range {
  instrument: Instrument;
  lines: Line[];
  intervalMs: number;
  isPinned: boolean;
  onPin: () => void;
  open: OpenSet;
}

export function Card({instrument, lines, from, to, intervalMs, isPinned, onPin, open}: CardProps) {
  const {unit, title} = instrument;
  const drawn = lines.filter((line) => (line.tone ?? 0) < kMostLines);
  const more = lines.length - drawn.length;
  const tags = tagNames(instrument);
  return (
    <section class="counter" data-counter={instrument.name}>
      <h3>
        <span title={`${instrument.provider} ${instrument.name}`}>
          <Wrapped text={title} />
          {tags ? (
            <span class="dim">
              {' '}
              by <Wrapped text={tags} />
            </span>
          ) : null}
        </span>
        <button type="button" class="pin" aria-pressed={isPinned} aria-label={`Pin ${title}`} title={isPinned ? 'No longer on top' : 'Keep on top'} onClick={onPin}>
          {isPinned ? '★' : '☆'}
        </button>
      </h3>
      <Legend lines={drawn} unit={unit} reachMs={intervalMs * 1.75} syncKey="counters" />
      <Plot lines={drawn} from={from} to={to} unit={unit} height={120} intervalMs={intervalMs} syncKey="counters" />
      {more > 0 ? <p class="dim">{more} more series are in the table only.</p> : null}
      <Fold id={cardId(instrument)} open={open} summary="Table">
        <SeriesTable title={title} lines={lines} unit={unit} withinMs={intervalMs / 2} />
      </Fold>
    </section>
  );
}
