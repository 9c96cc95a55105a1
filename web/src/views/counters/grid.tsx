// Small multiples: the pinned ones, then those of each provider.
import {Fragment} from 'preact';
import type {CounterBook, Instrument} from '../../api/counters';
import type {OpenSet} from '../../ui/fold';
import {Card, linesOf, type Range} from './card';
import {usePins} from './pins';

const kPinned = 'Pinned';

// Names that have all words of the search.
export function matching(book: CounterBook, search: string): Instrument[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return [...book.instruments.values()].filter((one) => {
    const text = `${one.provider} ${one.name} ${one.title}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

interface GridProps extends Range {
  book: CounterBook;
  other?: CounterBook; // compared with it
  names: [own: string, other: string]; // of the two
  instruments: Instrument[];
  open: OpenSet;
}

export function Grid({book, other, names, instruments, open, from, to}: GridProps) {
  const {pins, toggle} = usePins();
  const groups = new Map<string, Instrument[]>();
  const sorted = [...instruments].sort((a, b) => Number(pins.has(b.id)) - Number(pins.has(a.id)) || a.provider.localeCompare(b.provider) || a.title.localeCompare(b.title));
  for (const one of sorted) {
    const group = pins.has(one.id) ? kPinned : one.provider;
    groups.set(group, [...(groups.get(group) ?? []), one]);
  }
  return (
    <div class="counters">
      {[...groups].map(([group, list]) => (
        <Fragment key={group}>
          <h2>
            {group} <span class="dim">{list.length === 1 ? '1 counter' : `${list.length} counters`}</span>
          </h2>
          {list.map((one) => {
            const lines = linesOf(one, other?.instruments.get(one.id), names, {from, to});
            return <Card key={one.id} instrument={one} lines={lines} from={from} to={to} intervalMs={book.intervalMs} isPinned={pins.has(one.id)} onPin={() => toggle(one.id)} open={open} />;
          })}
        </Fragment>
      ))}
    </div>
  );
}
