// All of one trace on one axis: spans of other tracers and requests that clrscope recorded, as a tree. The chosen line is in the address.
import {useRef} from 'preact/hooks';
import type {FleetTrace} from '../../api/fleet-types';
import {setQuery, usePlace} from '../../frame/router';
import {axisLabels, axisSteps} from '../../ui/axis';
import {formatMs, formatNumber} from '../../ui/format';
import {Wrapped} from '../../ui/wrapped';
import {type Range, ticksOf} from '../requests/range';

const kShown = 1000; // lines
const kMostIndent = 24; // levels
const kLeastWidth = 0.2; // percent

type Line = NonNullable<FleetTrace['lines']>[number];

interface Shown extends Line {
  depth: number;
  name: string;
  service: string;
  hasFailed: boolean;
}

// Depths follow from parents, which come first.
export function shownLines(trace: FleetTrace): Shown[] {
  const shown: Shown[] = [];
  for (const line of trace.lines ?? []) {
    const depth = line.parent > 0 ? shown[line.parent - 1].depth + 1 : 0;
    const request = line.kind === 'request' ? trace.requests[line.index] : undefined;
    const span = request ? undefined : trace.otlpSpans?.[line.index];
    const name = request ? `${request.method} ${request.route || request.path}` : (span?.name ?? '');
    const hasFailed = request ? request.status >= 500 || Boolean(request.error) : span?.status === 'error';
    shown.push({...line, depth, name, service: request?.service ?? span?.service ?? '', hasFailed});
  }
  return shown;
}

export function TraceView({trace}: {trace: FleetTrace}) {
  const {query} = usePlace();
  const tree = useRef<HTMLDivElement>(null);
  const lines = shownLines(trace);
  const shown = lines.slice(0, kShown);
  const chosen = Math.min(Math.max(Number(query.get('line') ?? '0') || 0, 0), shown.length - 1);
  const whole: Range = [0, Math.max(...lines.map((line) => line.startMs + line.durationMs), 1e-3)];
  const services = new Set(lines.map((line) => line.service));
  const choose = (at: number) => {
    setQuery({line: at || undefined});
    tree.current?.querySelector<HTMLElement>(`[data-line="${at}"]`)?.focus();
  };
  const moves: Record<string, number> = {ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -shown.length, End: shown.length};
  return (
    <section class="waterfall" aria-label="Trace" data-trace-lines={lines.length}>
      <h2>Trace</h2>
      <p>
        {formatNumber(trace.otlpSpans?.length ?? 0)} spans of other tracers and {formatNumber(trace.requests.length)} requests recorded by clrscope in {formatNumber(services.size)} services, {formatMs(whole[1])}.
        {trace.otlpSpansCut ? ' The trace has more spans than are shown.' : ''}
      </p>
      <Axis range={whole} />
      <div
        class="wf-tree"
        role="tree"
        aria-label="Requests and spans of the trace"
        ref={tree}
        onKeyDown={(event) => {
          const by = event.ctrlKey || event.metaKey || event.altKey ? undefined : moves[event.key];
          if (by === undefined) return;
          event.preventDefault();
          event.stopPropagation();
          choose(Math.min(Math.max(chosen + by, 0), shown.length - 1));
        }}
      >
        {shown.map((line, at) => (
          <Row key={at} line={line} at={at} range={whole} isChosen={at === chosen} onChoose={() => choose(at)} />
        ))}
      </div>
      {lines.length > kShown ? (
        <p class="dim">
          and {formatNumber(lines.length - kShown)} more lines: <a href="?accept=application/json" data-outside>JSON</a> has all of them.
        </p>
      ) : null}
      {shown[chosen] ? <Details trace={trace} line={shown[chosen]} /> : null}
    </section>
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
          <text key={tick} class={i === 0 ? 'first' : ''} x={`${(100 * tick) / range[1]}%`} y="13">
            {labels[i]}
          </text>
        ))}
      </svg>
      <span />
    </div>
  );
}

interface RowProps {
  line: Shown;
  at: number;
  range: Range;
  isChosen: boolean;
  onChoose: () => void;
}

function Row({line, at, range, isChosen, onChoose}: RowProps) {
  const isRequest = line.kind === 'request';
  return (
    <div
      class={`wf-row${isChosen ? ' chosen' : ''}`}
      role="treeitem"
      tabIndex={isChosen ? 0 : -1}
      aria-level={line.depth + 1}
      aria-selected={isChosen}
      data-line={at}
      data-kind={line.kind}
      data-depth={line.depth}
      onClick={onChoose}
    >
      <span class="wf-name" title={`${line.service}: ${line.name}`} style={{paddingLeft: `${Math.min(line.depth, kMostIndent) * 10}px`}}>
        <b>{line.name}</b> <span class="dim">{line.service}</span>
      </span>
      <svg class="wf-bar" aria-hidden="true">
        <rect class={isRequest ? 'wf-running' : 'wf-foreign'} x={`${(100 * line.startMs) / range[1]}%`} y="3" width={`${Math.max((100 * line.durationMs) / range[1], kLeastWidth)}%`} height="14" />
      </svg>
      <span class="wf-time num">
        {formatMs(line.durationMs)}
        {line.hasFailed ? <b class="wf-outcome faulted"> failed</b> : null}
      </span>
    </div>
  );
}

const kPlaced: Record<string, string> = {
  spanId: 'Its parent is named by its span id.',
  time: 'It names no parent that is known here: it is placed below the shortest line that contains it in time.',
};

function Details({trace, line}: {trace: FleetTrace; line: Shown}) {
  const span = line.kind === 'span' ? trace.otlpSpans?.[line.index] : undefined;
  return (
    <section class="wf-details" aria-label="Chosen line" data-chosen-line={line.name}>
      <h3 class="mono">
        <Wrapped text={line.name} />
      </h3>
      <p>
        {formatMs(line.durationMs)} from {formatMs(line.startMs)} on, in {line.service}. {span ? `${span.kind} span ${span.spanId}${span.scope ? ` of ${span.scope}` : ''}.` : 'Recorded by clrscope: its waterfall is below.'}{' '}
        {kPlaced[line.placedBy ?? ''] ?? ''} {span?.statusMessage ?? ''}
      </p>
      {span?.attributes?.length ? (
        <div class="scroll" tabIndex={0} role="region" aria-label="Attributes of the span">
          <table>
            <caption>Attributes{span.attributesDropped ? `, ${formatNumber(span.attributesDropped)} more were dropped` : ''}</caption>
            <tbody>
              {span.attributes.map(({key, value}, i) => (
                <tr key={i}>
                  <th scope="row">
                    <Wrapped text={key} />
                  </th>
                  <td class="code">
                    <Wrapped text={value} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : null}
    </section>
  );
}
