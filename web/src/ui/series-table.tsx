// The points of a chart as a table, the newest first.
import type {Line} from './chart';
import {withUnit} from './format';
import {Clock} from './time';

const kMostRows = 600;

interface SeriesTableProps {
  title: string;
  lines: Line[];
  unit: string;
  withinMs?: number; // values of different lines that are no further apart are one row
}

// Times of the rows, the newest first, and the values of each line by the time of their row.
function rowsOf(lines: Line[], withinMs: number): {times: number[]; values: Map<number, number>[]} {
  const all = lines.flatMap((line, index) => line.points.map(([ms, value]) => ({ms, value, index}))).sort((a, b) => b.ms - a.ms);
  const times: number[] = [];
  const values = lines.map(() => new Map<number, number>());
  for (const {ms, value, index} of all) {
    const last = times[times.length - 1];
    if (last === undefined || last - ms > withinMs || values[index].has(last)) times.push(ms);
    values[index].set(times[times.length - 1], value);
  }
  return {times, values};
}

export function SeriesTable({title, lines, unit, withinMs = 0}: SeriesTableProps) {
  const {times, values} = rowsOf(lines, withinMs);
  if (!times.length) return <p class="dim">No values in this range.</p>;
  return (
    <>
      <div class="scroll series-table" tabIndex={0} role="region" aria-label={`${title}, table`}>
        <table>
          <thead>
            <tr>
              <th scope="col">Time</th>
              {lines.map((line) => (
                <th scope="col" class="num" key={line.label}>
                  {line.label || 'Value'}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {times.slice(0, kMostRows).map((ms) => (
              <tr key={ms}>
                <td>
                  <Clock ms={ms} />
                </td>
                {values.map((at, i) => {
                  const value = at.get(ms);
                  return (
                    <td class="num" key={i}>
                      {value === undefined || !Number.isFinite(value) ? '' : withUnit(value, unit)}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {times.length > kMostRows ? <p class="dim">and {(times.length - kMostRows).toLocaleString('en-US')} earlier ones</p> : null}
    </>
  );
}
