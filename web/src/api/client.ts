// Talks with the server that served the page. Failures are Problems: what failed, and what to do.
import {serveCommand, serverName} from '../server';
import type {Problem as ProblemBody} from './types';

export class Problem extends Error {
  constructor(readonly status: number, message: string, readonly hint = '') {
    super(message);
  }
}

export interface Message {
  text: string;
  hint: string;
}

export function messageOf(error: unknown): Message {
  if (error instanceof Problem) return {text: error.message, hint: error.hint};
  return {text: error instanceof Error ? error.message : String(error), hint: ''};
}

async function problemOf(response: Response): Promise<Problem> {
  const said = await response.text();
  try {
    const body = JSON.parse(said) as Partial<ProblemBody>;
    const text = body.detail ?? body.title;
    if (typeof text === 'string') return new Problem(response.status, text, typeof body.hint === 'string' ? body.hint : '');
  } catch {
    // not JSON: the text itself is what we know
  }
  return new Problem(response.status, said.trim() || `the ${serverName()} answered ${response.status}`);
}

export class Api {
  // `base` stands before every path: "/clrscope" behind a proxy, or nothing.
  constructor(readonly base: string) {}

  address(path: string): string {
    return `${this.base}/${path.replace(/^\//, '')}`;
  }

  // `body` is sent as JSON, unless it is a file.
  async send(method: string, path: string, body?: unknown, accept = 'application/json'): Promise<Response> {
    const headers: Record<string, string> = {Accept: accept};
    const isFile = body instanceof Blob;
    if (body !== undefined) headers['Content-Type'] = isFile ? 'application/octet-stream' : 'application/json';
    let response: Response;
    try {
      response = await fetch(this.address(path), {
        method,
        headers,
        credentials: 'same-origin',
        body: body === undefined || isFile ? body : JSON.stringify(body),
      });
    } catch {
      throw new Problem(0, `the ${serverName()} cannot be reached`, `is ${serveCommand()} still running? Reload the page when it is.`);
    }
    if (!response.ok) throw await problemOf(response);
    return response;
  }

  async get<T>(path: string): Promise<T> {
    return (await (await this.send('GET', path)).json()) as T;
  }

  // The same as the terminal prints it.
  async text(path: string): Promise<string> {
    return (await this.send('GET', path, undefined, 'text/plain')).text();
  }

  async post<T>(path: string, body?: unknown): Promise<T> {
    return (await (await this.send('POST', path, body)).json()) as T;
  }

  async upload<T>(path: string, file: Blob): Promise<T> {
    return (await (await this.send('POST', path, file)).json()) as T;
  }

  // Server-sent events. The browser reconnects by itself and tells the last id it saw.
  live<T>(path: string, kinds: string[], onEvent: (kind: string, data: T) => void, onState: (connected: boolean) => void): () => void {
    const source = new EventSource(this.address(path), {withCredentials: true});
    source.onopen = () => onState(true);
    source.onerror = () => onState(false);
    for (const kind of kinds)
      source.addEventListener(kind, (event) => onEvent(kind, JSON.parse((event as MessageEvent<string>).data) as T));
    return () => source.close();
  }
}
