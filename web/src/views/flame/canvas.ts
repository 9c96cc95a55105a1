// Draws a tree on a canvas: only what is in sight, only what is a pixel wide.
//
// The canvas is as large as its box; the box scrolls, a spacer in it is as high as the tree.
import {kKinds} from '../../ui/kinds';
import type {Found} from './search';
import type {Tree} from './tree';
import type {Names} from './words';

export const kRow = 19; // pixels
const kFont = 12;

interface Colours {
  kinds: string[];
  ink: string;
  paper: string;
  panel: string;
  dim: string;
  line: string;
  accent: string;
  match: string;
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
}

export class FlameCanvas {
  readonly box: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  private spacer: HTMLElement;
  private context: CanvasRenderingContext2D;
  private colours: Colours;
  private charWidth = 7;
  private width = 0;
  private height = 0;
  private pending = 0;
  private rects = 0; // of the drawing under way

  constructor(private scene: () => Scene) {
    this.box = document.createElement('div');
    this.box.className = 'flame-box';
    this.canvas = document.createElement('canvas');
    this.canvas.className = 'flame-canvas';
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'application');
    this.canvas.setAttribute('aria-label', 'Flame graph. Arrow keys move, Enter zooms, Escape goes back; the call tree beside it says the same as text.');
    this.spacer = document.createElement('div');
    this.box.append(this.canvas, this.spacer);
    const context = this.canvas.getContext('2d', {alpha: false});
    if (!context) throw new Error('this browser has no canvas');
    this.context = context;
    this.colours = readColours(document.documentElement);
    this.box.addEventListener('scroll', () => this.redraw());
    document.addEventListener('themechange', () => this.recolour());
    new ResizeObserver(() => this.resize()).observe(this.box);
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
    const levels = Math.max(tree.depth[zoom] + 1, this.deepest(tree, zoom) + 1);
    this.spacer.style.height = `${Math.max(0, levels * kRow - this.height)}px`;
    this.redraw();
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
    const top = this.scene().tree.depth[node] * kRow;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + kRow > this.box.scrollTop + this.height) this.box.scrollTop = top + kRow - this.height;
  }

  // The node at a point of the window, or -1.
  nodeAt(clientX: number, clientY: number): number {
    const place = this.canvas.getBoundingClientRect();
    const {tree, zoom} = this.scene();
    const level = Math.floor((clientY - place.top + this.box.scrollTop) / kRow);
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
    const firstLevel = Math.max(0, Math.floor(top / kRow));
    const lastLevel = Math.min(tree.level.length - 2, Math.floor((top + this.height) / kRow));
    for (let level = firstLevel; level <= lastLevel; ++level) {
      const y = level * kRow - top;
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
    const {tree, names, found} = this.scene();
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
    c.fillStyle = matched ? this.colours.match : this.colours.kinds[names.kind(tree.name[widest])];
    c.globalAlpha = found && !matched ? 0.2 : 0.6;
    c.fillRect(x, y, Math.max(0.75, right - x), kRow - 1);
    c.globalAlpha = 1;
    ++this.rects;
    return i;
  }

  private drawNode(node: number, x: number, width: number, y: number, faded: boolean): void {
    const {tree, names, found, selected, hovered} = this.scene();
    const c = this.context;
    const name = tree.name[node];
    const left = Math.max(0, x);
    const right = Math.min(this.width, x + width);
    const matched = found !== null && node !== 0 && found.matches[name] === 1;
    c.fillStyle = node === 0 ? this.colours.panel : this.colours.kinds[names.kind(name)];
    if (faded || (found && !matched)) c.globalAlpha = 0.35;
    c.fillRect(left, y, Math.max(1, right - left - 0.5), kRow - 1);
    c.globalAlpha = 1;
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
    const text = node === 0 ? 'all' : names.fitting(name, room);
    if (!text) return;
    // Faded boxes let the paper through: there the page's own ink is the one that can be read.
    const through = node === 0 || faded || (found !== null && !matched);
    c.fillStyle = through ? this.colours.accent : this.colours.ink;
    c.fillText(text, left + 3, y + kRow / 2);
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
