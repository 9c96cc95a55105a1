// Two recordings: what has a larger or smaller share of the time than before.
import {functionTimes} from './functions';
import type {Tree} from './tree';
import type {Names} from './words';

// A number for each path of names, the same in every tree and every recording.
export function pathKeys(tree: Tree, names: Names): Float64Array {
  const low = new Int32Array(names.count);
  const high = new Int32Array(names.count);
  const done = new Uint8Array(names.count);
  const hash = (name: number) => {
    const text = names.whole(name);
    let [a, b] = [0x811c9dc5 | 0, 0x2f0b4c47];
    for (let i = 0; i < text.length; ++i) {
      a = Math.imul(a ^ text.charCodeAt(i), 0x01000193);
      b = Math.imul(b ^ text.charCodeAt(i), 0x5bd1e995);
    }
    [low[name], high[name], done[name]] = [a, b, 1];
  };
  const lows = new Int32Array(tree.name.length);
  const highs = new Int32Array(tree.name.length);
  const keys = new Float64Array(tree.name.length);
  for (let node = 1; node < tree.name.length; ++node) {
    const name = tree.name[node];
    if (!done[name]) hash(name);
    const above = tree.parent[node];
    lows[node] = Math.imul(lows[above] ^ low[name], 0x85ebca6b) + 1;
    highs[node] = Math.imul(highs[above] ^ high[name], 0xc2b2ae35 | 0) + 1;
    keys[node] = (highs[node] >>> 11) * 2 ** 32 + (lows[node] >>> 0);
  }
  return keys;
}

export const keyText = (key: number): string => key.toString(36);

// The node of that key, or the root.
export function nodeOfKey(keys: Float64Array, text: string): number {
  const key = /^[0-9a-z]{1,11}$/.test(text) ? parseInt(text, 36) : 0;
  return key ? Math.max(0, keys.indexOf(key)) : 0;
}

export interface Comparison {
  change: Float64Array; // of each node: share of all time now, less that of before
  largest: number; // change in either direction
  before: Map<string, {self: number; total: number}>; // shares of functions, by name
}

export function compareTrees(now: Tree, keys: Float64Array, before: Tree, beforeKeys: Float64Array, beforeNames: Names, inverted: boolean): Comparison {
  const whole = before.total[0];
  const shares = new Map<number, number>();
  if (whole > 0) for (let node = 1; node < before.name.length; ++node) shares.set(beforeKeys[node], before.total[node] / whole);
  const change = new Float64Array(now.name.length);
  let largest = 0;
  for (let node = 1; node < now.name.length; ++node) {
    if (now.total[0] <= 0) break;
    change[node] = now.total[node] / now.total[0] - (shares.get(keys[node]) ?? 0);
    largest = Math.max(largest, Math.abs(change[node]));
  }
  const functions = new Map<string, {self: number; total: number}>();
  for (const one of functionTimes(before, 0, beforeNames.count, inverted)) functions.set(beforeNames.whole(one.name), {self: one.self / whole, total: one.total / whole});
  return {change, largest, before: functions};
}
