// One request as a waterfall: a line for each span, on which running, waiting and queued time differ in texture.
// What is chosen, folded and zoomed to is in the address.
import {useEffect, useMemo, useRef} from 'preact/hooks';
import {setQuery, usePlace} from '../../frame/router';
import {axisLabels, axisSteps} from '../../ui/axis';
import {formatMs, formatNumber} from '../../ui/format';
import {tableLabel} from '../flame/labels';
import {drawnOf, endOf, type Row, rowsOf, type SampledStack, type Segment, unfolded} from './profile';
import {SpanDetails} from './details';
import {type Range, rangeText, readRange, ticksOf, zoomedBy} from './range';
import type {ProfiledRequest} from '../../api/types';

const kShown = 400; // lines
const kMostIndent = 24; // levels
const kLeastWidth = 0.2; // percent: what is shorter can still be seen
const kLabelWidth = 14; // percent of the picture that a wait needs to carry its label

const labelOf = (method: string): string => tableLabel(method).label;

export function waitWords(waitedFor: string[] | undefined): string {
  if (!waitedFor?.length) return 'outside the chosen methods';
  const names = waitedFor.slice(0, 3).map(labelOf).join(', ');
  return waitedFor.length > 3 ? `${names} and ${formatNumber(waitedFor.length - 3)} more` : names;
}

const numbersOf = (text: string): Set<number> => new Set(text.split(',').filter(Boolean).map(Number));

export function Waterfall({request, stacks}: {request: ProfiledRequest; stacks?: SampledStack[]}) {
  const {query} = usePlace();
  const rows = useMemo(() => rowsOf(request), [request]);
  const whole: Range = [0, Math.max(endOf(rows), 1e-3)];
  const range = readRange(query.get('range') ?? '', whole);
  const folded = numbersOf(query.get('folded') ?? '');
  const chosen = rows.find((row) => row.id === Number(query.get('span') ?? '0')) ?? rows[0];
  const open = unfolded(rows, folded);
  const inRange = open.filter((row) => row.startMs <= range[1] && row.endMs >= range[0]);
  const shown = inRange.slice(0, kShown);
  const tree = useRef<HTMLDivElement>(null);
  const wantsFocus = useRef(false);
  useEffect(() => {
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    tree.current?.querySelector<HTMLElement>('[aria-selected="true"]')?.focus();
  }, [chosen.id]);

  const choose = (row: Row) => setQuery({span: row.id || undefined});
  const zoom = (to: Range) => setQuery({range: rangeText(to, whole)}, 'push');
  const fold = (row: Row, isFolded: boolean) => {
    const next = new Set(folded);
    if (isFolded) next.add(row.id);
    else next.delete(row.id);
    setQuery({folded: [...next].join(',')});
  };
  const move = (by: number) => {
    const next = shown[Math.min(Math.max(shown.indexOf(chosen) + by, 0), shown.length - 1)];
    if (!next) return;
    wantsFocus.current = true;
    choose(next);
  };
  const parentOf = (row: Row) => rows.find((one) => one.id === (row.span?.parent ?? 0)) ?? rows[0];
  const keys: Record<string, () => void> = {
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    PageDown: () => move(20),
    PageUp: () => move(-20),
    Home: () => move(-shown.length),
    End: () => move(shown.length),
    ArrowRight: () => (folded.has(chosen.id) ? fold(chosen, false) : move(1)),
    ArrowLeft: () => {
      if (chosen.children.length && !folded.has(chosen.id)) fold(chosen, true);
      else {
        wantsFocus.current = true;
        choose(parentOf(chosen));
      }
    },
    Enter: () => zoom([chosen.startMs, chosen.endMs]),
    '+': () => zoom(zoomedBy(range, 0.5, whole)),
    '-': () => zoom(zoomedBy(range, 2, whole)),
    Escape: () => zoom(whole),
  };
  const isZoomed = range[0] > whole[0] || range[1] < whole[1];
  return (
    <section class="waterfall" aria-label="Waterfall" data-waterfall={request.traceId} data-rows={rows.length}>
      <Textures />
      <div class="bar">
        <Key kind="running" title="running: a thread executed it" />
        <Key kind="waiting" title="waiting" />
        <Key kind="queued" title="queued: ready, waited for a pool thread" />
        {isZoomed ? (
          <button type="button" onClick={() => zoom(whole)}>
            Show all {formatMs(whole[1])}
          </button>
        ) : null}
        <span class="dim">
          <kbd>↑</kbd> <kbd>↓</kbd> choose · <kbd>←</kbd> <kbd>→</kbd> fold · <kbd>Enter</kbd> zoom · <kbd>+</kbd> <kbd>-</kbd> · <kbd>Esc</kbd> all
        </span>
      </div>
      <Axis range={range} />
      <div
        class="wf-tree"
        role="tree"
        aria-label={`Spans of ${request.method} ${request.path.slice(0, 200)}`}
        ref={tree}
        onKeyDown={(event) => {
          const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
          if (!act) return;
          event.preventDefault();
          event.stopPropagation();
          act();
        }}
      >
        {shown.map((row) => (
          <Line
            key={row.id}
            row={row}
            range={range}
            endMs={request.durationMs}
            isChosen={row === chosen}
            isFolded={folded.has(row.id)}
            onChoose={() => choose(row)}
            onZoom={() => zoom([row.startMs, row.endMs])}
            onFold={() => fold(row, !folded.has(row.id))}
          />
        ))}
      </div>
      {inRange.length > kShown ? (
        <p class="dim" data-more>
          and {formatNumber(inRange.length - kShown)} more spans: zoom in or fold some.
        </p>
      ) : null}
      {rows.length === 1 ? <p class="dim">No chosen method was called, or none of them was recorded for this request.</p> : null}
      {whole[1] > request.durationMs * 1.001 ? <p class="dim">The thin line is the end of the request: work that goes on after it did not delay the response.</p> : null}
      <SpanDetails row={chosen} request={request} stacks={stacks} />
    </section>
  );
}

// Hatching and dots, used by all lines.
function Textures() {
  return (
    <svg class="wf-textures" width="0" height="0" aria-hidden="true">
      <defs>
        <pattern id="wf-waiting" width="6" height="6" patternUnits="userSpaceOnUse">
          <path d="M-1 7 L7 -1 M-1 1 L1 -1 M5 7 L7 5" />
        </pattern>
        <pattern id="wf-queued" width="5" height="5" patternUnits="userSpaceOnUse">
          <circle cx="2.5" cy="2.5" r="1.2" />
        </pattern>
      </defs>
    </svg>
  );
}

function Key({kind, title}: {kind: Segment['kind']; title: string}) {
  return (
    <span class="wf-key">
      <svg class="wf-swatch" width="28" height="12" aria-hidden="true">
        <rect class={`wf-${kind}`} width="28" height="12" />
      </svg>{' '}
      {title}
    </span>
  );
}

function Axis({range}: {range: Range}) {
  const ticks = ticksOf(range, axisSteps('ms', false));
  const labels = axisLabels(ticks, 'ms');
  return (
    <div class="wf-axis" aria-hidden="true">
      <span />
      <svg>
        {ticks.map((tick, i) => (
          <text key={tick} class={i === 0 ? 'first' : ''} x={`${percentAt(tick, range)}%`} y="13">
            {labels[i]}
          </text>
        ))}
      </svg>
      <span />
    </div>
  );
}

const percentAt = (ms: number, [from, to]: Range): number => Math.min(Math.max((100 * (ms - from)) / (to - from), -1), 101);

interface LineProps {
  row: Row;
  range: Range;
  endMs: number; // of the request
  isChosen: boolean;
  isFolded: boolean;
  onChoose: () => void;
  onZoom: () => void;
  onFold: () => void;
}

function Line({row, range, endMs, isChosen, isFolded, onChoose, onZoom, onFold}: LineProps) {
  const {label, context} = row.span ? tableLabel(row.method) : {label: row.method, context: ''};
  const duration = formatMs(row.endMs - row.startMs);
  const flaw = row.span && row.span.outcome !== 'returned' ? row.span.outcome : '';
  const hasChildren = row.children.length > 0;
  return (
    <div
      class={`wf-row${isChosen ? ' chosen' : ''}`}
      role="treeitem"
      tabIndex={isChosen ? 0 : -1}
      aria-level={row.depth + 1}
      aria-selected={isChosen}
      aria-expanded={hasChildren ? !isFolded : undefined}
      data-span={row.id}
      onClick={onChoose}
      onDblClick={onZoom}
    >
      <span class="wf-name" title={row.method} style={{paddingLeft: `${Math.min(row.depth, kMostIndent) * 10}px`}}>
        <span class="wf-fold" aria-hidden="true" onClick={hasChildren ? (event) => (event.stopPropagation(), onFold()) : undefined}>
          {hasChildren ? (isFolded ? '▸' : '▾') : ''}
        </span>
        <b>{label}</b> {context ? <span class="dim">{context}</span> : null}
      </span>
      <svg class="wf-bar" aria-hidden="true">
        {drawnOf(row.segments, range[0], range[1]).map((segment, i) => (
          <Part key={i} segment={segment} range={range} />
        ))}
        {endMs > range[0] && endMs < range[1] ? <line class="wf-end" x1={`${percentAt(endMs, range)}%`} x2={`${percentAt(endMs, range)}%`} y1="0" y2="100%" /> : null}
      </svg>
      <span class="wf-time num">
        {duration}
        {flaw ? <b class={`wf-outcome ${flaw}`}> {flaw}</b> : null}
      </span>
    </div>
  );
}

function Part({segment, range}: {segment: Segment; range: Range}) {
  const x = percentAt(segment.startMs, range);
  const width = Math.max(percentAt(segment.endMs, range) - x, kLeastWidth);
  const words = segment.kind === 'waiting' ? waitWords(segment.waitedFor) : '';
  return (
    <svg x={`${x}%`} width={`${width}%`} height="100%">
      <title>{`${segment.kind} ${formatMs(segment.endMs - segment.startMs)}${words ? `: ${words}` : ''}${segment.thread ? `, thread ${segment.thread}` : ''}`}</title>
      <rect class={`wf-${segment.kind}`} width="100%" height="100%" />
      {words && width > kLabelWidth ? (
        <text class="wf-label" x="6" y="14">
          {words.slice(0, 200)}
        </text>
      ) : null}
    </svg>
  );
}
