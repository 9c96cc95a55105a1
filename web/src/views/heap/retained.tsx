// The treemap with its way back and its table.
import {useMemo} from 'preact/hooks';
import type {Heap} from '../../api/types';
import {formatBytes, formatNumber} from '../../ui/format';
import {Table} from '../../ui/table';
import {Wrapped} from '../../ui/wrapped';
import {keyOf, nodeOf, nodeTitle, treeOf, wayTo} from './nodes';
import type {TypeLink} from './path';
import {Treemap} from './treemap';

interface RetainedProps {
  heap: Heap;
  at: string; // key of the node whose contents are shown
  onOpen: (key: string) => void;
  typeLink: TypeLink;
}

export function Retained({heap, at, onOpen, typeLink}: RetainedProps) {
  const tree = useMemo(() => treeOf(heap.dominators), [heap]);
  if (tree.nodes.length < 2) return <p class="dim">What keeps what alive is not known of this snapshot: it has no references.</p>;
  const node = nodeOf(tree, at);
  const whole = tree.nodes[0].retainedBytes;
  const way = wayTo(tree, node);
  const go = (next: number) => onOpen(keyOf(tree, next));
  const rows = tree.children[node].map((index) => ({index, ...tree.nodes[index]}));
  return (
    <>
      <nav class="bar heap-way" aria-label="Where in the heap">
        {way.map((one, i) =>
          one === node ? (
            <b key={one} class="mono">
              {nodeTitle(tree.nodes[one])} · {formatBytes(tree.nodes[one].retainedBytes)}
            </b>
          ) : (
            <span key={one}>
              <button type="button" class="link" onClick={() => go(one)}>
                {nodeTitle(tree.nodes[one])}
              </button>{' '}
              {i < way.length - 1 ? '›' : ''}
            </span>
          ),
        )}
        {tree.nodes[node].kind === 'objects' ? <a href={typeLink(tree.nodes[node].name)}>Objects of this type</a> : null}
      </nav>
      {rows.length ? <Treemap tree={tree} at={node} onOpen={go} /> : <p class="dim">Nothing below it is large enough to show.</p>}
      <p class="bar heap-legend">
        <span class="heap-key heap-root">root</span>
        <span class="heap-key heap-app">types of the app</span>
        <span class="heap-key heap-framework">types of .NET</span>
        <span class="heap-key heap-shared">kept alive by several roots</span>
        <span class="heap-key heap-rest">smaller ones</span>
      </p>
      {rows.length ? (
        <Table
          id="retained"
          caption="The same as a table"
          rows={rows}
          rowKey={(one) => one.index}
          columns={[
            {id: 'retained', title: 'Retained', as: 'number', value: (one) => one.retainedBytes, show: (one) => formatBytes(one.retainedBytes)},
            {id: 'share', title: 'Share', as: 'number', value: (one) => one.retainedBytes / whole, show: (one) => `${((one.retainedBytes / whole) * 100).toFixed(1)} %`},
            {id: 'own', title: 'Themselves', as: 'number', value: (one) => one.bytes, show: (one) => formatBytes(one.bytes)},
            {id: 'count', title: 'Objects', as: 'number', value: (one) => one.count, show: (one) => formatNumber(one.count)},
            {
              id: 'name',
              title: 'What',
              as: 'code',
              value: nodeTitle,
              show: (one) =>
                tree.children[one.index].length ? (
                  <button type="button" class="link" onClick={() => go(one.index)}>
                    <Wrapped text={nodeTitle(one)} />
                  </button>
                ) : (
                  <Wrapped text={nodeTitle(one)} />
                ),
            },
          ]}
        />
      ) : null}
    </>
  );
}
