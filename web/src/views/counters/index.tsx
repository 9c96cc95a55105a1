// Small multiples of all counters: search, range, pause, pins, a second process beside the first.
import {render} from 'preact';
import {useEffect, useMemo, useReducer, useRef, useState} from 'preact/hooks';
import {CounterBook, type Instrument} from '../../api/counters';
import {type Api, messageOf} from '../../api/client';
import type {View} from '../../view';
import {type Line, type Point, rangeStart, swatch} from '../../ui/chart';
import {clockTime, withUnit} from '../../ui/format';
import {Plot} from '../../ui/plot';

const kRanges = [1, 5, 10] as const;
const kPinsKey = 'clrscope-pinned-counters';
const kMostLines = 8;

function storedPins(): Set<string> {
  try {
    return new Set(JSON.parse(localStorage.getItem(kPinsKey) ?? '[]') as string[]);
  } catch {
    return new Set();
  }
}

function storePins(pins: Set<string>): void {
  try {
    localStorage.setItem(kPinsKey, JSON.stringify([...pins]));
  } catch {
    // they hold for this page then
  }
}

// Changes of a book, at most a few times a second.
function useBook(api: Api, pid: number | undefined, isPaused: boolean): [CounterBook | undefined, string] {
  const [, changed] = useReducer((n: number) => n + 1, 0);
  const [trouble, setTrouble] = useState('');
  const paused = useRef(isPaused);
  paused.current = isPaused;
  const book = useMemo(() => (pid ? new CounterBook(pid) : undefined), [pid]);
  useEffect(() => {
    if (!book) return undefined;
    let end = () => {};
    let isOver = false;
    let timer = 0;
    const onChange = () => {
      if (timer) return;
      timer = window.setTimeout(() => {
        timer = 0;
        if (!paused.current) changed(0);
      }, 250);
    };
    book.load(api).then(
      () => {
        if (isOver) return;
        changed(0);
        end = book.follow(api, onChange);
      },
      (error: unknown) => {
        const message = messageOf(error);
        setTrouble([message.text, message.hint].filter(Boolean).join(' – '));
      },
    );
    return () => {
      isOver = true;
      clearTimeout(timer);
      end();
    };
  }, [book]);
  return [book, trouble];
}

function linesOf(instrument: Instrument | undefined, before: string, from: number, to: number): Line[] {
  if (!instrument) return [];
  return [...instrument.series.values()].slice(0, kMostLines).map((series) => ({
    label: [before, series.tags].filter(Boolean).join(' '),
    points: series.points.filter(([ms]) => ms >= from && ms <= to),
  }));
}

const last = (points: Point[]): Point | undefined => points[points.length - 1];

function Card(props: {instrument: Instrument; lines: Line[]; from: number; to: number; intervalMs: number; isPinned: boolean; onPin: () => void; more: number}) {
  const {instrument, lines, from, to} = props;
  const single = lines.length === 1 && lines[0].label === '';
  return (
    <section class="counter" data-counter={instrument.name}>
      <h3>
        <span title={`${instrument.provider} ${instrument.name}`}>{instrument.title}</span>
        <button type="button" class="pin" aria-pressed={props.isPinned} aria-label={`Pin ${instrument.title}`} onClick={props.onPin}>
          {props.isPinned ? '★' : '☆'}
        </button>
      </h3>
      {single ? <p class="now">{last(lines[0].points) ? withUnit(last(lines[0].points)![1], instrument.unit) : 'no data'}</p> : null}
      <Plot lines={lines} from={from} to={to} unit={instrument.unit} height={120} intervalMs={props.intervalMs} syncKey="counters" />
      {single ? null : (
        <ul class="legend">
          {lines.map((line, i) => (
            <li key={line.label}>
              <span class={swatch(i)} />
              {line.label || 'value'} <b>{last(line.points) ? withUnit(last(line.points)![1], instrument.unit) : 'no data'}</b>
            </li>
          ))}
        </ul>
      )}
      {props.more > 0 ? <p class="dim">and {props.more} more series: see the table</p> : null}
      <details>
        <summary>Table</summary>
        <Table instrument={instrument} lines={lines} />
      </details>
    </section>
  );
}

function Table({instrument, lines}: {instrument: Instrument; lines: Line[]}) {
  const times = [...new Set(lines.flatMap((line) => line.points.slice(-20).map(([ms]) => ms)))].sort((a, b) => b - a).slice(0, 20);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`${instrument.title}, table`}>
      <table>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {lines.map((line) => (
              <th scope="col" class="num">
                {line.label || instrument.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {times.map((ms) => (
            <tr key={ms}>
              <td>{clockTime(ms)}</td>
              {lines.map((line) => {
                const point = line.points.find(([at]) => at === ms);
                return <td class="num">{point ? withUnit(point[1], instrument.unit) : ''}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface Other {
  pid: number;
  name: string;
}

function Counters({api, pid, others}: {api: Api; pid: number; others: Other[]}) {
  const [minutes, setMinutes] = useState<number>(5);
  const [search, setSearch] = useState('');
  const [pausedAt, setPausedAt] = useState(0);
  const [otherPid, setOtherPid] = useState<number>();
  const [pins, setPins] = useState(storedPins);
  const [book, trouble] = useBook(api, pid, pausedAt > 0);
  const [beside] = useBook(api, otherPid, pausedAt > 0);
  if (!book) return null;
  const to = pausedAt || book.latestMs || Date.now();
  const from = rangeStart(to, minutes * 60_000, book.firstMs || to);
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = [...book.instruments.values()].filter((one) => {
    const text = `${one.provider} ${one.name} ${one.title}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  shown.sort((a, b) => Number(pins.has(b.id)) - Number(pins.has(a.id)) || a.provider.localeCompare(b.provider) || a.title.localeCompare(b.title));
  const pin = (id: string) => {
    const next = new Set(pins);
    if (!next.delete(id)) next.add(id);
    storePins(next);
    setPins(next);
  };
  const state = trouble || (book.ended ? `The process is gone (${book.ended}); what it told stays.` : pausedAt ? `Paused at ${clockTime(pausedAt)}; what comes is kept.` : book.isConnected ? `Live, every ${book.intervalMs / 1000} s.` : 'Waiting for the first values …');
  let heading = '';
  return (
    <>
      <div class="bar">
        <button type="button" data-pause aria-pressed={pausedAt > 0} onClick={() => setPausedAt(pausedAt ? 0 : to)}>
          {pausedAt ? 'Go on' : 'Pause'}
        </button>
        <label>
          Range{' '}
          <select value={String(minutes)} onChange={(event) => setMinutes(Number(event.currentTarget.value))}>
            {kRanges.map((one) => (
              <option value={String(one)}>{one} min</option>
            ))}
          </select>
        </label>
        <label>
          Search <input type="search" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
        </label>
        {others.length ? (
          <label>
            Compare with{' '}
            <select data-compare onChange={(event) => setOtherPid(Number(event.currentTarget.value) || undefined)}>
              <option value="">nobody</option>
              {others.map((one) => (
                <option value={String(one.pid)}>{`${one.pid} ${one.name}`}</option>
              ))}
            </select>
          </label>
        ) : null}
      </div>
      <p class={trouble || book.ended ? 'warn' : 'dim'} role="status">
        {state}
        {book.lost || book.missed ? ` Lost: ${book.lost + book.missed}.` : ''}
      </p>
      {shown.length === 0 && book.instruments.size > 0 ? <p>No counter has “{search}” in its name.</p> : null}
      <div class="counters">
        {shown.map((one) => {
          const group = pins.has(one.id) ? 'Pinned' : one.provider;
          const isNew = group !== heading;
          heading = group;
          const before = otherPid ? String(pid) : '';
          const lines = [...linesOf(one, before, from, to), ...linesOf(beside?.instruments.get(one.id), String(otherPid), from, to)];
          return (
            <>
              {isNew ? <h2>{group}</h2> : null}
              <Card key={one.id} instrument={one} lines={lines} from={from} to={to} intervalMs={book.intervalMs} isPinned={pins.has(one.id)} onPin={() => pin(one.id)} more={one.series.size - kMostLines} />
            </>
          );
        })}
      </div>
    </>
  );
}

export const counters: View = {
  id: 'counters',
  title: 'Counters',
  start(root, api) {
    const pid = Number(root.dataset.pid);
    const others = [...document.querySelectorAll<HTMLOptionElement>('#picker option')]
      .filter((option) => option.value && Number(option.value) !== pid)
      .map((option) => ({pid: Number(option.value), name: (option.textContent ?? '').replace(/^\d+\s*/, '')}));
    const island = document.createElement('div');
    root.replaceChildren(island);
    render(<Counters api={api} pid={pid} others={others} />, island);
  },
};
