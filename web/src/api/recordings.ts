// Recordings and the sessions that they come from, as /recordings and /sessions tell them.
import type {Api} from './client';

export interface Recording {
  id: string;
  kind: string;
  state: string;
  file: string;
  process: {pid: number; name: string};
  profile: string;
  started: string;
  durationMs: number;
  bytes: number;
  events: number;
  samples: number;
  lost: number;
  ending: string;
  notes: string[];
}

export interface Session extends Recording {
  running: boolean;
  elapsedMs: number;
}

export function formatAddress(api: Api, recording: Recording, format: string): string {
  return api.address(`recordings/${encodeURIComponent(recording.id)}?format=${encodeURIComponent(format)}`);
}

export function flameAddress(api: Api, recording: Recording, pid: number): string {
  return api.address(`flame?pid=${pid}&recording=${encodeURIComponent(recording.id)}`);
}

export function speedscopeAddress(api: Api, recording: Recording): string {
  const source = encodeURIComponent(formatAddress(api, recording, 'speedscope'));
  return `${api.address('assets/speedscope/index.html')}#profileURL=${source}&title=${encodeURIComponent(recording.file)}`;
}
