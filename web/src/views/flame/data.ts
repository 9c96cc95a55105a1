// What the server or the file gives: a trace as flat arrays. docs/formats/flame.md describes them.

export interface FlameJson {
  version: number;
  title: string;
  startTime: string;
  onFrom: string; // who told of time on processors: "kernel", "runtime" or ""
  offFrom: string; // and of waiting
  durationMs: number;
  samples: number;
  waits: number;
  unfinished: number; // of the waits: had not ended when the recording ended
  withoutStack: number;
  idle: number;
  folded: number;
  lost: number;
  brokenStacks?: number;
  damage?: string;
  modules: string[];
  names: string[];
  nameModule: number[];
  nameKind: number[];
  processes: {pid: number; name: string}[];
  threadProcess: number[];
  threadId: number[];
  threadName: string[];
  nodeName: number[];
  nodeParent: number[];
  rowNode: number[];
  rowThread: number[];
  rowSamples: number[];
  rowOnUs: number[];
  rowOffUs: number[];
}

export interface Trace {
  json: FlameJson;
  nodeName: Uint32Array;
  nodeParent: Uint32Array; // level by level, a parent before its children; [0] is the root
}

export function readTrace(json: FlameJson): Trace {
  if (json.version !== 1 || !Array.isArray(json.nodeName)) throw new Error('this is no flame graph that this page can read');
  const nodeName = Uint32Array.from(json.nodeName);
  const nodeParent = Uint32Array.from(json.nodeParent);
  for (let i = 1; i < nodeName.length; ++i)
    if (nodeParent[i] >= i || nodeName[i] >= json.names.length) throw new Error(`node ${i} of the flame graph is damaged`);
  return {json, nodeName, nodeParent};
}
