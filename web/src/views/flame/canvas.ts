// Draws a tree on a canvas: only what is in sight, only what is a pixel wide.
//
// The canvas is as large as its box; the box scrolls, a spacer in it is as high as the tree.
import {kKinds} from '../../ui/kinds';
import type {Found} from './search';
import type {Comparison} from './compare';
import type {Tree} from './tree';
import {changeText, type Names} from './words';

export const kRow = 19; // pixels
const kFont = 12;
const kLeastChange = 0.0005; // of all time

interface Colours {
  kinds: string[];
  ink: string;
  paper: string;
  panel: string;
  dim: string;
  line: string;
  accent: string;
  match: string;
  more: string;
  less: string;
  same: string;
  mono: string;
}

function readColours(element: Element): Colours {
  const style = getComputedStyle(element);
  const of = (name: string) => style.getPropertyValue(name).trim();
  return {
    kinds: [...kKinds.map((kind) => of(`--kind-${kind}`)), of('--kind-waiting')],
    ink: of('--kind-ink'),
    paper: of('--paper'),
    panel: of('--panel'),
    dim: of('--dim'),
    line: of('--line'),
    accent: of('--ink'),
    match: of('--match'),
    more: of('--diff-more'),
    less: of('--diff-less'),
    same: of('--kind-unknown'),
    mono: of('--mono'),
  };
}

export interface Scene {
  tree: Tree;
  names: Names;
  zoom: number; // the node that fills the width
  selected: number; // or -1
  hovered: number; // or -1
  found: Found | null;
  rootTitle: string;
  comparison: Pick<Comparison, 'change' | 'largest'> | null;
  isUpward: boolean; // the root at the bottom
}

export class FlameCanvas {
  private readonly spacer: HTMLElement;
  private readonly watcher: ResizeObserver;
  private readonly onTheme = () => this.recolour();
  private readonly onScroll = () => this.redraw();
  private levels = 1;
  private context: CanvasRenderingContext2D;
  private colours: Colours;
  private charWidth = 7;
  private width = 0;
  private height = 0;
  private pending = 0;
  private rects = 0; // of the drawing under way

  // `box` scrolls; it holds the canvas and an element that is as high as there is to scroll.
  constructor(private readonly box: HTMLElement, private readonly canvas: HTMLCanvasElement, private readonly scene: () => Scene) {
    this.spacer = box.lastElementChild as HTMLElement;
    const context = canvas.getContext('2d', {alpha: false});
    if (!context) throw new Error('this browser has no canvas');
    this.context = context;
    this.colours = readColours(document.documentElement);
    box.addEventListener('scroll', this.onScroll);
    document.addEventListener('themechange', this.onTheme);
    this.watcher = new ResizeObserver(() => this.resize());
    this.watcher.observe(box);
  }

  end(): void {
    this.watcher.disconnect();
    this.box.removeEventListener('scroll', this.onScroll);
    document.removeEventListener('themechange', this.onTheme);
    cancelAnimationFrame(this.pending);
  }

  private recolour(): void {
    this.colours = readColours(document.documentElement);
    this.redraw();
  }

  private resize(): void {
    const ratio = window.devicePixelRatio || 1;
    this.width = this.box.clientWidth;
    this.height = this.box.clientHeight;
    this.canvas.width = Math.max(1, Math.round(this.width * ratio));
    this.canvas.height = Math.max(1, Math.round(this.height * ratio));
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.height}px`;
    this.colours = readColours(document.documentElement);
    this.fit();
    this.draw();
  }

  // At the next frame, once.
  redraw(): void {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      this.draw();
    });
  }

  // Call when the tree or the zoom has changed: how far one can scroll has, too.
  fit(): void {
    const {tree, zoom} = this.scene();
    const wasAtEnd = this.box.scrollTop + this.height >= this.contentHeight() - 1;
    this.levels = Math.max(tree.depth[zoom] + 1, this.deepest(tree, zoom) + 1);
    this.spacer.style.height = `${Math.max(0, this.levels * kRow - this.height)}px`;
    if (this.scene().isUpward && wasAtEnd) this.box.scrollTop = this.contentHeight();
    this.redraw();
  }

  private contentHeight(): number {
    return Math.max(this.height, this.levels * kRow);
  }

  // Where a level begins, from the top of all that can be scrolled to.
  private topOf(level: number): number {
    return this.scene().isUpward ? this.contentHeight() - (level + 1) * kRow : level * kRow;
  }

  private levelAt(y: number): number {
    return Math.floor((this.scene().isUpward ? this.contentHeight() - 1 - y : y) / kRow);
  }

  private deepest(tree: Tree, zoom: number): number {
    const begin = tree.begin[zoom];
    const end = begin + tree.total[zoom];
    let deepest = tree.depth[zoom];
    for (let level = deepest + 1; level < tree.level.length - 1; ++level) {
      const first = firstEndingAfter(tree, level, begin);
      let seen = false;
      for (let i = first; i < tree.level[level + 1] && tree.begin[i] < end; ++i)
        if (tree.total[i] > 0) {
          seen = true;
          break;
        }
      if (!seen) break;
      deepest = level;
    }
    return deepest;
  }

  reveal(node: number): void {
    const top = this.topOf(this.scene().tree.depth[node]);
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + kRow > this.box.scrollTop + this.height) this.box.scrollTop = top + kRow - this.height;
  }

  // The middle of a node in the window: where its menu opens.
  placeOf(node: number): {x: number; y: number} {
    const place = this.canvas.getBoundingClientRect();
    const {tree, zoom} = this.scene();
    const isAbove = tree.depth[node] <= tree.depth[zoom];
    const scale = this.width / (tree.total[zoom] || 1);
    const left = isAbove ? 0 : Math.max(0, (tree.begin[node] - tree.begin[zoom]) * scale);
    return {x: place.left + Math.min(left + 20, this.width), y: place.top + this.topOf(tree.depth[node]) - this.box.scrollTop + kRow};
  }

  // The node at a point of the window, or -1.
  nodeAt(clientX: number, clientY: number): number {
    const place = this.canvas.getBoundingClientRect();
    const {tree, zoom} = this.scene();
    const level = this.levelAt(clientY - place.top + this.box.scrollTop);
    if (level < 0 || level >= tree.level.length - 1 || tree.total[zoom] <= 0) return -1;
    if (level <= tree.depth[zoom]) {
      let at = zoom;
      while (tree.depth[at] > level) at = tree.parent[at];
      return at;
    }
    const time = tree.begin[zoom] + ((clientX - place.left) / this.width) * tree.total[zoom];
    const node = firstEndingAfter(tree, level, time);
    return node < tree.level[level + 1] && tree.begin[node] <= time ? node : -1;
  }

  draw(): void {
    if (this.width === 0 || this.height === 0) return;
    const started = performance.now();
    const {context: c, colours} = this;
    const ratio = window.devicePixelRatio || 1;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = colours.paper;
    c.fillRect(0, 0, this.width, this.height);
    c.font = `${kFont}px ${colours.mono}`;
    c.textBaseline = 'middle';
    this.charWidth = c.measureText('mmmmmmmmmm').width / 10 || 7;
    const {tree, zoom} = this.scene();
    this.rects = 0;
    const top = this.box.scrollTop;
    const ends = [this.levelAt(top), this.levelAt(top + this.height)];
    const lastLevel = Math.min(tree.level.length - 2, Math.max(...ends));
    for (let level = Math.max(0, Math.min(...ends)); level <= lastLevel; ++level) {
      const y = this.topOf(level) - top;
      if (level <= tree.depth[zoom]) this.drawAncestor(level, y);
      else if (tree.total[zoom] > 0) this.drawLevel(level, y);
    }
    // For the benchmark: what it cost.
    this.canvas.dataset.drawMs = (performance.now() - started).toFixed(2);
    this.canvas.dataset.rects = String(this.rects);
  }

  private drawAncestor(level: number, y: number): void {
    const {tree, zoom} = this.scene();
    let at = zoom;
    while (tree.depth[at] > level) at = tree.parent[at];
    this.drawNode(at, 0, this.width, y, at !== zoom);
  }

  private drawLevel(level: number, y: number): void {
    const {tree, zoom} = this.scene();
    const from = tree.begin[zoom];
    const until = from + tree.total[zoom];
    const scale = this.width / tree.total[zoom];
    const end = tree.level[level + 1];
    let i = firstEndingAfter(tree, level, from);
    while (i < end && tree.begin[i] < until) {
      const x = (tree.begin[i] - from) * scale;
      const width = tree.total[i] * scale;
      if (width >= 1.5) {
        this.drawNode(i++, x, width, y, false);
        continue;
      }
      i = this.drawCrumbs(level, i, x, y, from, scale);
    }
  }

  // Nodes too narrow to be seen, as one piece, up to the next that can be.
  private drawCrumbs(level: number, first: number, x: number, y: number, from: number, scale: number): number {
    const {tree, found} = this.scene();
    const end = tree.level[level + 1];
    let i = first;
    let right = x;
    let widest = first;
    let matched = false;
    while (i < end) {
      const begin = (tree.begin[i] - from) * scale;
      if (begin > right + 0.75 || begin > this.width) break;
      const width = tree.total[i] * scale;
      if (width >= 1.5) break;
      if (tree.total[i] > tree.total[widest]) widest = i;
      if (found && found.matches[tree.name[i]]) matched = true;
      right = Math.max(right, begin + width);
      ++i;
      if (right - x > 24) break; // a piece has one colour: not too long
    }
    if (tree.total[widest] <= 0) return i;
    const c = this.context;
    const alpha = found && !matched ? 0.2 : 0.6;
    if (matched) {
      c.fillStyle = this.colours.match;
      c.globalAlpha = alpha;
      c.fillRect(x, y, Math.max(0.75, right - x), kRow - 1);
      c.globalAlpha = 1;
    } else this.fill(widest, x, y, Math.max(0.75, right - x), alpha);
    ++this.rects;
    return i;
  }

  private drawNode(node: number, x: number, width: number, y: number, faded: boolean): void {
    const {tree, found, selected, hovered, rootTitle} = this.scene();
    const c = this.context;
    const name = tree.name[node];
    const left = Math.max(0, x);
    const right = Math.min(this.width, x + width);
    const matched = found !== null && node !== 0 && found.matches[name] === 1;
    this.fill(node, left, y, Math.max(1, right - left - 0.5), faded || (found && !matched) ? 0.35 : 1);
    ++this.rects;
    if (matched) {
      c.fillStyle = this.colours.match;
      c.fillRect(left, y + kRow - 4, right - left - 0.5, 3);
    }
    if (node === selected || node === hovered) {
      c.strokeStyle = this.colours.accent;
      c.lineWidth = node === selected ? 2 : 1;
      c.strokeRect(left + 1, y + 1, Math.max(1, right - left - 2.5), kRow - 3);
    }
    const room = Math.floor((right - left - 6) / this.charWidth);
    if (room < 3) return;
    const text = node === 0 ? rootTitle.slice(0, room) : this.textOf(node, room);
    if (!text) return;
    // Faded boxes let the paper through: there the page's own ink is the one that can be read.
    const through = node === 0 || faded || (found !== null && !matched);
    c.fillStyle = through ? this.colours.accent : this.colours.ink;
    c.fillText(text, left + 3, y + kRow / 2);
  }

  // In the colour of its kind, or of how its share has changed.
  private fill(node: number, x: number, y: number, width: number, alpha: number): void {
    const {tree, names, comparison} = this.scene();
    const c = this.context;
    const change = comparison ? comparison.change[node] : 0;
    c.globalAlpha = alpha;
    c.fillStyle = node === 0 ? this.colours.panel : comparison ? this.colours.same : this.colours.kinds[names.kind(tree.name[node])];
    c.fillRect(x, y, width, kRow - 1);
    if (comparison && node !== 0 && Math.abs(change) >= kLeastChange) {
      c.globalAlpha = alpha * Math.max(0.25, Math.sqrt(Math.abs(change) / comparison.largest));
      c.fillStyle = change > 0 ? this.colours.more : this.colours.less;
      c.fillRect(x, y, width, kRow - 1);
    }
    c.globalAlpha = 1;
  }

  // The label; with a comparison the change stands behind it while there is room for both.
  private textOf(node: number, room: number): string {
    const {tree, names, comparison} = this.scene();
    const change = comparison && Math.abs(comparison.change[node]) >= kLeastChange ? ` ${changeText(comparison.change[node])}` : '';
    const label = names.fitting(tree.name[node], room - change.length);
    return label && !label.endsWith('…') ? label + change : names.fitting(tree.name[node], room);
  }
}

// The first node of a level that ends after `time`: ends are sorted, as begins are.
export function firstEndingAfter(tree: Tree, level: number, time: number): number {
  let low = tree.level[level];
  let high = tree.level[level + 1];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (tree.begin[middle] + tree.total[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}
