// The call tree as a table: the same tree as the picture, from the node that fills it. Rows open and close.
import {functionRows} from './functions';
import {childrenOf, type Tree} from './tree';
import {durationText, percentText, type Names} from './words';

const kMostChildren = 100; // of one node, until asked for more
const kMostRows = 2000;

export interface TableScene {
  tree: Tree;
  names: Names;
  zoom: number;
  inverted: boolean;
}

export class CallTable {
  readonly element: HTMLElement;
  private body: HTMLElement;
  private open = new Set<number>();
  private more = new Map<number, number>(); // node: how many of its children
  private tree: Tree | null = null;
  private selected = -1;
  private rows: HTMLElement[] = [];
  private flat = false;
  private table = document.createElement('table');
  private tabs = new Map<boolean, HTMLButtonElement>();

  constructor(
    private scene: () => TableScene,
    private onSelect: (node: number) => void,
    private onZoom: (node: number) => void,
    private onFunction: (name: string) => void,
  ) {
    this.element = document.createElement('div');
    this.element.className = 'flame-table';
    const {table} = this;
    table.innerHTML = '<thead><tr><th scope="col">total</th><th scope="col">self</th><th scope="col">function</th></tr></thead>';
    this.body = document.createElement('tbody');
    table.append(this.body);
    this.element.append(this.tabBar(), table);
    this.body.addEventListener('click', (event) => this.onClick(event));
    this.body.addEventListener('dblclick', (event) => {
      const node = nodeOf(event.target);
      if (node >= 0) this.onZoom(node);
    });
    this.body.addEventListener('keydown', (event) => this.onKey(event));
  }

  // The tree or the zoom has changed: the heaviest path is opened.
  show(): void {
    const {tree, zoom} = this.scene();
    if (tree !== this.tree) {
      this.open.clear();
      this.more.clear();
      this.tree = tree;
    }
    for (let node = zoom; ; ) {
      this.open.add(node);
      const {from, to} = childrenOf(tree, node);
      let heaviest = -1;
      for (let i = from; i < to; ++i) if (heaviest < 0 || tree.total[i] > tree.total[heaviest]) heaviest = i;
      if (heaviest < 0 || tree.total[heaviest] < tree.total[zoom] * 0.1) break;
      node = heaviest;
    }
    this.render();
  }

  private tabBar(): HTMLElement {
    const bar = document.createElement('div');
    bar.className = 'flame-tabs flame-group';
    for (const [flat, title, help] of [[false, 'Call tree', 'Who called whom'], [true, 'Functions', 'Each function once, by its own time']] as const) {
      const tab = document.createElement('button');
      tab.type = 'button';
      tab.textContent = title;
      tab.title = help;
      tab.addEventListener('click', () => {
        this.flat = flat;
        this.show();
      });
      this.tabs.set(flat, tab);
      bar.append(tab);
    }
    return bar;
  }

  select(node: number): void {
    this.selected = node;
    for (const row of this.rows) row.setAttribute('aria-selected', String(Number(row.dataset.node) === node));
  }

  private render(focus = -1): void {
    const {tree, names, zoom, inverted} = this.scene();
    this.rows = [];
    for (const [flat, tab] of this.tabs) tab.setAttribute('aria-pressed', String(flat === this.flat));
    this.table.setAttribute('role', this.flat ? 'table' : 'treegrid');
    this.table.setAttribute('aria-label', this.flat ? 'Functions' : 'Call tree');
    if (this.flat) {
      this.body.replaceChildren(...functionRows(tree, names, zoom, inverted, this.onFunction));
      return;
    }
    const base = tree.depth[zoom];
    const add = (node: number) => {
      if (this.rows.length >= kMostRows) return;
      this.rows.push(this.rowOf(node, tree.depth[node] - base));
      if (!this.open.has(node)) return;
      const {from, to} = childrenOf(tree, node);
      const children: number[] = [];
      for (let i = from; i < to; ++i) if (tree.total[i] > 0) children.push(i);
      children.sort((a, b) => tree.total[b] - tree.total[a]);
      const shown = this.more.get(node) ?? kMostChildren;
      for (const child of children.slice(0, shown)) add(child);
      if (children.length > shown) this.rows.push(this.moreRow(node, children.length - shown, tree.depth[node] + 1 - base));
    };
    if (tree.total[zoom] > 0) add(zoom);
    this.body.replaceChildren(...this.rows);
    if (this.rows.length > 0) {
      const target = this.rows.find((row) => Number(row.dataset.node) === focus);
      (target ?? this.rows[0]).tabIndex = 0;
      target?.focus();
    }
  }

  private rowOf(node: number, depth: number): HTMLElement {
    const {tree, names, zoom} = this.scene();
    const row = document.createElement('tr');
    const {from, to} = childrenOf(tree, node);
    row.dataset.node = String(node);
    row.tabIndex = -1;
    row.setAttribute('aria-level', String(depth + 1));
    row.setAttribute('aria-selected', String(node === this.selected));
    if (to > from) row.setAttribute('aria-expanded', String(this.open.has(node)));
    const whole = tree.total[zoom];
    const total = document.createElement('td');
    total.textContent = percentText(tree.total[node], whole);
    total.title = durationText(tree.total[node]);
    const self = document.createElement('td');
    self.textContent = tree.self[node] > 0 ? percentText(tree.self[node], whole) : '';
    self.title = durationText(tree.self[node]);
    const name = document.createElement('td');
    const mark = document.createElement('span');
    mark.className = 'flame-mark';
    mark.textContent = to > from ? (this.open.has(node) ? '▾' : '▸') : '';
    const kind = document.createElement('span');
    kind.className = node === 0 ? 'flame-dot' : `flame-dot kind-${names.kind(tree.name[node])}`;
    const text = document.createElement('span');
    text.textContent = node === 0 ? 'all' : names.whole(tree.name[node]);
    text.title = node === 0 ? 'all' : [names.whole(tree.name[node]), names.module(tree.name[node]), names.kindTitle(tree.name[node])].filter(Boolean).join(' · ');
    name.style.paddingLeft = `${Math.min(depth, 60) * 8}px`;
    name.append(mark, kind, text);
    row.append(total, self, name);
    return row;
  }

  private moreRow(node: number, count: number, depth: number): HTMLElement {
    const row = document.createElement('tr');
    row.dataset.more = String(node);
    row.tabIndex = -1;
    const name = document.createElement('td');
    name.colSpan = 3;
    name.textContent = `… ${count} more`;
    name.className = 'dim';
    name.style.paddingLeft = `${130 + depth * 8}px`;
    row.append(name);
    return row;
  }

  private toggle(node: number): void {
    if (this.open.has(node)) this.open.delete(node);
    else this.open.add(node);
    this.render(node);
  }

  private onClick(event: MouseEvent): void {
    const row = event.target instanceof Element ? event.target.closest<HTMLElement>('tr') : null;
    if (!row) return;
    if (row.dataset.more) {
      const node = Number(row.dataset.more);
      this.more.set(node, (this.more.get(node) ?? kMostChildren) * 4);
      this.render(node);
      return;
    }
    const node = nodeOf(row);
    if (node < 0) return;
    if (event.target instanceof Element && event.target.closest('.flame-mark')) this.toggle(node);
    this.onSelect(node);
  }

  private onKey(event: KeyboardEvent): void {
    const node = nodeOf(event.target);
    const row = event.target instanceof Element ? event.target.closest<HTMLElement>('tr') : null;
    if (!row) return;
    const expanded = row.getAttribute('aria-expanded');
    if (event.key === 'ArrowDown') this.focus(row.nextElementSibling);
    else if (event.key === 'ArrowUp') this.focus(row.previousElementSibling);
    else if (event.key === 'ArrowRight' && expanded === 'false') this.toggle(node);
    else if (event.key === 'ArrowLeft' && expanded === 'true') this.toggle(node);
    else if (event.key === 'Enter' && row.dataset.more) row.click();
    else if (event.key === 'Enter' && node >= 0) this.onZoom(node);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private focus(row: Element | null): void {
    if (!(row instanceof HTMLElement)) return;
    row.tabIndex = 0;
    row.focus();
    const node = nodeOf(row);
    if (node >= 0) this.onSelect(node);
  }
}

function nodeOf(target: EventTarget | null): number {
  const row = target instanceof Element ? target.closest<HTMLElement>('tr[data-node]') : null;
  return row ? Number(row.dataset.node) : -1;
}
