// Recordings: the addresses of what can be made of them, and uploads that tell how far they are.
import {type Api, Problem} from './client';
import type {Problem as ProblemBody, Recording} from './types';

export function formatAddress(api: Api, recording: Recording, format: string): string {
  return api.address(`recordings/${encodeURIComponent(recording.id)}?format=${encodeURIComponent(format)}`);
}

export function speedscopeAddress(api: Api, recording: Recording): string {
  const source = encodeURIComponent(formatAddress(api, recording, 'speedscope'));
  return `${api.address('assets/speedscope/index.html')}#profileURL=${source}&title=${encodeURIComponent(recording.file)}`;
}

export interface Sending {
  done: Promise<Recording>;
  abort: () => void;
}

function refusal(request: XMLHttpRequest): Problem {
  try {
    const body = JSON.parse(request.responseText) as Partial<ProblemBody>;
    const text = body.detail ?? body.title;
    if (text) return new Problem(request.status, text, body.hint ?? '');
  } catch {
    // not JSON: the status is what is known
  }
  return new Problem(request.status, `the controller answered ${request.status}`);
}

// Sends a file; fetch cannot tell how much of it has gone.
export function sendRecording(api: Api, file: File, onSent: (bytes: number) => void): Sending {
  const request = new XMLHttpRequest();
  const done = new Promise<Recording>((resolve, reject) => {
    request.upload.onprogress = (event) => onSent(event.loaded);
    request.onload = () => (request.status === 201 ? resolve(JSON.parse(request.responseText) as Recording) : reject(refusal(request)));
    request.onerror = () => reject(new Problem(-1, 'The connection ended before the whole file was sent.', 'The controller ends it when a file does not fit into its disk limit, and when it stops.'));
    request.onabort = () => reject(new Problem(-1, 'The upload was cancelled.'));
  });
  request.open('POST', api.address(`recordings?name=${encodeURIComponent(file.name)}`));
  request.setRequestHeader('Accept', 'application/json');
  request.setRequestHeader('Content-Type', 'application/octet-stream');
  request.send(file);
  return {done, abort: () => request.abort()};
}
