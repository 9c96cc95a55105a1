// The viewer: holds what the reader chose, and tells its parts when that changes.
//
// Parts that come later (a time line, two traces side by side) are members beside canvas and table, fed from update().
import {FlameCanvas} from './canvas';
import {DetailsLine, factsOf, Tip} from './details';
import {readTrace, type FlameJson, type Trace} from './data';
import {emptyText, keysText, summaryText} from './texts';
import {search, type Found} from './search';
import {CallTable} from './table';
import {Toolbar} from './toolbar';
import {buildTree, childrenOf, followPath, pathOf, type Choice, type Tree, type Weight} from './tree';
import {Names, percentText} from './words';
import {kKinds} from '../../ui/kinds';

const kFramework = [kKinds.indexOf('framework'), kKinds.indexOf('runtime')];
const kWide = 1000; // pixels: from here on the table is shown unasked

export class Viewer {
  private trace: Trace;
  private names: Names;
  private tree: Tree;
  private zoom = 0;
  private selected = -1;
  private hovered = -1;
  private found: Found | null = null;
  private lastMatch = -1;
  private searchText = '';
  private choice: Choice = {weight: 'on', inverted: false, hiddenKinds: new Set(), process: -1, thread: -1};
  private zooms: number[][] = []; // paths, the way back out
  private lastG = 0; // when that key was pressed
  private tableShown = window.innerWidth >= kWide;

  private toolbar: Toolbar;
  readonly canvas: FlameCanvas;
  private table: CallTable;
  private tip = new Tip();
  private details = new DetailsLine();
  private empty = document.createElement('div');
  private keys = document.createElement('dialog');
  private stage = document.createElement('div');

  constructor(private root: HTMLElement, json: FlameJson) {
    this.trace = readTrace(json);
    this.names = new Names(this.trace);
    this.readLink();
    if (json.samples === 0 && json.waits > 0 && !location.hash.includes('w=')) this.choice.weight = 'off';
    this.tree = buildTree(this.trace, this.choice);
    this.toolbar = new Toolbar(this.trace, {
      onWeight: (weight) => this.choose({weight}),
      onWho: (process, thread) => this.choose({process, thread}),
      onInvert: () => this.choose({inverted: !this.choice.inverted}),
      onFramework: () => this.toggleFramework(),
      onKind: (kind) => this.toggleKinds([kind]),
      onTable: () => this.toggleTable(),
      onSearch: (text) => this.searchFor(text),
      onNextMatch: () => this.nextMatch(),
      onReset: () => this.zoomTo(0),
    });
    this.canvas = new FlameCanvas(() => this.scene());
    this.table = new CallTable(() => this.scene(), (node) => this.select(node), (node) => this.zoomTo(node), (name) => this.lookUp(name));
    this.build();
    this.listen();
    if (this.searchText) this.toolbar.searchBox.value = this.searchText;
    this.update();
  }

  private scene() {
    const {tree, names, zoom, selected, hovered, found} = this;
    return {tree, names, zoom, selected, hovered, found, inverted: this.choice.inverted};
  }

  private build(): void {
    this.root.classList.add('flame');
    const summary = document.createElement('p');
    summary.className = 'flame-summary';
    summary.textContent = summaryText(this.trace.json);
    this.stage.className = 'flame-stage';
    this.empty.className = 'flame-empty';
    this.empty.setAttribute('role', 'status');
    this.keys.className = 'flame-keys';
    this.keys.append(keysText());
    this.stage.append(this.canvas.box, this.empty, this.table.element);
    this.root.replaceChildren(summary, this.toolbar.element, this.toolbar.legend, this.stage, this.details.element, this.tip.element, this.keys);
  }

  // Changes of what is shown. The zoom stays where the new tree has the same path.
  private choose(change: Partial<Choice>): void {
    const path = pathOf(this.tree, this.zoom);
    this.choice = {...this.choice, ...change};
    this.tree = buildTree(this.trace, this.choice);
    this.zoom = 'inverted' in change ? 0 : followPath(this.tree, path);
    this.selected = -1;
    this.hovered = -1;
    this.zooms = this.zooms.slice(0, this.zoom === 0 ? 0 : undefined);
    this.details.clear();
    this.writeLink();
    this.update();
  }

  private toggleKinds(kinds: number[]): void {
    const hidden = new Set(this.choice.hiddenKinds);
    const all = kinds.every((kind) => hidden.has(kind));
    for (const kind of kinds)
      if (all) hidden.delete(kind);
      else hidden.add(kind);
    this.choose({hiddenKinds: hidden});
  }

  private toggleFramework(): void {
    this.toggleKinds(kFramework);
  }

  private toggleTable(): void {
    this.tableShown = !this.tableShown;
    this.update();
  }

  private update(): void {
    const {tree, zoom} = this;
    this.found = search(tree, this.names, this.searchText);
    const {hiddenKinds: hidden, weight, inverted, process, thread} = this.choice;
    this.toolbar.show({
      weight,
      inverted,
      hidden,
      framework: kFramework.every((kind) => hidden.has(kind)),
      table: this.tableShown,
      zoomed: zoom !== 0,
      who: thread >= 0 ? `t${thread}` : process >= 0 ? `p${process}` : 'all',
    });
    this.showFound();
    const nothing = tree.total[0] <= 0;
    this.empty.textContent = nothing ? emptyText(this.trace.json, this.choice) : '';
    this.empty.hidden = !nothing;
    this.canvas.box.hidden = nothing;
    this.table.element.hidden = nothing || !this.tableShown;
    this.stage.classList.toggle('with-table', this.tableShown && !nothing);
    if (this.tableShown) this.table.show();
    this.canvas.fit();
    this.root.dataset.nodes = String(tree.name.length);
    this.root.dataset.zoom = String(zoom);
  }

  private showFound(): void {
    const {found} = this;
    if (!found) return this.toolbar.showResult('');
    if (found.error) return this.toolbar.showResult(found.error);
    this.toolbar.showResult(
      found.functions === 0
        ? 'no match'
        : `${percentText(found.time, this.tree.total[0])} matched, ${found.functions} function${found.functions === 1 ? '' : 's'}`,
    );
  }

  private searchFor(text: string): void {
    this.searchText = text.trim();
    this.lastMatch = -1;
    this.found = search(this.tree, this.names, this.searchText);
    this.showFound();
    this.writeLink();
    this.canvas.redraw();
  }

  private lookUp(name: string): void {
    this.toolbar.searchBox.value = name;
    this.searchFor(name);
    this.nextMatch();
  }

  // From one match to the next, in the order in which they are drawn.
  private nextMatch(): void {
    const {found, tree} = this;
    if (!found || found.functions === 0) return;
    for (let step = 1; step <= tree.name.length; ++step) {
      const node = (Math.max(this.lastMatch, 0) + step) % tree.name.length;
      if (node === 0 || !found.matches[tree.name[node]] || tree.total[node] <= 0) continue;
      this.lastMatch = node;
      this.select(node);
      this.canvas.reveal(node);
      return;
    }
  }

  // Zooming in is a step that the browser's Back undoes.
  private zoomTo(node: number): void {
    this.select(node);
    if (node === this.zoom) return;
    this.zooms.push(pathOf(this.tree, this.zoom));
    try {
      history.pushState({flameZooms: this.zooms.length}, '');
    } catch {
      // a page without a history of its own
    }
    this.setZoom(node);
  }

  private setZoom(node: number): void {
    this.zoom = node;
    this.canvas.box.scrollTop = Math.min(this.canvas.box.scrollTop, Math.max(0, this.tree.depth[node] - 2) * 19);
    this.update();
  }

  private zoomOut(): void {
    if (this.zooms.length > 0) history.back();
    else if (this.zoom !== 0) this.setZoom(this.tree.parent[this.zoom]);
    else {
      this.selected = -1;
      this.details.clear();
      this.canvas.redraw();
    }
  }

  private onPopState(state: unknown): void {
    const wanted = typeof state === 'object' && state !== null && 'flameZooms' in state ? Number(state.flameZooms) : 0;
    if (wanted >= this.zooms.length) return;
    const path = this.zooms[wanted];
    this.zooms.length = wanted;
    this.setZoom(followPath(this.tree, path));
  }

  private select(node: number): void {
    this.selected = node;
    if (node >= 0) this.details.show(factsOf(this.tree, this.names, this.zoom, node));
    this.table.select(node);
    this.canvas.redraw();
  }

  private listen(): void {
    const {canvas} = this.canvas;
    canvas.addEventListener('mousemove', (event) => this.hover(event));
    canvas.addEventListener('mouseleave', () => this.unhover());
    canvas.addEventListener('click', (event) => {
      const node = this.canvas.nodeAt(event.clientX, event.clientY);
      if (node >= 0) this.zoomTo(node);
    });
    this.canvas.box.addEventListener('scroll', () => this.unhover());
    window.addEventListener('popstate', (event) => this.onPopState(event.state));
    document.addEventListener('keydown', (event) => this.onKey(event), true); // before the page's own keys
  }

  private hover(event: MouseEvent): void {
    const node = this.canvas.nodeAt(event.clientX, event.clientY);
    if (node < 0) return this.unhover();
    if (node !== this.hovered) {
      this.hovered = node;
      this.canvas.redraw();
    }
    this.tip.show(factsOf(this.tree, this.names, this.zoom, node), event.clientX, event.clientY);
  }

  private unhover(): void {
    this.tip.hide();
    if (this.hovered < 0) return;
    this.hovered = -1;
    this.canvas.redraw();
  }

  private onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.root.isConnected) return;
    // "g" and a letter lead to another page.
    const afterG = Date.now() - this.lastG < 1500;
    this.lastG = event.key === 'g' ? Date.now() : 0;
    if (afterG) return;
    const inField = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement || event.target instanceof HTMLTextAreaElement;
    if (event.key === 'Escape') {
      if (this.keys.open) return;
      if (inField && this.searchText) {
        this.toolbar.searchBox.value = '';
        this.searchFor('');
        this.canvas.canvas.focus();
      } else if (inField) this.canvas.canvas.focus();
      else this.zoomOut();
      event.preventDefault();
      return;
    }
    if (inField || (kMoves.has(event.key) && event.target instanceof Element && event.target.closest('.flame-table'))) return;
    const action = this.keyActions[event.key];
    if (!action || (kMoves.has(event.key) && event.target instanceof HTMLButtonElement)) return;
    if (action() !== false) event.preventDefault();
  }

  private keyActions: Record<string, () => boolean | void> = {
    '/': () => this.toolbar.searchBox.focus(),
    i: () => this.choose({inverted: !this.choice.inverted}),
    f: () => this.toggleFramework(),
    t: () => this.toggleTable(),
    w: () => this.choose({weight: nextWeight(this.choice.weight)}),
    n: () => this.nextMatch(),
    c: () => this.details.copy(),
    Home: () => this.zoomTo(0),
    Backspace: () => this.zoomOut(),
    Enter: () => this.selected >= 0 && this.zoomTo(this.selected),
    ArrowUp: () => this.move((tree, node) => tree.parent[node]),
    ArrowDown: () => this.move((tree, node) => heaviestChild(tree, node)),
    ArrowLeft: () => this.move((tree, node) => sibling(tree, node, -1)),
    ArrowRight: () => this.move((tree, node) => sibling(tree, node, 1)),
    '?': () => this.keys.showModal(),
  };

  private move(to: (tree: Tree, node: number) => number): void {
    const next = this.selected < 0 ? this.zoom : to(this.tree, this.selected);
    this.select(next);
    this.canvas.reveal(next);
  }

  // The choice is in the address, so that it can be passed on.
  private writeLink(): void {
    const words = new URLSearchParams();
    const {weight, inverted, hiddenKinds, process, thread} = this.choice;
    if (weight !== 'on') words.set('w', weight);
    if (inverted) words.set('inverted', '1');
    if (hiddenKinds.size > 0) words.set('hide', [...hiddenKinds].map((kind) => kKinds[kind]).join(','));
    if (thread >= 0) words.set('thread', String(this.trace.json.threadId[thread]));
    else if (process >= 0) words.set('process', String(this.trace.json.processes[process].pid));
    if (this.searchText) words.set('q', this.searchText);
    const hash = words.toString();
    try {
      history.replaceState(history.state, '', hash ? `#${hash}` : location.pathname + location.search);
    } catch {
      // an address that may not be changed: the choice holds all the same
    }
  }

  private readLink(): void {
    const words = new URLSearchParams(location.hash.slice(1));
    const {json} = this.trace;
    const weight = words.get('w');
    if (weight === 'off' || weight === 'both') this.choice.weight = weight;
    this.choice.inverted = words.get('inverted') === '1';
    const hidden = (words.get('hide') ?? '').split(',');
    this.choice.hiddenKinds = new Set(kKinds.map((kind, index) => (hidden.includes(kind) ? index : -1)).filter((index) => index >= 0));
    this.choice.thread = words.has('thread') ? json.threadId.indexOf(Number(words.get('thread'))) : -1;
    this.choice.process = words.has('process') ? json.processes.findIndex((one) => one.pid === Number(words.get('process'))) : -1;
    this.searchText = words.get('q') ?? '';
  }
}

const kMoves = new Set(['Enter', 'ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight']);

function nextWeight(weight: Weight): Weight {
  return weight === 'on' ? 'off' : weight === 'off' ? 'both' : 'on';
}

function heaviestChild(tree: Tree, node: number): number {
  const {from, to} = childrenOf(tree, node);
  let best = node;
  for (let i = from; i < to; ++i) if (best === node || tree.total[i] > tree.total[best]) best = i;
  return best;
}

// The next one on the same level that has time, whoever its parent is.
function sibling(tree: Tree, node: number, step: number): number {
  const depth = tree.depth[node];
  for (let i = node + step; i >= tree.level[depth] && i < tree.level[depth + 1]; i += step) if (tree.total[i] > 0) return i;
  return node;
}
