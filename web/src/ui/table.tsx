// A table that a person can sort. The order is in the address, so that it survives reload and can be passed on.
import type {ComponentChildren, RefObject} from 'preact';
import {useEffect, useLayoutEffect, useRef, useState} from 'preact/hooks';
import {useParam} from '../frame/router';
import {formatNumber} from './format';
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
  order?: string; // the order in which the rows come, as in the address: marked while the reader has chosen none
  isLive?: boolean | 'touched'; // rows stay where they are when data arrive, new ones come last: until the reader sorts; or only while
  // the pointer or the focus is among them. Needs rowKey
}

function compare(x: unknown, y: unknown): number {
  if (x == null || y == null) return Number(x != null) - Number(y != null);
  return typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y), undefined, {numeric: true});
}

// Places of rows that were seen live; what ends keeps the order that its reader knows.
function useSteady<Row>(rows: Row[], order: string, isLive: boolean, isHeld: boolean, rowKey: TableProps<Row>['rowKey']): Row[] {
  const held = useRef<{order: string; places: Map<string | number, number>}>();
  if (!rowKey || (!isLive && !held.current)) return rows;
  if (held.current?.order !== order || !isHeld) held.current = {order, places: new Map()};
  const {places} = held.current;
  const keyed = rows.map((row, index) => ({row, key: rowKey(row, index)}));
  for (const {key} of keyed) if (!places.has(key)) places.set(key, places.size);
  return keyed.sort((a, b) => places.get(a.key)! - places.get(b.key)!).map(({row}) => row);
}

interface Anchor {
  row: Element;
  top: number;
  scrollY: number;
}

function firstInView(body: HTMLTableSectionElement | null): Anchor | undefined {
  if (!body || body.getBoundingClientRect().top >= 0) return undefined;
  for (const row of body.rows) {
    const {top} = row.getBoundingClientRect();
    if (top >= 0) return {row, top, scrollY: window.scrollY};
  }
  return undefined;
}

// The row at the top of the window stays there when rows come and go above it: browsers see to that, but not within boxes that scroll.
function useAnchor(): RefObject<HTMLTableSectionElement> {
  const body = useRef<HTMLTableSectionElement>(null);
  const anchor = useRef<Anchor>();
  useEffect(() => {
    const onScroll = () => (anchor.current = firstInView(body.current));
    const onResize = () => (anchor.current = undefined);
    window.addEventListener('scroll', onScroll, {passive: true});
    window.addEventListener('resize', onResize);
    return () => {
      window.removeEventListener('scroll', onScroll);
      window.removeEventListener('resize', onResize);
    };
  }, []);
  useLayoutEffect(() => {
    const {row, top, scrollY} = anchor.current ?? {};
    const moved = row?.isConnected ? row.getBoundingClientRect().top - top! + window.scrollY - scrollY! : 0;
    if (Math.abs(moved) > 1) window.scrollBy(0, moved);
    anchor.current = firstInView(body.current);
  });
  return body;
}

export function Table<Row>({id, caption, rows, columns, rowKey, rowClass, most = 200, order: given = '', isLive = false}: TableProps<Row>) {
  const [order, setOrder] = useParam(`sort-${id}`, given);
  const isDown = order.startsWith('-');
  const column = columns.find((one) => one.id === order.replace(/^-/, ''));
  const ordered = column ? [...rows].sort((a, b) => compare(column.value(a), column.value(b)) * (isDown ? -1 : 1)) : rows;
  const [isTouched, setTouched] = useState(false);
  const [isWhole, setWhole] = useState(false);
  const sorted = useSteady(ordered, order, isLive !== false, isLive !== 'touched' || isTouched, rowKey);
  const body = useAnchor();
  const shown = isWhole ? sorted : sorted.slice(0, most);
  const touch = ({type, currentTarget}: Event) => setTouched(type === 'mouseenter' || type === 'focusin' || (currentTarget as Element).matches(':hover, :focus-within'));
  const next = (one: Column<Row>) => {
    if (one !== column) return one.as === 'number' ? `-${one.id}` : one.id;
    return isDown === (one.as === 'number') ? (isDown ? one.id : `-${one.id}`) : '';
  };
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label={caption} {...(isLive === 'touched' ? {onMouseEnter: touch, onMouseLeave: touch, onFocusIn: touch, onFocusOut: touch} : {})}>
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
          <tbody ref={body}>
            {shown.map((row, index) => (
              <tr key={rowKey?.(row, index) ?? index} class={rowClass?.(row)}>
                {columns.map((one) => (
                  <td class={one.as === 'number' ? 'num' : one.as === 'code' ? 'code' : ''}>{one.show ? one.show(row) : one.as === 'code' ? <Wrapped text={String(one.value(row) ?? '')} /> : one.value(row)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > shown.length ? (
        <p class="bar dim">
          and {formatNumber(rows.length - shown.length)} more rows
          <button type="button" class="small" onClick={() => setWhole(true)}>
            Show all
          </button>
        </p>
      ) : null}
    </>
  );
}
