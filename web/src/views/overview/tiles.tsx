// Four numbers that tell how a process does: the current one large, ten minutes below it.
import {type CounterBook, kHistoryMs, summed} from '../../api/counters';
import {type Line, type Point, rangeStart} from '../../ui/chart';
import {useCursor} from '../../ui/cursor';
import {clockTime, formatBytes, formatNumber, formatPercent} from '../../ui/format';
import {valueAt} from '../../ui/legend';
import {Plot} from '../../ui/plot';
import {Clock} from '../../ui/time';

export interface Tile {
  id: string;
  title: string;
  unit: string;
  words: (value: number) => string;
  points: Point[];
  limit?: number; // drawn as a line where the values come near it
  limitWords?: string;
}

const kRuntime = 'System.Runtime';
const kHosting = 'Microsoft.AspNetCore.Hosting';
const kSync = 'tiles';
const kNear = 0.2; // of the limit

// What the tiles need, as GET /counters wants it.
export const kTileCounters =
  `${kRuntime}[dotnet.process.cpu.time,dotnet.process.memory.working_set,dotnet.gc.pause.time,dotnet.thread_pool.queue.length,cpu-usage,working-set,time-in-gc,threadpool-queue-length],` +
  `${kHosting}[http.server.active_requests,http.server.request.duration,current-requests,requests-per-second]`; // the durations count requests, for the list of processes

function percent(value: number): string {
  if (value > 0 && value < 0.1) return '< 0.1 %';
  return `${value.toFixed(value > 0 && value < 10 ? 1 : 0)} %`;
}

// The first of the counters that the process has; older runtimes have other ones. [name, factor]
function first(book: CounterBook, provider: string, ...names: [string, number][]): Point[] {
  for (const [name, factor] of names) {
    const found = book.find(provider, name);
    if (found) return summed(found, book.intervalMs, factor);
  }
  return [];
}

export function tilesOf(book: CounterBook, memoryLimit?: number): Tile[] {
  const memory = first(book, kRuntime, ['dotnet.process.memory.working_set', 1], ['working-set', 1e6]);
  const used = memory[memory.length - 1]?.[1] ?? 0;
  const tiles: Tile[] = [
    {id: 'cpu', title: 'CPU (100 % is one core)', unit: '%', words: percent, points: first(book, kRuntime, ['dotnet.process.cpu.time', 100], ['cpu-usage', 1])},
    {
      id: 'memory',
      title: 'Memory',
      unit: 'By',
      words: formatBytes,
      points: memory,
      limit: memoryLimit && used > memoryLimit * kNear ? memoryLimit : undefined,
      limitWords: memoryLimit ? `limit ${formatBytes(memoryLimit)}, ${formatPercent(Math.round((used / memoryLimit) * 100))} used` : 'no limit',
    },
    {id: 'gc', title: 'GC pause, share of the time', unit: '%', words: percent, points: first(book, kRuntime, ['dotnet.gc.pause.time', 100], ['time-in-gc', 1])},
    {id: 'queue', title: 'Thread pool queue', unit: '', words: formatNumber, points: first(book, kRuntime, ['dotnet.thread_pool.queue.length', 1], ['threadpool-queue-length', 1])},
  ];
  const requests = first(book, kHosting, ['http.server.active_requests', 1], ['current-requests', 1]);
  if (requests.length) tiles.push({id: 'requests', title: 'Requests in flight', unit: '', words: formatNumber, points: requests});
  return tiles;
}

function TileView({tile, from, to, intervalMs}: {tile: Tile; from: number; to: number; intervalMs: number}) {
  const cursor = useCursor(kSync);
  const {points, limit} = tile;
  const last = points[points.length - 1];
  const under = cursor ? valueAt(points, cursor, intervalMs * 2) : undefined;
  const highest = points.reduce((most, [, value]) => Math.max(most, value), 0);
  const lines: Line[] = [{label: tile.title, points}];
  if (limit !== undefined) lines.push({label: 'limit', points: points.map(([ms]): Point => [ms, limit])});
  return (
    <section class="tile" data-tile={tile.id}>
      <h2>{tile.title}</h2>
      <p class="big">{last ? tile.words(last[1]) : '–'}</p>
      <Plot lines={lines} from={from} to={to} unit={tile.unit} height={96} intervalMs={intervalMs} syncKey={kSync} />
      <p class="dim">
        {under ? `${tile.words(under[1])} at ${clockTime(under[0])}` : points.length ? `highest ${tile.words(highest)}${tile.limitWords ? ` · ${tile.limitWords}` : ''}` : 'no value yet'}
      </p>
    </section>
  );
}

export function Tiles({book, tiles}: {book: CounterBook; tiles: Tile[]}) {
  const to = book.latestMs || Date.now();
  const from = rangeStart(to, kHistoryMs, book.firstMs || to);
  return (
    <div class="tiles">
      {tiles.map((tile) => (
        <TileView key={tile.id} tile={tile} from={from} to={to} intervalMs={book.intervalMs} />
      ))}
    </div>
  );
}

const kRows = 600; // as many as the charts have at a value per second

// The same numbers as text, the newest first.
export function TileTable({tiles, intervalMs}: {tiles: Tile[]; intervalMs: number}) {
  const longest = tiles.reduce((most, tile) => (tile.points.length > most.length ? tile.points : most), [] as Point[]);
  const times = longest.slice(-kRows).reverse();
  return (
    <div class="scroll series-table" tabIndex={0} role="region" aria-label="Values of the charts">
      <table>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {tiles.map((tile) => (
              <th scope="col" class="num" key={tile.id}>
                {tile.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {times.map(([ms]) => (
            <tr key={ms}>
              <td>
                <Clock ms={ms} />
              </td>
              {tiles.map((tile) => {
                const point = valueAt(tile.points, ms, intervalMs / 2);
                return (
                  <td class="num" key={tile.id}>
                    {point ? tile.words(point[1]) : ''}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
