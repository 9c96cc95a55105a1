// A table that a person can sort. The order is in the address, so that it survives reload and can be passed on.
import type {ComponentChildren} from 'preact';
import {useRef} from 'preact/hooks';
import {useParam} from '../frame/router';
import {Wrapped} from './wrapped';

export interface Column<Row> {
  id: string; // in the address
  title: string;
  value: (row: Row) => string | number | null | undefined; // what is sorted by, and shown unless `show` is there
  show?: (row: Row) => ComponentChildren;
  as?: 'text' | 'code' | 'number'; // default: text
}

interface TableProps<Row> {
  id: string; // of its order in the address: "sort-ID"
  caption: string;
  rows: Row[];
  columns: Column<Row>[];
  rowKey?: (row: Row, index: number) => string | number;
  most?: number; // rows shown (default: 200)
  rowClass?: (row: Row) => string;
  isLive?: boolean; // rows stay where they are when data arrive, new ones come last: until the reader sorts; needs rowKey
}

function compare(x: unknown, y: unknown): number {
  if (x == null || y == null) return Number(x != null) - Number(y != null);
  return typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y), undefined, {numeric: true});
}

// Places of rows that were seen live; what ends keeps the order that its reader knows.
function useSteady<Row>(rows: Row[], order: string, isLive: boolean, rowKey: TableProps<Row>['rowKey']): Row[] {
  const held = useRef<{order: string; places: Map<string | number, number>}>();
  if (!rowKey || (!isLive && !held.current)) return rows;
  if (held.current?.order !== order) held.current = {order, places: new Map()};
  const {places} = held.current;
  const keyed = rows.map((row, index) => ({row, key: rowKey(row, index)}));
  for (const {key} of keyed) if (!places.has(key)) places.set(key, places.size);
  return keyed.sort((a, b) => places.get(a.key)! - places.get(b.key)!).map(({row}) => row);
}

export function Table<Row>({id, caption, rows, columns, rowKey, rowClass, most = 200, isLive = false}: TableProps<Row>) {
  const [order, setOrder] = useParam(`sort-${id}`);
  const isDown = order.startsWith('-');
  const column = columns.find((one) => one.id === order.replace(/^-/, ''));
  const ordered = column ? [...rows].sort((a, b) => compare(column.value(a), column.value(b)) * (isDown ? -1 : 1)) : rows;
  const sorted = useSteady(ordered, order, isLive, rowKey);
  const next = (one: Column<Row>) => {
    if (one !== column) return one.as === 'number' ? `-${one.id}` : one.id;
    return isDown === (one.as === 'number') ? (isDown ? one.id : `-${one.id}`) : '';
  };
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
        <table data-table={id}>
          <caption>{caption}</caption>
          <thead>
            <tr>
              {columns.map((one) => (
                <th scope="col" class={one.as === 'number' ? 'num' : ''} aria-sort={one !== column ? 'none' : isDown ? 'descending' : 'ascending'}>
                  <button type="button" class="sort" onClick={() => setOrder(next(one))}>
                    {one.title}
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sorted.slice(0, most).map((row, index) => (
              <tr key={rowKey?.(row, index) ?? index} class={rowClass?.(row)}>
                {columns.map((one) => (
                  <td class={one.as === 'number' ? 'num' : one.as === 'code' ? 'code' : ''}>{one.show ? one.show(row) : one.as === 'code' ? <Wrapped text={String(one.value(row) ?? '')} /> : one.value(row)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > most ? <p class="dim">and {(rows.length - most).toLocaleString('en-US')} more rows</p> : null}
    </>
  );
}
