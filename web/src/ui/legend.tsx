// Names and values of a chart's lines: the values under the shared cursor, or the latest ones.
import {type Line, type Point, type Shape, swatch} from './chart';
import {useCursor} from './cursor';
import {withUnit} from './format';
import {Clock} from './time';

const kShort = 14; // letters of a name and a unit that fit into a narrow column

interface LegendProps {
  lines: Line[];
  unit: string;
  reachMs: number; // a value further from the cursor is not under it
  shape?: Shape;
  syncKey: string;
}

// The value that a chart shows at a time.
export function valueAt(points: Point[], ms: number, reachMs: number, shape: Shape = 'line'): Point | undefined {
  let [low, high] = [0, points.length]; // the first point after `ms`
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] <= ms) low = middle + 1;
    else high = middle;
  }
  const before = points[low - 1];
  if (shape === 'steps') return before;
  if (shape === 'bars') return before && ms - before[0] < reachMs ? before : undefined;
  const after = points[low];
  const nearest = !after || (before && ms - before[0] <= after[0] - ms) ? before : after;
  return nearest && Math.abs(nearest[0] - ms) <= reachMs ? nearest : undefined;
}

export function Legend({lines, unit, reachMs, shape, syncKey}: LegendProps) {
  const cursor = useCursor(syncKey);
  const shown = lines.map((line) => (cursor ? valueAt(line.points, cursor, reachMs, shape) : line.points[line.points.length - 1]));
  const latest = Math.max(0, ...shown.map((point) => point?.[0] ?? 0));
  const at = cursor && (shape !== 'stems' || !latest) ? cursor : latest;
  const isLong = lines.some((line) => line.label && line.label.length + unit.length > kShort);
  return (
    <ul class={isLong ? 'legend long' : 'legend'} data-cursor={cursor ? 'yes' : 'no'}>
      {lines.map((line, i) => {
        const point = shown[i];
        const name = line.label || 'value';
        return (
          <li key={line.label} title={line.label ? name : undefined}>
            {lines.length > 1 || line.label ? (
              <>
                <span class={swatch(line, i)} />
                <span class="name">{name}</span>{' '}
              </>
            ) : null}
            <b>{point && Number.isFinite(point[1]) ? withUnit(point[1], unit) : shape === 'stems' ? (cursor ? '–' : 'none') : 'no data'}</b>
          </li>
        );
      })}
      <li class="dim when">{at ? <>{cursor ? 'at ' : 'latest, '}<Clock ms={at} /></> : 'none yet'}</li>
    </ul>
  );
}
