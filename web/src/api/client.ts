// Talks with the server that served the page. Failures are Problems: what failed, and what to do.
import {serveCommand, serverName} from '../server';
import type {Problem as ProblemBody} from './types';

const kAgainMs = 5000; // after a refused stream

export class Problem extends Error {
  constructor(readonly status: number, message: string, readonly hint = '') {
    super(message);
  }
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
  async send(method: string, path: string, body?: unknown, accept = 'application/json', signal?: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = {Accept: accept};
    const isFile = body instanceof Blob;
    if (body !== undefined) headers['Content-Type'] = isFile ? 'application/octet-stream' : 'application/json';
    let response: Response;
    try {
      response = await fetch(this.address(path), {
        method,
        headers,
        credentials: 'same-origin',
        signal,
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

  async post<T>(path: string, body?: unknown): Promise<T> {
    return (await (await this.send('POST', path, body)).json()) as T;
  }

  // Server-sent events. The browser reconnects by itself and tells the last id it saw; a stream that the server refuses it gives up:
  // then `onState` gets the reason, and it is tried again later.
  live<T>(path: string, kinds: string[], onEvent: (kind: string, data: T) => void, onState: (connected: boolean, problem?: Problem) => void): () => void {
    let source: EventSource;
    let again = 0;
    let isOver = false;
    const begin = () => {
      source = new EventSource(this.address(path), {withCredentials: true});
      source.onopen = () => onState(true);
      source.onerror = () => {
        onState(false);
        if (source.readyState === EventSource.CLOSED) void onRefused();
      };
      for (const kind of kinds)
        source.addEventListener(kind, (event) => onEvent(kind, JSON.parse((event as MessageEvent<string>).data) as T));
    };
    const onRefused = async () => {
      const problem = await this.refusal(path);
      if (isOver) return;
      onState(false, problem);
      again = window.setTimeout(begin, kAgainMs);
    };
    begin();
    return () => {
      isOver = true;
      clearTimeout(again);
      source.close();
    };
  }

  // Why a stream is refused; undefined if it is not any more.
  private async refusal(path: string): Promise<Problem | undefined> {
    const leave = new AbortController();
    try {
      await this.send('GET', path, undefined, 'text/event-stream', leave.signal);
      return undefined;
    } catch (error) {
      return error instanceof Problem ? error : undefined;
    } finally {
      leave.abort();
    }
  }
}
