// The dominator tree of a heap: who keeps what alive. The first node is everything.
import type {Heap} from '../../api/types';

export type HeapNode = Heap['dominators'][number];

export interface HeapTree {
  nodes: HeapNode[];
  children: number[][]; // most retained first
}

export function treeOf(nodes: HeapNode[]): HeapTree {
  const children = nodes.map((): number[] => []);
  nodes.forEach((node, i) => {
    if (i > 0 && node.parent < i) children[node.parent].push(i);
  });
  for (const list of children) list.sort((a, b) => nodes[b].retainedBytes - nodes[a].retainedBytes);
  return {nodes, children};
}

// From the first node to this one.
export function wayTo({nodes}: HeapTree, at: number): number[] {
  const way = [at];
  while (way[0] > 0) way.unshift(nodes[way[0]].parent);
  return way;
}

export const isFramework = (type: string): boolean => /^(System|Microsoft|Interop|Internal)[.+]/.test(type) || /^System\b/.test(type);

export function nodeTitle(node: HeapNode): string {
  switch (node.kind) {
    case 'heap':
      return 'all live objects';
    case 'root':
      return node.root ? `${node.root}: ${node.name}` : node.name;
    case 'shared':
      return 'kept alive by several roots';
    case 'rest':
      return 'smaller ones';
    default:
      return node.name;
  }
}

// The type without its namespace, for a small box: "Order[]" of "Shop.Sales.Order[]".
export function shortType(name: string): string {
  return name.replace(/(?:[\p{L}_][\p{L}\p{N}_]*\.)+(?=[\p{L}_<])/gu, '');
}

// An address of a node that survives another snapshot's numbers: names from the first node on.
export function keyOf(tree: HeapTree, at: number): string {
  return wayTo(tree, at)
    .slice(1)
    .map((i) => encodeURIComponent(`${tree.nodes[i].kind}:${tree.nodes[i].name}`))
    .join('/');
}

export function nodeOf(tree: HeapTree, key: string): number {
  let at = 0;
  for (const part of key.split('/').filter(Boolean)) {
    const wanted = decodeURIComponent(part);
    const next = tree.children[at].find((i) => `${tree.nodes[i].kind}:${tree.nodes[i].name}` === wanted);
    if (next === undefined) return at;
    at = next;
  }
  return at;
}
