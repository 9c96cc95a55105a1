// What is known of one frame: beside the pointer while it hovers, and in the line below the picture when chosen.
import {copyFrom} from '../../ui/copy';
import type {Tree} from './tree';
import {durationText, percentText, type Names} from './words';

export function factsOf(tree: Tree, names: Names, zoom: number, node: number): {name: string; facts: string; origin: string} {
  const shown = tree.total[zoom];
  const facts = [
    `total ${durationText(tree.total[node])}`,
    `self ${durationText(tree.self[node])}`,
    `${percentText(tree.total[node], shown)} of shown`,
  ];
  if (zoom !== 0) facts.push(`${percentText(tree.total[node], tree.total[0])} of all`);
  if (node === 0) return {name: 'all', facts: facts.join(' · '), origin: ''};
  const name = tree.name[node];
  return {name: names.whole(name), facts: facts.join(' · '), origin: [names.module(name), names.kindTitle(name)].filter(Boolean).join(' · ')};
}

export class Tip {
  readonly element = document.createElement('div');

  constructor() {
    this.element.className = 'flame-tip';
    this.element.setAttribute('role', 'tooltip');
    this.element.hidden = true;
  }

  show(facts: ReturnType<typeof factsOf>, x: number, y: number): void {
    const name = document.createElement('div');
    name.className = 'mono';
    name.textContent = facts.name;
    const origin = document.createElement('div');
    origin.className = 'dim';
    origin.textContent = facts.origin;
    const numbers = document.createElement('div');
    numbers.textContent = facts.facts;
    this.element.replaceChildren(name, origin, numbers);
    this.element.hidden = false;
    const {offsetWidth: width, offsetHeight: height} = this.element;
    const left = Math.min(x + 14, window.innerWidth - width - 6);
    const top = y + 20 + height > window.innerHeight ? y - height - 10 : y + 20;
    this.element.style.left = `${Math.max(4, left)}px`;
    this.element.style.top = `${Math.max(4, top)}px`;
  }

  hide(): void {
    this.element.hidden = true;
  }
}

export class DetailsLine {
  readonly element = document.createElement('div');
  private name = document.createElement('span');
  private facts = document.createElement('span');
  private copyButton = document.createElement('button');

  constructor() {
    this.element.className = 'flame-details';
    this.element.setAttribute('aria-live', 'polite');
    this.name.className = 'mono flame-name';
    this.facts.className = 'dim';
    this.copyButton.type = 'button';
    this.copyButton.textContent = 'Copy name';
    this.copyButton.title = 'Copy the whole name (c)';
    this.copyButton.addEventListener('click', () => this.copy());
    this.element.append(this.name, this.facts, this.copyButton);
    this.clear();
  }

  show(facts: ReturnType<typeof factsOf>): void {
    this.name.hidden = false;
    this.name.textContent = facts.name;
    this.facts.textContent = [facts.facts, facts.origin].filter(Boolean).join(' · ');
    this.copyButton.hidden = false;
  }

  clear(): void {
    this.name.hidden = true;
    this.name.textContent = '';
    this.facts.textContent = 'Click a frame to zoom in, Esc goes back, ? shows the keys.';
    this.copyButton.hidden = true;
  }

  copy(): void {
    if (!this.copyButton.hidden) void copyFrom(this.copyButton, this.name.textContent ?? '');
  }
}
