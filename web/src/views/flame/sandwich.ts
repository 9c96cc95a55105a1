// Everything around one function: who called it, and what it called, wherever it was.
import {Grower, laidOut, type Tree} from './tree';

export interface Sandwich {
  callers: Tree; // the root is the function, its callers below it, theirs below them
  callees: Tree; // the root is the function
  total: number; // recursion once
  self: number;
}

// `tree` is not inverted.
export function sandwichOf(tree: Tree, name: number): Sandwich {
  const callers = new Grower();
  const callees = new Grower();
  const under = new Int32Array(tree.name.length).fill(-1); // node: where it is in `callees`
  let total = 0;
  let self = 0;
  for (let node = 1; node < tree.name.length; ++node) {
    if (tree.total[node] <= 0) continue;
    const above = under[tree.parent[node]];
    if (tree.name[node] === name) self += tree.self[node];
    if (above >= 0) under[node] = callees.child(above, tree.name[node]);
    else if (tree.name[node] === name) {
      under[node] = 0;
      total += tree.total[node];
      let at = 0;
      for (let caller = tree.parent[node]; caller !== 0; caller = tree.parent[caller]) at = callers.child(at, tree.name[caller]);
      callers.self[at] += tree.total[node];
    } else continue;
    callees.self[under[node]] += tree.self[node];
  }
  return {callers: laidOut(callers), callees: laidOut(callees), total, self};
}
