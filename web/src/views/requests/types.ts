// The answer of request profiling, of /requests and /recordings/{id}/requests.

// a time when one thread worked for a request or a span
export interface RequestStep {
  startMs: number; // since the request began
  durationMs: number;
  thread: number; // OS thread id
  queuedMs?: number; // of steps: time it was ready before a thread took it
}

// one call of a method while a request was served
export interface RequestSpan {
  id: number; // from 1
  parent: number; // 0: the request itself
  method: string;
  async: boolean;
  outcome: 'returned' | 'faulted' | 'cancelled' | 'open';
  startMs: number; // since the request began
  durationMs: number;
  runningMs: number;
  waitingMs: number; // queuedMs is part of it
  queuedMs: number;
  thread: number;
  steps?: RequestStep[]; // of async methods
}

export interface ProfiledRequest {
  traceId: string;
  ownId?: boolean;
  method: string;
  route: string;
  path: string;
  status: number;
  error?: string;
  forced?: boolean;
  aborted?: boolean;
  startTime: string;
  durationMs: number;
  runningMs: number;
  waitingMs: number;
  queuedMs: number;
  bytesIn?: number | null;
  bytesOut?: number | null;
  spansLost: number;
  spans: RequestSpan[];
  parts: RequestStep[];
}

export interface ProfiledRoute {
  method: string;
  route: string;
  count: number;
  perSecond: number;
  p50Ms: number;
  p95Ms: number;
  p99Ms: number;
  maxMs: number;
  errors: number;
  sampled: number;
  sampledPercent: number;
  runningMs: number;
  waitingMs: number;
  queuedMs: number;
}

export interface RequestProfile {
  pid: number;
  durationMs: number;
  seen: number;
  sampled: number;
  forced: number;
  inFlight: number;
  probability: number;
  lost: {records: number; requests: number; spans: number; late: number; orphans: number; damaged: number};
  cost: {cpuPercent: number; hooksMs: number; processMs: number};
  methods: {chosen: number; instrumented: number; refused: number};
  routes: ProfiledRoute[];
  requests: ProfiledRequest[];
  notKept: number;
  notes: string[];
}
