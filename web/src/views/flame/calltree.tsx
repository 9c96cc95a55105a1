// The call tree as a table: the same tree as the picture, from the node that fills it. Rows open and close.
import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import type {Scene} from './canvas';
import {childrenOf, type Tree} from './tree';
import {changeText, durationText, percentText} from './words';

const kMostChildren = 100; // of one node, until asked for more
const kMostRows = 2000;

interface Row {
  node: number;
  depth: number;
  more: number; // of the children of `node`: how many are left out; 0: the row is the node itself
}

interface Opened {
  nodes: Set<number>;
  more: Map<number, number>; // node: how many of its children
}

// The heaviest path, as far as it has a tenth of the time.
function heaviestPath(tree: Tree, zoom: number): Set<number> {
  const open = new Set<number>();
  for (let node = zoom; ; ) {
    open.add(node);
    const {from, to} = childrenOf(tree, node);
    let heaviest = -1;
    for (let i = from; i < to; ++i) if (heaviest < 0 || tree.total[i] > tree.total[heaviest]) heaviest = i;
    if (heaviest < 0 || tree.total[heaviest] < tree.total[zoom] * 0.1) return open;
    node = heaviest;
  }
}

function rowsOf(tree: Tree, zoom: number, opened: Opened): Row[] {
  const rows: Row[] = [];
  const add = (node: number, depth: number) => {
    if (rows.length >= kMostRows) return;
    rows.push({node, depth, more: 0});
    if (!opened.nodes.has(node)) return;
    const {from, to} = childrenOf(tree, node);
    const children: number[] = [];
    for (let i = from; i < to; ++i) if (tree.total[i] > 0) children.push(i);
    children.sort((a, b) => tree.total[b] - tree.total[a]);
    const shown = opened.more.get(node) ?? kMostChildren;
    for (const child of children.slice(0, shown)) add(child, depth + 1);
    if (children.length > shown) rows.push({node, depth: depth + 1, more: children.length - shown});
  };
  if (tree.total[zoom] > 0) add(zoom, 0);
  return rows;
}

interface CallTreeProps extends Pick<Scene, 'tree' | 'names' | 'zoom' | 'selected' | 'comparison' | 'rootTitle'> {
  onSelect: (node: number) => void;
  onZoom: (node: number) => void;
  onMenu: (node: number, x: number, y: number) => void;
}

export function CallTree(props: CallTreeProps) {
  const {tree, names, zoom, selected, comparison, rootTitle, onSelect, onZoom, onMenu} = props;
  const body = useRef<HTMLTableSectionElement>(null);
  const focus = useRef(-1); // row that gets the focus when it is drawn
  const [opened, setOpened] = useState<Opened & {tree: Tree}>({tree, nodes: heaviestPath(tree, zoom), more: new Map()});
  const known = opened.tree === tree ? opened : {tree, nodes: heaviestPath(tree, zoom), more: new Map<number, number>()};
  const shown = useMemo(() => ({...known, nodes: new Set([...known.nodes, zoom])}), [opened, tree, zoom]);
  const rows = useMemo(() => rowsOf(tree, zoom, shown), [shown]);
  const focusRow = (index: number) => body.current?.querySelector<HTMLElement>(`tr[data-row="${index}"]`)?.focus();
  useEffect(() => {
    if (focus.current < 0) return;
    focusRow(rows.findIndex((row) => row.node === focus.current && row.more === 0));
    focus.current = -1;
  }, [rows]);

  const toggle = (node: number) => {
    const nodes = new Set(shown.nodes);
    if (!nodes.delete(node)) nodes.add(node);
    focus.current = node;
    setOpened({...shown, nodes});
  };
  const showMore = (node: number) => setOpened({...shown, more: new Map(shown.more).set(node, (shown.more.get(node) ?? kMostChildren) * 4)});
  const hasChildren = (node: number) => {
    const {from, to} = childrenOf(tree, node);
    return to > from;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const element = event.target instanceof Element ? event.target.closest<HTMLElement>('tr') : null;
    const at = Number(element?.dataset.row ?? -1);
    const row = rows[at];
    if (!row || !element) return;
    const isOpen = shown.nodes.has(row.node);
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const next = rows[at + (event.key === 'ArrowDown' ? 1 : -1)];
      focusRow(at + (event.key === 'ArrowDown' ? 1 : -1));
      if (next && next.more === 0) onSelect(next.node);
    } else if (row.more > 0) {
      if (event.key !== 'Enter') return;
      showMore(row.node);
    } else if (event.key === 'ArrowRight' && !isOpen && hasChildren(row.node)) toggle(row.node);
    else if (event.key === 'ArrowLeft' && isOpen && row.node !== zoom) toggle(row.node);
    else if (event.key === 'Enter') onZoom(row.node);
    else if (event.key === 'ContextMenu' || (event.key === 'F10' && event.shiftKey)) {
      const place = element.getBoundingClientRect();
      onMenu(row.node, place.left + 40, place.bottom);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const focused = rows.findIndex((row) => row.node === selected && row.more === 0);
  return (
    <table role="treegrid" aria-label="Call tree">
      <thead>
        <tr>
          <th scope="col">total</th>
          <th scope="col">self</th>
          {comparison ? <th scope="col">change</th> : null}
          <th scope="col">function</th>
        </tr>
      </thead>
      <tbody ref={body} onKeyDown={onKeyDown}>
        {rows.map((row, index) => {
          const {node, depth, more} = row;
          if (more > 0)
            return (
              <tr key={`more ${node}`} data-row={index} tabIndex={-1} aria-level={depth + 1} onClick={() => showMore(node)}>
                <td colSpan={comparison ? 4 : 3} class="dim">
                  … {more} more
                </td>
              </tr>
            );
          const name = tree.name[node];
          const isOpen = shown.nodes.has(node);
          const isParent = hasChildren(node);
          return (
            <tr
              key={node}
              data-row={index}
              data-node={node}
              tabIndex={index === Math.max(0, focused) ? 0 : -1}
              aria-level={depth + 1}
              aria-selected={node === selected}
              aria-expanded={isParent ? isOpen : undefined}
              onClick={() => onSelect(node)}
              onDblClick={() => onZoom(node)}
              onContextMenu={(event) => {
                event.preventDefault();
                onSelect(node);
                onMenu(node, event.clientX, event.clientY);
              }}
            >
              <td title={durationText(tree.total[node])}>{percentText(tree.total[node], tree.total[zoom])}</td>
              <td title={durationText(tree.self[node])}>{tree.self[node] > 0 ? percentText(tree.self[node], tree.total[zoom]) : ''}</td>
              {comparison ? <td class={node ? changeClass(comparison.change[node]) : ''}>{node ? changeText(comparison.change[node]) : ''}</td> : null}
              <td class="flame-indent" style={{paddingLeft: `${Math.min(depth, 60) * 8}px`}}>
                <span
                  class="flame-mark"
                  onClick={(event) => {
                    event.stopPropagation();
                    if (isParent) toggle(node);
                  }}
                >
                  {isParent ? (isOpen ? '▾' : '▸') : ''}
                </span>
                <span class={node === 0 ? 'flame-dot' : `flame-dot kind-${names.kind(name)}`} />
                {node === 0 ? (
                  rootTitle
                ) : (
                  <span title={`${names.whole(name)} · ${names.origin(name)}`}>
                    {names.table(name).label} <span class="dim">{names.table(name).context}</span>
                  </span>
                )}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

export function changeClass(change: number): string {
  return Math.abs(change) < 0.0005 ? '' : change > 0 ? 'flame-more' : 'flame-less';
}
