// Which functions a search names, and how much of the tree is theirs.
import type {Tree} from './tree';
import type {Names} from './words';

export interface Found {
  text: string;
  matches: Uint8Array; // by name
  functions: number;
  time: number; // in them and what they called; nested ones once
  error: string;
}

// /…/ is a regular expression, anything else a part of the name or of the module; case does not matter.
export function matcher(text: string): {test: (name: string) => boolean; error: string} {
  const pattern = /^\/(.+)\/$/.exec(text);
  if (pattern) {
    try {
      const regex = new RegExp(pattern[1], 'i');
      return {test: (name) => regex.test(name), error: ''};
    } catch {
      return {test: () => false, error: 'this regular expression is not whole'};
    }
  }
  const low = text.toLowerCase();
  return {test: (name) => name.toLowerCase().includes(low), error: ''};
}

export function search(tree: Tree, names: Names, text: string): Found | null {
  if (!text) return null;
  const {test, error} = matcher(text);
  const matches = new Uint8Array(names.count);
  let functions = 0;
  for (let i = 0; i < names.count; ++i)
    if (test(names.whole(i)) || (names.module(i) && test(names.module(i)))) {
      matches[i] = 1;
    }
  const seen = new Uint8Array(names.count);
  const within = new Uint8Array(tree.name.length);
  let time = 0;
  for (let i = 1; i < tree.name.length; ++i) {
    const matched = matches[tree.name[i]] && tree.total[i] > 0;
    if (matched && !seen[tree.name[i]]) {
      seen[tree.name[i]] = 1;
      ++functions;
    }
    within[i] = matched || within[tree.parent[i]] ? 1 : 0;
    if (matched && !within[tree.parent[i]]) time += tree.total[i];
  }
  return {text, matches, functions, time, error};
}
