// What the server or the file gives: a trace as flat arrays. docs/formats/flame.md describes them.
import {kKinds} from '../../ui/kinds';
import type {Flame} from '../../api/types';

export interface Trace {
  json: Flame;
  nodeName: Uint32Array;
  nodeParent: Uint32Array; // level by level, a parent before its children; [0] is the root
  // Names: those of the trace, one that stands for waiting, and those of unnamed functions together.
  names: string[];
  modules: string[];
  kinds: Uint8Array;
  waiting: number; // the name that stands for waiting
  folded: Uint32Array; // name: the one that it has together with others; most are their own
  hasUnnamed: boolean;
}

export const kWaitingKind = kKinds.length;
const kUnnamed = /^(?:[^\s()<>]+!)?(?:fn_[0-9a-f]+|0x[0-9a-f]+|\?|\[unknown\]|\[runtime helper\])$/i;
const kRuntimeKinds = new Set([kKinds.indexOf('runtime'), kKinds.indexOf('gc'), kKinds.indexOf('jit')]);

function unnamedTitle(module: string, kind: number): string {
  if (kRuntimeKinds.has(kind)) return 'runtime helper';
  return module ? `unnamed in ${module}` : 'unnamed';
}

export function readTrace(json: Flame): Trace {
  if (json.version !== 1 || !Array.isArray(json.nodeName)) throw new Error('this is no flame graph that this page can read');
  const nodeName = Uint32Array.from(json.nodeName);
  const nodeParent = Uint32Array.from(json.nodeParent);
  for (let i = 1; i < nodeName.length; ++i)
    if (nodeParent[i] >= i || nodeName[i] >= json.names.length) throw new Error(`node ${i} of the flame graph is damaged`);
  const names = [...json.names, 'waiting'];
  const modules = [...json.nameModule.map((module) => json.modules[module] ?? ''), ''];
  const kinds = [...json.nameKind, kWaitingKind];
  const waiting = json.names.length;
  const folded = Uint32Array.from(names, (_, i) => i);
  const together = new Map<string, number>();
  for (let i = 1; i < waiting; ++i) {
    if (!kUnnamed.test(names[i])) continue;
    const id = `${kinds[i]} ${modules[i]}`;
    let name = together.get(id);
    if (name === undefined) {
      name = names.push(unnamedTitle(modules[i], kinds[i])) - 1;
      modules.push(modules[i]);
      kinds.push(kinds[i]);
      together.set(id, name);
    }
    folded[i] = name;
  }
  return {json, nodeName, nodeParent, names, modules, kinds: Uint8Array.from(kinds), waiting, folded, hasUnnamed: together.size > 0};
}
