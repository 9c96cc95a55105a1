// The four tiles of the overview: the current number large, ten minutes below it.
import {render} from 'preact';
import {CounterBook, type Instrument} from '../../api/counters';
import type {View} from '../../view';
import {type Line, type Point, rangeStart} from '../../ui/chart';
import {formatBytes, formatNumber, withUnit} from '../../ui/format';
import {Plot} from '../../ui/plot';

interface Tile {
  id: string;
  title: string;
  unit: string;
  words: (value: number) => string;
  points: (book: CounterBook) => Point[];
}

// All series of an instrument added up, moment by moment.
function sum(instrument: Instrument | undefined, factor = 1): Point[] {
  if (!instrument) return [];
  const at = new Map<number, number>();
  for (const series of instrument.series.values()) for (const [ms, value] of series.points) at.set(ms, (at.get(ms) ?? 0) + value * factor);
  return [...at].sort((a, b) => a[0] - b[0]);
}

const kRuntime = 'System.Runtime';

const kTiles: Tile[] = [
  {
    id: 'cpu',
    title: 'CPU',
    unit: '%',
    words: (value) => `${formatNumber(value)} %`,
    points: (book) => {
      const time = book.find(kRuntime, 'dotnet.process.cpu.time');
      return time ? sum(time, 100) : sum(book.find(kRuntime, 'cpu-usage'));
    },
  },
  {
    id: 'memory',
    title: 'Memory',
    unit: 'By',
    words: formatBytes,
    points: (book) => {
      const set = book.find(kRuntime, 'dotnet.process.memory.working_set');
      return set ? sum(set) : sum(book.find(kRuntime, 'working-set'), 1e6);
    },
  },
  {
    id: 'gc',
    title: 'GC pause, share of time',
    unit: '%',
    words: (value) => `${value.toFixed(value < 10 ? 2 : 0)} %`,
    points: (book) => {
      const time = book.find(kRuntime, 'dotnet.gc.pause.time');
      return time ? sum(time, 100) : sum(book.find(kRuntime, 'time-in-gc'));
    },
  },
  {
    id: 'queue',
    title: 'Thread pool queue',
    unit: '',
    words: formatNumber,
    points: (book) => sum(book.find(kRuntime, 'dotnet.thread_pool.queue.length', 'threadpool-queue-length')),
  },
];

const kRangeMs = 10 * 60_000;

function Tiles({book}: {book: CounterBook}) {
  const to = book.latestMs || Date.now();
  return (
    <>
      {kTiles.map((tile) => {
        const points = tile.points(book);
        const now = points[points.length - 1];
        const lines: Line[] = [{label: tile.title, points}];
        const top = points.reduce((most, [, value]) => Math.max(most, value), 0);
        return (
          <section class="tile" data-tile={tile.id}>
            <h2>{tile.title}</h2>
            <p class="big">{now ? tile.words(now[1]) : '–'}</p>
            <Plot lines={lines} from={rangeStart(to, kRangeMs, points[0]?.[0] ?? to)} to={to} unit={tile.unit} height={90} intervalMs={book.intervalMs} syncKey="tiles" />
            <p class="dim">{points.length ? `highest of ${points.length} values: ${withUnit(top, tile.unit)}` : 'waiting for the first value'}</p>
          </section>
        );
      })}
    </>
  );
}

export const tiles: View = {
  id: 'tiles',
  title: 'Tiles',
  async start(root, api) {
    const book = new CounterBook(Number(root.dataset.pid));
    await book.load(api);
    root.replaceChildren();
    const draw = () => {
      root.dataset.ended = book.ended;
      render(<Tiles book={book} />, root);
    };
    draw();
    let isDue = false;
    book.follow(api, () => {
      if (isDue) return;
      isDue = true;
      setTimeout(() => {
        isDue = false;
        draw();
      }, 250);
    });
  },
};
