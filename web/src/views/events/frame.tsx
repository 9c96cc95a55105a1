// What the pages of GC, JIT, exceptions, locks and the thread pool share: one sentence, what it covers, facts, charts.
import type {ComponentChildren} from 'preact';
import type {Answer} from '../../api/answer';
import {kRanges, type Span, spanOf, type View} from '../../api/view';
import type {Line, Shape} from '../../ui/chart';
import {formatMs} from '../../ui/format';
import {Fold, useOpenParam} from '../../ui/fold';
import {Legend} from '../../ui/legend';
import {Plot} from '../../ui/plot';
import {SeriesTable} from '../../ui/series-table';
import {Age, Ended, Loaded, Lost} from '../../ui/state';
import {Time} from '../../ui/time';

export function Range({minutes, setMinutes}: {minutes: string; setMinutes: (minutes: string) => void}) {
  return (
    <label>
      Range
      <select value={minutes} onChange={(event) => setMinutes(event.currentTarget.value)} data-range>
        {kRanges.map((one) => (
          <option key={one} value={one}>
            {one} min
          </option>
        ))}
      </select>
    </label>
  );
}

interface TopicProps<T extends View> {
  title: string;
  answer: Answer<T>;
  minutes: string;
  setMinutes: (minutes: string) => void;
  lead?: (view: T) => string; // in place of the summary, where more is known than events tell
  children: (view: T, span: Span) => ComponentChildren;
}

export function Topic<T extends View>({title, answer, minutes, setMinutes, lead, children}: TopicProps<T>) {
  return (
    <>
      <h1>{title}</h1>
      <div class="bar">
        <Range minutes={minutes} setMinutes={setMinutes} />
        <Age at={answer.at} />
      </div>
      <Loaded answer={answer}>
        {(view) => (
          <>
            {view.live ? null : <Ended at={view.endedAt} reason={view.ended} />}
            <Lost lost={view.lost} leftOut={view.leftOut} />
            <p class="lead" data-summary>
              {lead?.(view) ?? view.summary}
            </p>
            <p class="dim" data-span>
              Numbers, charts and tables cover <Time iso={view.from} short /> to <Time iso={new Date(spanOf(view).to).toISOString()} short />, {formatMs(view.durationMs)}.
            </p>
            {children(view, spanOf(view))}
          </>
        )}
      </Loaded>
    </>
  );
}

export interface Fact {
  id: string;
  title: string;
  value: string;
  note?: string;
  tone?: 'harm' | 'warn' | '';
}

// Totals, each large with its name.
export function Facts({facts}: {facts: Fact[]}) {
  return (
    <dl class="totals">
      {facts.map((one) => (
        <div key={one.id} class="tile" data-fact={one.id}>
          <dt>{one.title}</dt>
          <dd class={`big ${one.tone ?? ''}`}>{one.value}</dd>
          {one.note ? <dd class="dim">{one.note}</dd> : null}
        </div>
      ))}
    </dl>
  );
}

interface TimelineProps extends Span {
  id: string; // of its table in the address
  title: string;
  lines: Line[];
  unit: string;
  shape: Shape;
  intervalMs: number;
  syncKey: string;
  height?: number;
  note?: string; // where the values come from, if not from the events of this page
  table?: boolean; // a table of its points below it, unless another table of the page has them
}

export function Timeline({id, title, lines: all, unit, shape, intervalMs, syncKey, from, to, height = 150, note, table = true}: TimelineProps) {
  const open = useOpenParam('tables');
  const lines = all.map((line) => ({...line, points: line.points.filter(([ms]) => ms >= from && ms <= to)}));
  const reachMs = shape === 'stems' ? (to - from) / 100 : Number.isFinite(intervalMs) ? (shape === 'bars' ? intervalMs : intervalMs * 1.75) : to - from;
  return (
    <section class="over-time" data-chart={id}>
      <h2>{title}</h2>
      <Legend lines={lines} unit={unit} reachMs={reachMs} shape={shape} syncKey={syncKey} />
      <Plot lines={lines} from={from} to={to} unit={unit} height={height} intervalMs={intervalMs} shape={shape} syncKey={syncKey} />
      {note ? <p class="dim note-line">{note}</p> : null}
      {table ? (
        <Fold id={id} open={open} summary="Table">
          <SeriesTable title={title} lines={lines} unit={unit} />
        </Fold>
      ) : null}
    </section>
  );
}
