// GC, JIT, exceptions, contention, thread pool: one sentence, one timeline, one table, kept up to date.
import {render} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';
import {type Api, messageOf} from '../../api/client';
import type {View} from '../../view';
import {swatch} from '../../ui/chart';
import {Plot} from '../../ui/plot';
import {clockTime} from '../../ui/format';
import {type Column, cellText, type Row, type Topic, topics} from './topics';

interface Answer extends Row {
  summary: string;
  live: boolean;
  ended?: string;
  lost: number;
  leftOut: number;
  from?: string;
}

const kPollMs = 2000;
const kMostRows = 200;
const kMostTold = 5000;

function Table({rows, columns, title}: {rows: Row[]; columns: Column[]; title: string}) {
  const [sort, setSort] = useState<{column: number; isDown: boolean}>();
  const sorted = [...rows];
  if (sort) {
    const {value} = columns[sort.column];
    sorted.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      const order = typeof x === 'number' && typeof y === 'number' ? x - y : String(x ?? '').localeCompare(String(y ?? ''));
      return sort.isDown ? -order : order;
    });
  }
  if (!rows.length) return null;
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label={title}>
        <table>
          <caption>{title}</caption>
          <thead>
            <tr>
              {columns.map((column, i) => (
                <th scope="col" class={column.as === 'text' || column.as === 'code' ? '' : 'num'} aria-sort={sort?.column === i ? (sort.isDown ? 'descending' : 'ascending') : 'none'}>
                  <button type="button" class="sort" onClick={() => setSort({column: i, isDown: sort?.column === i ? !sort.isDown : true})}>
                    {column.title}
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sorted.slice(0, kMostRows).map((row) => (
              <tr>
                {columns.map((column) => (
                  <td class={column.as === 'code' ? 'code' : column.as === 'text' ? '' : 'num'}>{cellText(column, row)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > kMostRows ? <p class="dim">and {rows.length - kMostRows} more</p> : null}
    </>
  );
}

function Stacks({rows}: {rows: Row[]}) {
  if (!rows.length) return null;
  return (
    <>
      <h2>The latest, with their stacks</h2>
      {rows.slice(0, 30).map((row) => (
        <details key={String(row.number)}>
          <summary>
            <span class="dim">{clockTime(Date.parse(String(row.time)))}</span> {String(row.type)} <span class="dim">{String(row.message)}</span>
          </summary>
          <pre class="stacks">{((row.stack as string[] | undefined) ?? []).join('\n') || 'without a stack'}</pre>
        </details>
      ))}
    </>
  );
}

function Events({api, source, topic, pid}: {api: Api; source: string; topic: Topic; pid: string}) {
  const [answer, setAnswer] = useState<Answer>();
  const [trouble, setTrouble] = useState('');
  const [isPaused, setPaused] = useState(false);
  useEffect(() => {
    if (isPaused) return undefined;
    let isOver = false;
    let timer = 0;
    const ask = async () => {
      try {
        const next = await api.get<Answer>(source);
        if (isOver) return;
        setAnswer(next);
        setTrouble('');
        if (!next.live) return;
      } catch (error) {
        const message = messageOf(error);
        if (!isOver) setTrouble([message.text, message.hint].filter(Boolean).join(' – '));
      }
      if (!isOver) timer = window.setTimeout(() => void ask(), kPollMs);
    };
    void ask();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [isPaused]);
  const told = useRef<Row[]>([]);
  useEffect(() => {
    if (!topic.follows) return undefined;
    return api.live<Row>(`live?pid=${pid}&topics=${topic.id}`, [topic.id], (_kind, item) => {
      told.current.push(item);
      if (told.current.length > kMostTold) told.current.splice(0, told.current.length - kMostTold);
    }, () => {});
  }, []);
  if (!answer) return <p role="status">{trouble || 'Waiting for the first data …'}</p>;
  const from = Date.parse(answer.from ?? '') || Date.now() - 600_000;
  const to = from + (Number(answer.durationMs) || 600_000);
  const lines = topic.lines({...answer, told: told.current}, from);
  return (
    <>
      <p class="lead" role="status">
        {answer.summary}
      </p>
      <p class="bar">
        <button type="button" data-pause aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          {isPaused ? 'Go on' : 'Pause'}
        </button>
        <span class={trouble || !answer.live || answer.lost ? 'warn' : 'dim'}>
          {trouble || (answer.live ? (isPaused ? 'paused' : 'live') : `the process is gone (${answer.ended ?? ''}); what it told stays`)}
          {answer.lost ? ` · lost ${answer.lost} events` : ''}
          {answer.leftOut ? ` · ${answer.leftOut} left out` : ''}
        </span>
      </p>
      {lines.some((line) => line.points.length) ? <Plot lines={lines} from={from} to={to} unit={topic.unit} height={160} intervalMs={1e12} bars={topic.bars} /> : null}
      {lines.length > 1 ? (
        <ul class="legend">
          {lines.map((line, i) => (
            <li>
              <span class={swatch(i)} />
              {line.label}
            </li>
          ))}
        </ul>
      ) : null}
      {topic.tables.map((table) => (
        <Table key={table.title} title={table.title} rows={table.rows(answer)} columns={table.columns} />
      ))}
      {topic.id === 'exceptions' ? <Stacks rows={(answer.recent as Row[] | undefined) ?? []} /> : null}
    </>
  );
}

export const events: View = {
  id: 'events',
  title: 'Events',
  start(root, api) {
    const topic = topics.find((one) => one.id === root.dataset.topic);
    if (!topic) return;
    const island = document.createElement('div');
    root.replaceChildren(island);
    render(<Events api={api} source={root.dataset.source ?? ''} topic={topic} pid={root.dataset.pid ?? ''} />, island);
  },
};
