// The functions of what is shown, each once, by the time of their own.
import type {Tree} from './tree';
import {durationText, percentText, type Names} from './words';

const kMost = 300; // rows

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

// Rows for the table beside the picture; a row's button looks the function up.
export function functionRows(tree: Tree, names: Names, zoom: number, inverted: boolean, onChoose: (name: string) => void): HTMLElement[] {
  const all = functionTimes(tree, zoom, names.count, inverted);
  const whole = tree.total[zoom];
  const rows = all.slice(0, kMost).map((one) => {
    const row = document.createElement('tr');
    const [total, self, name] = [document.createElement('td'), document.createElement('td'), document.createElement('td')];
    total.textContent = percentText(one.total, whole);
    total.title = durationText(one.total);
    self.textContent = percentText(one.self, whole);
    self.title = durationText(one.self);
    const kind = document.createElement('span');
    kind.className = `flame-dot kind-${names.kind(one.name)}`;
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'flame-function';
    button.textContent = names.whole(one.name);
    button.title = [names.module(one.name), names.kindTitle(one.name), 'press to find it'].filter(Boolean).join(' · ');
    button.addEventListener('click', () => onChoose(names.whole(one.name)));
    name.append(kind, button);
    row.append(total, self, name);
    return row;
  });
  if (all.length > kMost) {
    const row = document.createElement('tr');
    const cell = document.createElement('td');
    cell.colSpan = 3;
    cell.className = 'dim';
    cell.textContent = `… ${all.length - kMost} more with less`;
    row.append(cell);
    rows.push(row);
  }
  return rows;
}
