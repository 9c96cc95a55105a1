// Trees to draw, made of a trace and of what the reader chose to see.
//
// A tree is flat: nodes level by level, a parent's children together, so that the nodes of a level are sorted by
// where they begin. Nothing here touches the page.
import type {Trace} from './data';

export type Weight = 'on' | 'off' | 'both';

export interface Choice {
  weight: Weight;
  inverted: boolean; // callers below what they called
  hiddenKinds: ReadonlySet<number>; // frames of these are taken out; their time is their callers'
  unnamed: boolean; // functions without a name each for itself; else as one frame
  process: number; // index, or -1: all
  thread: number; // index, or -1: all
}

export interface Tree {
  name: Uint32Array;
  parent: Uint32Array;
  begin: Float64Array; // microseconds from the left edge
  total: Float64Array;
  self: Float64Array;
  level: Uint32Array; // where each level begins; one more than there are levels
  depth: Uint32Array;
}


// What each node of the trace did itself, by the choice of threads and weight; `off` only when both are shown.
function selfTimes(trace: Trace, choice: Choice): {on: Float64Array; off: Float64Array} {
  const {json} = trace;
  const on = new Float64Array(trace.nodeName.length);
  const off = new Float64Array(choice.weight === 'both' ? trace.nodeName.length : 0);
  const weights = choice.weight === 'off' ? json.rowOffUs : json.rowOnUs;
  for (let i = 0; i < json.rowNode.length; ++i) {
    const thread = json.rowThread[i];
    if (choice.thread >= 0 && thread !== choice.thread) continue;
    if (choice.process >= 0 && json.threadProcess[thread] !== choice.process) continue;
    on[json.rowNode[i]] += weights[i];
    if (off.length > 0) off[json.rowNode[i]] += json.rowOffUs[i];
  }
  return {on, off};
}

export function buildTree(trace: Trace, choice: Choice): Tree {
  const {on, off} = selfTimes(trace, choice);
  if (choice.inverted) return laidOut(invert(trace, choice, on, off));
  if (choice.hiddenKinds.size === 0 && off.length === 0 && (choice.unnamed || !trace.hasUnnamed))
    return place(trace.nodeName, trace.nodeParent, on); // as it came: already in order
  return laidOut(derive(trace, choice, on, off));
}

// Nodes that are added one by one, each under a parent that is there.
export class Grower {
  name: number[] = [0];
  parent: number[] = [0];
  self: number[] = [0];
  through: number[] = [0]; // for whoever grows it: what has come by
  private slots = new Int32Array(1 << 16).fill(-1);

  child(parent: number, name: number): number {
    const mask = this.slots.length - 1;
    let at = slotOf(parent, name) & mask;
    for (; this.slots[at] >= 0; at = (at + 1) & mask) {
      const node = this.slots[at];
      if (this.parent[node] === parent && this.name[node] === name) return node;
    }
    const node = this.name.length;
    this.name.push(name);
    this.parent.push(parent);
    this.self.push(0);
    this.through.push(0);
    this.slots[at] = node;
    if (node * 2 > this.slots.length) this.grow();
    return node;
  }

  private grow(): void {
    this.slots = new Int32Array(this.slots.length * 2).fill(-1);
    const mask = this.slots.length - 1;
    for (let node = 1; node < this.name.length; ++node) {
      let at = slotOf(this.parent[node], this.name[node]) & mask;
      while (this.slots[at] >= 0) at = (at + 1) & mask;
      this.slots[at] = node;
    }
  }
}

function slotOf(parent: number, name: number): number {
  let hash = Math.imul(parent, 0x9e3779b1) ^ Math.imul(name + 1, 0x85ebca6b);
  hash ^= hash >>> 15;
  return Math.imul(hash, 0x2c1b3c6d) >>> 7;
}

// Which name a node of the trace has in a tree, and whether it is left out below a parent of that name.
class Shown {
  private readonly names: Uint32Array | null;
  constructor(private readonly trace: Trace, private readonly choice: Choice) {
    this.names = choice.unnamed || !trace.hasUnnamed ? null : trace.folded;
  }
  name(node: number): number {
    const name = this.trace.nodeName[node];
    return this.names ? this.names[name] : name;
  }
  isLeftOut(node: number, parentName: number): boolean {
    const name = this.trace.nodeName[node];
    if (this.choice.hiddenKinds.has(this.trace.kinds[name])) return true;
    return this.names !== null && this.names[name] !== name && this.names[name] === parentName;
  }
}

// The same tree without the hidden kinds, waiting as a leaf of its own.
function derive(trace: Trace, choice: Choice, on: Float64Array, off: Float64Array): Grower {
  const grower = new Grower();
  const moved = new Uint32Array(trace.nodeName.length);
  const shown = new Shown(trace, choice);
  for (let i = 0; i < trace.nodeName.length; ++i) {
    if (i > 0) {
      const parent = moved[trace.nodeParent[i]];
      moved[i] = shown.isLeftOut(i, parent === 0 ? -1 : grower.name[parent]) ? parent : grower.child(parent, shown.name(i));
    }
    grower.self[moved[i]] += on[i];
    if (off.length > 0 && off[i] > 0) grower.self[grower.child(moved[i], trace.waiting)] += off[i];
  }
  return grower;
}

// From the leaves to their callers. What is too small to be seen is not followed further up.
function invert(trace: Trace, choice: Choice, on: Float64Array, off: Float64Array): Grower {
  const grower = new Grower();
  const shown = new Shown(trace, choice);
  let at: number[] = []; // nodes of the trace whose name is the next to be taken; 0: the root, done
  let to: number[] = []; // under these
  let weight: number[] = [];
  let whole = 0;
  const enter = (node: number, under: number, amount: number) => {
    if (amount <= 0) return;
    at.push(node);
    to.push(under);
    weight.push(amount);
    whole += amount;
  };
  for (let i = 0; i < on.length; ++i) {
    enter(i, 0, on[i]);
    if (off.length > 0) enter(i, grower.child(0, trace.waiting), off[i]);
  }
  const least = whole / 20_000;
  const {through} = grower;
  const stop = (node: number, amount: number) => (grower.self[node] += amount);
  while (at.length > 0) {
    const nextAt: number[] = [];
    const nextTo: number[] = [];
    const nextWeight: number[] = [];
    for (let i = 0; i < at.length; ++i) {
      let node = at[i];
      const above = to[i] === 0 ? -1 : grower.name[to[i]];
      while (node !== 0 && shown.isLeftOut(node, above)) node = trace.nodeParent[node];
      if (node === 0) {
        stop(to[i], weight[i]);
        continue;
      }
      const under = grower.child(to[i], shown.name(node));
      through[under] += weight[i];
      nextAt.push(trace.nodeParent[node]);
      nextTo.push(under);
      nextWeight.push(weight[i]);
    }
    at = [];
    to = [];
    weight = [];
    for (let i = 0; i < nextAt.length; ++i) {
      if (through[nextTo[i]] < least) {
        stop(nextTo[i], nextWeight[i]);
        continue;
      }
      at.push(nextAt[i]);
      to.push(nextTo[i]);
      weight.push(nextWeight[i]);
    }
  }
  return grower;
}

// Level by level, the heaviest sibling first.
export function laidOut(grown: Grower): Tree {
  const count = grown.name.length;
  const total = Float64Array.from(grown.self);
  for (let i = count - 1; i > 0; --i) total[grown.parent[i]] += total[i]; // children come after their parent
  const first = new Uint32Array(count + 1); // of each node's children in `order`
  for (let i = 1; i < count; ++i) ++first[grown.parent[i] + 1];
  for (let i = 0; i < count; ++i) first[i + 1] += first[i];
  const order = new Uint32Array(count);
  const filled = first.slice();
  for (let i = 1; i < count; ++i) order[filled[grown.parent[i]]++] = i;
  const heavier = (a: number, b: number) => total[b] - total[a] || grown.name[a] - grown.name[b];
  for (let i = 0; i < count; ++i) if (first[i + 1] - first[i] > 1) order.subarray(first[i], first[i + 1]).sort(heavier);

  const name = new Uint32Array(count);
  const parent = new Uint32Array(count);
  const self = new Float64Array(count);
  const queue = new Uint32Array(count); // our place to the grower's node
  let end = 1;
  self[0] = grown.self[0];
  for (let at = 0; at < end; ++at)
    for (let i = first[queue[at]]; i < first[queue[at] + 1]; ++i) {
      queue[end] = order[i];
      name[end] = grown.name[order[i]];
      parent[end] = at;
      self[end++] = grown.self[order[i]];
    }
  return place(name, parent, self);
}

// Where everything begins, once the order is known.
function place(name: Uint32Array, parent: Uint32Array, self: Float64Array): Tree {
  const count = name.length;
  const total = Float64Array.from(self);
  for (let i = count - 1; i > 0; --i) total[parent[i]] += total[i];
  const begin = new Float64Array(count);
  const depth = new Uint32Array(count);
  const next = new Float64Array(count); // where the node's next child begins
  const level = [0];
  for (let i = 1; i < count; ++i) {
    const above = parent[i];
    depth[i] = depth[above] + 1;
    if (depth[i] === level.length) level.push(i);
    begin[i] = next[above];
    next[i] = begin[i];
    next[above] += total[i];
  }
  level.push(count);
  return {name, parent, begin, total, self, level: Uint32Array.from(level), depth};
}

// The nodes of [from, to) whose parent is `node`: they lie together.
export function childrenOf(tree: Tree, node: number): {from: number; to: number} {
  const depth = tree.depth[node] + 1;
  if (depth >= tree.level.length - 1) return {from: 0, to: 0};
  let low = tree.level[depth];
  const end = tree.level[depth + 1];
  let high = end;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (tree.parent[middle] < node) low = middle + 1;
    else high = middle;
  }
  let to = low;
  while (to < end && tree.parent[to] === node) ++to;
  return {from: low, to};
}

// The names from the root to a node: what finds it again in another tree.
export function pathOf(tree: Tree, node: number): number[] {
  const path: number[] = [];
  for (let at = node; at !== 0; at = tree.parent[at]) path.push(tree.name[at]);
  return path.reverse();
}

// As far as the path leads.
export function followPath(tree: Tree, path: number[]): number {
  let node = 0;
  for (const name of path) {
    const {from, to} = childrenOf(tree, node);
    let found = 0;
    for (let i = from; i < to && !found; ++i) if (tree.name[i] === name && tree.total[i] > 0) found = i;
    if (!found) break;
    node = found;
  }
  return node;
}
