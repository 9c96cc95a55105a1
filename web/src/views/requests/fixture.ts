// Profiles for tests: whole answers of which a test says only what it is about.
import type {ProfiledRequest, RequestProfile, RequestSpan} from '../../api/types';

export const spanOf = (changes: Partial<RequestSpan>): RequestSpan => ({
  id: 1,
  parent: 0,
  method: 'Shop.Orders.GetAsync',
  async: true,
  outcome: 'returned',
  startMs: 0,
  durationMs: 1,
  runningMs: 0,
  waitingMs: 0,
  queuedMs: 0,
  thread: 7,
  ...changes,
});

export const requestOf = (changes: Partial<ProfiledRequest>): ProfiledRequest => ({
  traceId: '0af7651916cd43dd8448eb211c80319c',
  method: 'GET',
  route: '/orders/{id}',
  path: '/orders/17',
  status: 200,
  startTime: '2026-11-15T02:45:12.000Z',
  durationMs: 10,
  runningMs: 0,
  waitingMs: 0,
  queuedMs: 0,
  spansLost: 0,
  spans: [],
  parts: [],
  ...changes,
});

export const profileOf = (changes: Partial<RequestProfile>): RequestProfile => ({
  pid: 1,
  durationMs: 10_000,
  seen: 0,
  sampled: 0,
  forced: 0,
  inFlight: 0,
  probability: 1,
  lost: {records: 0, requests: 0, spans: 0, late: 0, orphans: 0, damaged: 0},
  cost: {cpuPercent: 0, hooksMs: 0, hearingMs: 0, processMs: 0},
  methods: {chosen: 0, instrumented: 0, refused: 0},
  routes: [],
  requests: [],
  notKept: 0,
  notes: [],
  ...changes,
});
