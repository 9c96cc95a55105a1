// Every function of what is shown once: sortable, with a filter. The way to a function's sandwich.
import {useMemo} from 'preact/hooks';
import {changeClass} from './calltree';
import type {Scene} from './canvas';
import type {Comparison} from './compare';
import {functionTimes} from './functions';
import {matcher} from './search';
import {changeText, durationText, percentText} from './words';

const kMost = 300; // rows

interface FunctionRow {
  id: string; // whole name
  name: number; // -1: only in the other recording
  self: number;
  total: number;
  change: number; // of the share of its own time
}

interface FunctionTableProps extends Pick<Scene, 'tree' | 'names' | 'zoom'> {
  comparison: Comparison | null;
  inverted: boolean;
  chosen: string;
  sort: string;
  filter: string;
  onSort: (sort: string) => void;
  onFilter: (text: string) => void;
  onChoose: (name: string) => void;
  onMenu: (name: number, x: number, y: number) => void;
}

type Column = 'self' | 'total' | 'change' | 'name';

function rowsOf({tree, names, zoom, comparison, inverted}: FunctionTableProps): FunctionRow[] {
  const all = tree.total[0] || 1;
  const rows = functionTimes(tree, zoom, names.count, inverted).map((one) => {
    const id = names.whole(one.name);
    return {id, ...one, change: comparison ? one.self / all - (comparison.before.get(id)?.self ?? 0) : 0};
  });
  if (!comparison || zoom !== 0) return rows;
  const known = new Set(rows.map((row) => row.id));
  const gone = [...comparison.before].filter(([id]) => !known.has(id)).map(([id, before]) => ({id, name: -1, self: 0, total: 0, change: -before.self}));
  return [...rows, ...gone];
}

function sorted(rows: FunctionRow[], sort: string): FunctionRow[] {
  const column = sort.replace(/^-/, '') as Column;
  const sign = sort.startsWith('-') ? -1 : 1;
  const size = (row: FunctionRow) => (column === 'total' ? row.total : column === 'change' ? row.change : row.self);
  return [...rows].sort((a, b) => (column === 'name' ? a.id.localeCompare(b.id) : size(a) - size(b)) * sign || b.total - a.total);
}

export function FunctionTable(props: FunctionTableProps) {
  const {tree, names, zoom, comparison, inverted, chosen, sort, filter} = props;
  const all = useMemo(() => rowsOf(props), [tree, zoom, comparison, inverted]);
  const rows = useMemo(() => {
    const {test} = matcher(filter.trim());
    return sorted(filter.trim() ? all.filter((row) => test(row.id) || (row.name >= 0 && test(names.module(row.name)))) : all, sort);
  }, [all, sort, filter]);
  const whole = tree.total[zoom];
  const column = (id: Column, title: string) => {
    const isChosen = sort.replace(/^-/, '') === id;
    const isDown = sort.startsWith('-');
    const first = id === 'name' ? id : `-${id}`;
    return (
      <th scope="col" aria-sort={!isChosen ? 'none' : isDown ? 'descending' : 'ascending'}>
        <button type="button" class="sort" onClick={() => props.onSort(!isChosen ? first : isDown ? id : `-${id}`)}>
          {title}
        </button>
      </th>
    );
  };
  return (
    <>
      <div class="flame-filter">
        <input type="text" value={filter} placeholder="Filter functions" aria-label="Filter functions" onInput={(event) => props.onFilter(event.currentTarget.value)} />
        <span class="dim">{rows.length === all.length ? `${all.length} functions` : `${rows.length} of ${all.length}`}</span>
      </div>
      <table aria-label="Functions">
        <thead>
          <tr>
            {column('total', 'total')}
            {column('self', 'self')}
            {comparison ? column('change', 'change of self') : null}
            {column('name', 'function')}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, kMost).map((row) => (
            <tr
              key={row.id + row.name}
              aria-selected={row.id === chosen}
              onContextMenu={(event) => {
                if (row.name < 0) return;
                event.preventDefault();
                const place = event.currentTarget.getBoundingClientRect();
                props.onMenu(row.name, event.clientX || place.left + 40, event.clientY || place.bottom);
              }}
            >
              <td title={durationText(row.total)}>{percentText(row.total, whole)}</td>
              <td title={durationText(row.self)}>{percentText(row.self, whole)}</td>
              {comparison ? <td class={changeClass(row.change)}>{changeText(row.change)}</td> : null}
              <td>
                {row.name < 0 ? (
                  <span title={row.id}>
                    {row.id} <span class="dim">not in this recording</span>
                  </span>
                ) : (
                  <>
                    <span class={`flame-dot kind-${names.kind(row.name)}`} />
                    <button type="button" class="flame-function" title={`${row.id}\n${names.origin(row.name)} · press for its callers and callees`} onClick={() => props.onChoose(row.id)}>
                      {names.table(row.name).label}
                    </button>{' '}
                    <span class="dim">{names.table(row.name).context}</span>
                  </>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > kMost ? <p class="dim">and {rows.length - kMost} more with less: use the filter</p> : null}
      {rows.length === 0 ? <p class="dim">No function fits the filter.</p> : null}
    </>
  );
}
