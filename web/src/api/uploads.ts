// Uploads of this tab: they continue, with their progress, while the reader is on other pages.
import {useEffect, useReducer} from 'preact/hooks';
import {problemOf} from './answer';
import type {Api, Problem} from './client';
import {sendRecording, type Sending} from './recordings';
import type {Recording} from './types';

export interface Upload {
  key: number;
  file: string;
  bytes: number;
  sent: number;
  kept?: Recording;
  problem?: Problem;
}

let uploads: Upload[] = [];
let next = 1;
const sendings = new Map<number, Sending>();
const listeners = new Set<() => void>();

function show(changed: Upload[]): void {
  uploads = changed;
  for (const listener of [...listeners]) listener();
}

const change = (key: number, changes: Partial<Upload>): void => show(uploads.map((one) => (one.key === key ? {...one, ...changes} : one)));

function send(api: Api, file: File): void {
  const key = next++;
  show([...uploads, {key, file: file.name, bytes: file.size, sent: 0}]);
  const sending = sendRecording(api, file, (sent) => change(key, {sent}));
  sendings.set(key, sending);
  void sending.done
    .then(
      (kept) => change(key, {kept}),
      (error: unknown) => change(key, {problem: problemOf(error)}),
    )
    .finally(() => sendings.delete(key));
}

export interface Uploading {
  uploads: Upload[];
  add: (files: File[]) => void;
  cancel: (key: number) => void;
  forget: (key: number) => void;
}

// `onKept`: one has arrived.
export function useUploads(api: Api, onKept: () => void): Uploading {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const listener = () => draw(0);
    listeners.add(listener);
    listener(); // some may have ended between the first render and now
    return () => void listeners.delete(listener);
  }, []);
  const kept = uploads.filter((one) => one.kept).length;
  useEffect(() => {
    if (kept) onKept();
  }, [kept]);
  return {
    uploads,
    add: (files) => files.forEach((file) => send(api, file)),
    cancel: (key) => sendings.get(key)?.abort(),
    forget: (key) => show(uploads.filter((one) => one.key !== key)),
  };
}
