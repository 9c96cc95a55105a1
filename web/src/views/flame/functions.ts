// The functions of what is shown, each once, by the time of their own.
import type {Tree} from './tree';

export interface FunctionTime {
  name: number;
  self: number;
  total: number; // recursion once
}

// In an inverted tree the functions on top are those that used the time.
export function functionTimes(tree: Tree, zoom: number, names: number, inverted = false): FunctionTime[] {
  const self = new Float64Array(names);
  const total = new Float64Array(names);
  const within = new Uint8Array(tree.name.length);
  within[zoom] = 1;
  for (let node = Math.max(zoom, 0); node < tree.name.length; ++node) {
    if (node !== zoom) within[node] = within[tree.parent[node]];
    if (!within[node] || node === 0 || tree.total[node] <= 0) continue;
    const name = tree.name[node];
    if (!inverted) self[name] += tree.self[node];
    else if (tree.depth[node] === 1) self[name] += tree.total[node];
    let above = node;
    while (above !== zoom && tree.name[tree.parent[above]] !== name) above = tree.parent[above];
    const isOutermost = above === zoom;
    if (isOutermost) total[name] += tree.total[node];
  }
  const all: FunctionTime[] = [];
  for (let name = 0; name < names; ++name) if (total[name] > 0) all.push({name, self: self[name], total: total[name]});
  return all.sort((a, b) => b.self - a.self || b.total - a.total);
}
