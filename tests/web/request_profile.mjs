// The profile of requests on the page Requests: routes, one route, one request. What it shows is compared with the answer.
import assert from 'node:assert/strict';
import {execFile} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {promisify} from 'node:util';
import * as kit from './kit.mjs';

const kLong = `Shop.${'Very'.repeat(740)}<System.Collections.Generic.List<int>>.LongAsync`; // 3,000 letters
const kHostile = '<img src=x onerror=document.title=1>';

const step = (startMs, durationMs, thread = 7, queuedMs = 0) => ({startMs, durationMs, thread, ...(queuedMs ? {queuedMs} : {})});
const span = (id, parent, method, startMs, durationMs, steps, more = {}) => ({
  id,
  parent,
  method,
  async: steps !== undefined,
  outcome: 'returned',
  startMs,
  durationMs,
  runningMs: steps ? steps.reduce((sum, one) => sum + one.durationMs, 0) : durationMs,
  waitingMs: steps ? durationMs - steps.reduce((sum, one) => sum + one.durationMs, 0) : 0,
  queuedMs: 0,
  thread: 7,
  ...(steps ? {steps} : {}),
  ...more,
});
const request = (traceId, method, route, path, durationMs, more = {}) => ({
  traceId,
  method,
  route,
  path,
  status: 200,
  startTime: '2026-11-15T02:45:12.000Z',
  durationMs,
  runningMs: 4,
  waitingMs: durationMs - 4,
  queuedMs: 0,
  spansLost: 0,
  spans: [],
  parts: [step(0, 2), step(durationMs - 2, 2, 9)],
  ...more,
});
const route = (method, pattern, count, p50Ms, more = {}) => ({
  method,
  route: pattern,
  count,
  perSecond: count / 10,
  p50Ms,
  p95Ms: p50Ms * 3,
  p99Ms: p50Ms * 5,
  maxMs: p50Ms * 6,
  errors: 0,
  sampled: Math.ceil(count / 4),
  sampledPercent: 25,
  runningMs: 1,
  waitingMs: Math.max(0, p50Ms - 1),
  queuedMs: 0.2,
  ...more,
});

const kSlow = 'a1'.repeat(16);
const orderSpans = [
  span(1, 0, 'Shop.Orders.GetAsync', 1, 118, [step(1, 2), step(40, 3, 9, 4), step(110, 9, 8, 8)], {queuedMs: 12}),
  span(2, 1, 'Shop.Orders.LoadAsync', 2, 38, [step(2, 1), step(38, 2, 9)]),
  span(3, 2, 'Shop.Database.QueryAsync', 2.5, 35, [step(2.5, 0.5), step(37, 0.5, 9)], {outcome: 'faulted'}),
  span(4, 1, 'Shop.Stock.CheckAsync', 42, 60, [step(42, 1, 9), step(100, 2, 8)]),
  span(5, 4, 'Shop.Prices.Sum', 42.5, 0.5),
  span(6, 1, kLong, 111, 4, [step(111, 4, 8)]),
  span(7, 1, kHostile, 116, 1),
  span(8, 1, 'Shop.Mail.SendAsync', 118, 60, [step(118, 0.2, 8)], {outcome: 'open'}),
];

export const profile = {
  pid: 1,
  durationMs: 10_000,
  seen: 1219,
  sampled: 305,
  forced: 2,
  inFlight: 1,
  probability: 0.25,
  lost: {records: 12, requests: 0, spans: 3, late: 0, orphans: 0, damaged: 0},
  cost: {cpuPercent: 0.83, hooksMs: 41, hearingMs: 12, processMs: 4950},
  methods: {chosen: 42, instrumented: 31, refused: 1, notMeasured: [{method: 'Shop.Orders.Print', reason: 'variableArguments'}]},
  routes: [
    route('GET', '/orders/{id}', 812, 20, {errors: 7}),
    route('GET', '/reports/{name}', 40, 150),
    route('GET', '/health', 366, 0.2),
    route('GET', `/${'x'.repeat(3000)}`, 1, 3, {sampled: 0, sampledPercent: 0}),
  ],
  requests: [
    request(kSlow, 'GET', '/orders/{id}', '/orders/17', 120, {queuedMs: 12, spans: orderSpans, spansLost: 3}),
    request('b2'.repeat(16), 'GET', '/orders/{id}', '/orders/4', 80, {status: 500, error: 'Shop.PaymentRefusedException', spans: [span(1, 0, 'Shop.Orders.GetAsync', 0, 80, [step(0, 2), step(78, 2)])]}),
    request('b3'.repeat(16), 'GET', '/orders/{id}', '/orders/5', 30, {aborted: true, spans: [span(1, 0, 'Shop.Orders.GetAsync', 0, 30, [step(0, 2), step(28, 2)])]}),
    request('c4'.repeat(16), 'GET', '/health', '/health', 0.3, {parts: [step(0, 0.3)], runningMs: 0.3, waitingMs: 0}),
  ],
  notKept: 301,
  notes: [],
};

const json = (asked, body, status = 200) => asked.fulfill({status, contentType: status < 400 ? 'application/json' : 'application/problem+json', body: JSON.stringify(body)});

// The controller's answers, without a profiler: what the page does with them is the same. Not 200: what the start is refused with.
export async function answerWith(page, pid, answer, status = 200) {
  const run = {
    id: 'fixture',
    state: 'finished',
    running: false,
    started: '2026-11-15T02:45:02.000Z',
    process: {pid, uid: '', name: 'shop', runtime: ''},
    include: ['Shop.*'],
    plannedMs: 10_000,
    durationMs: answer.durationMs,
    seen: answer.seen,
    sampled: answer.sampled,
    updated: '2026-11-15T02:45:12.000Z',
    ending: 'duration',
    by: '',
  };
  let isStarted = false;
  await page.route(/\/requests\?.*include=/, (asked) => {
    isStarted = status === 200;
    return status === 200 ? json(asked, {...run, state: 'starting', running: true}, 201) : json(asked, answer, status);
  });
  await page.route(/\/requests\/runs$/, (asked) => json(asked, isStarted ? [run] : []));
  await page.route(/\/requests\/runs\/fixture/, (asked) => json(asked, {...run, profile: answer}));
}

export async function profiled(visitor, pid, address = '', answer = profile) {
  const page = await visitor.open(`/views/requests?pid=${pid}&tab=profile&include=${encodeURIComponent('Shop.*')}${address}`);
  await answerWith(page, pid, answer);
  await page.getByRole('button', {name: 'Profile requests', exact: true}).click();
  await page.locator(`[data-profile="${answer.seen}"]`).waitFor();
  return page;
}

export const runOf = (page) => new URL(page.url()).searchParams.get('run');

const texts = (page, selector) => page.locator(selector).allInnerTexts();

export const requestProfileTests = [
  {
    name: 'requests of a real shop are profiled: routes, and the waterfall of a request with its async methods',
    async run() {
      const app = await kit.patient('shop');
      const load = await kit.patient('shop-load', '--address', app.truth.address, '--rate', '20', '--duration', '120', '--only', '/orders/');
      const server = await kit.serve('--allow', String(app.pid));
      const visitor = await kit.Visitor.come(server);
      const page = await visitor.open(`/views/requests?pid=${app.pid}&tab=profile&include=Samples.Shop&sample=1&seconds=4`);
      await page.getByRole('button', {name: 'Profile requests', exact: true}).click();
      await page.locator('[data-state="finished"]').waitFor({timeout: 50_000});
      const {profile: data} = await (await visitor.ask('GET', `/requests/runs/${runOf(page)}`)).json();
      await page.locator(`[data-profile="${data.seen}"]`).waitFor();
      assert.deepEqual(
        data.routes.map((one) => `${one.method} ${one.route}`).sort(),
        ['GET /orders/{id}', 'POST /orders/{id}'],
      );
      await page.locator('[data-route="GET /orders/{id}"]').click();
      const slowest = data.requests.find((one) => one.method === 'GET');
      await page.locator(`[data-trace="${slowest.traceId}"]`).first().click();
      await page.locator(`[data-waterfall="${slowest.traceId}"][data-rows="${slowest.spans.length + 1}"]`).waitFor();
      const query = slowest.spans.find((one) => one.method === 'Samples.Shop.Database.QueryAsync');
      const caller = slowest.spans.find((one) => one.id === query.parent);
      assert.equal(caller.method, 'Samples.Shop.Orders.LoadAsync');
      await page.locator(`[data-span="${caller.id}"]`).click();
      await page.locator('.wf-details table', {hasText: 'Samples.Shop.Database.QueryAsync'}).waitFor(); // what it waited for
      await visitor.leave();
      await kit.end(load.child);
      await kit.end(server.child);
      await kit.end(app.child);
    },
  },
  {
    name: 'a recording with profiled requests has the same views at a lasting address',
    async run() {
      const app = await kit.patient('shop');
      const load = await kit.patient('shop-load', '--address', app.truth.address, '--rate', '20', '--duration', '120', '--only', 'GET /orders/');
      const file = join(kit.work, 'requests.nettrace');
      const how = ['requests', '-p', String(app.pid), '--include', 'Samples.Shop', '--sample', '1', '--duration', '3s', '-o', file, '--json'];
      const {stdout} = await promisify(execFile)(kit.clrscope, how, {maxBuffer: 1 << 28, env: {...process.env, TMPDIR: kit.work}});
      const told = JSON.parse(stdout);
      await Promise.all([kit.end(load.child), kit.end(app.child)]);
      const server = await kit.serve();
      const visitor = await kit.Visitor.come(server);
      const {id} = await (await visitor.ask('POST', '/recordings?name=requests.nettrace', {data: readFileSync(file), headers: {'Content-Type': 'application/octet-stream'}})).json();
      const page = await visitor.open(`/recordings?recording=${id}`);
      await page.getByRole('link', {name: 'Requests with waterfalls', exact: true}).click();
      await page.locator(`[data-profile="${told.seen}"]`).waitFor();
      const [slowest] = told.requests;
      await page.locator('[data-route="GET /orders/{id}"]').click();
      await page.locator(`[data-trace="${slowest.traceId}"]`).first().click();
      const waterfall = page.locator(`[data-waterfall="${slowest.traceId}"][data-rows="${slowest.spans.length + 1}"]`);
      await waterfall.waitFor();
      await page.locator('[data-span="1"]').click();
      await page.reload();
      await waterfall.waitFor();
      await page.locator('[data-details="1"]').waitFor();
      // The CPU samples of the route, in the same viewer.
      await page.getByRole('link', {name: 'GET /orders/{id}', exact: true}).click();
      await page.getByRole('link', {name: 'Flame graph of CPU samples', exact: true}).click();
      await page.getByRole('heading', {name: 'Flame graph of the CPU time of GET /orders/{id}'}).waitFor();
      const [route] = told.routes; // a request that had not ended belongs to none
      await page.locator('.flame-summary', {hasText: `CPU samples of ${route.sampled} sampled requests (of ${route.count})`}).waitFor();
      await visitor.leave();
      await kit.end(server.child);
    },
  },
  {
    name: 'a request profile shows routes, then the requests and the flame graph of one, then the waterfall of a request',
    async run(world) {
      const visitor = await kit.Visitor.come(world.server);
      const page = await profiled(visitor, world.idle.pid);
      await page.getByText('1,219 requests in 10 s; 305 sampled (25 %), 2 of them by the debug key.', {exact: true}).waitFor();
      await page.getByText(/Lost: 12 records: no room in a ring; 3 spans/).waitFor();
      assert.match(await page.locator('[data-price]').innerText(), /cost 0\.83 % of the CPU time .* 31 of 42 chosen methods called/);
      const unmeasured = page.locator('[data-fold=unmeasured]');
      await unmeasured.getByText('1 chosen method could not be instrumented').click();
      await unmeasured.getByRole('cell', {name: 'variableArguments'}).waitFor();
      assert.match(await unmeasured.locator('tbody tr').innerText(), /Shop\.Orders\.Print\s+variableArguments/);
      // Sorted by a column, which a click reverses; the order is in the address.
      await page.locator('[data-table="routes"]').getByRole('button', {name: 'p50', exact: true}).click();
      assert.match((await texts(page, '[data-table="routes"] tbody tr'))[0], /\/reports\/\{name\}/);
      assert.match(page.url(), /sort-routes=-p50/);
      assert.deepEqual(await kit.seriousFaults(page), []);
      // One route.
      await page.locator('[data-route="GET /orders/{id}"]').click();
      await page.getByText(/^812 requests, 81\.2 per second: half within 20 ms, 95 % within 60 ms, 99 % within 100 ms\. 7 failed\./).waitFor();
      assert.deepEqual(
        await page.locator('[data-table="requests"] tbody [data-trace]').evaluateAll((all) => all.map((one) => one.dataset.trace)),
        profile.requests.slice(0, 3).map((one) => one.traceId),
      );
      await page.getByRole('button', {name: 'Flame graph', exact: true}).click();
      await page.getByText(/^3 requests merged, 10 calls of chosen methods\..* 3 calls are missing\.$/).waitFor();
      await page.locator('.flame-table', {hasText: 'Orders.GetAsync'}).waitFor();
      assert.deepEqual(await kit.seriousFaults(page), []);
      await page.goBack();
      // One request.
      await page.locator(`[data-trace="${kSlow}"]`).click();
      await page.locator(`[data-waterfall="${kSlow}"]`).waitFor();
      assert.equal(await page.locator('.wf-row').count(), 9);
      assert.match(await page.locator('[data-request]').innerText(), /200 in 120 ms: threads worked 4 ms for it, none for 116 ms \(queued 12 ms\)/);
      const parts = (id) => page.locator(`[data-span="${id}"] .wf-bar rect`).evaluateAll((all) => all.map((one) => one.getAttribute('class')));
      assert.deepEqual(await parts(1), ['wf-running', 'wf-waiting', 'wf-queued', 'wf-running', 'wf-waiting', 'wf-queued', 'wf-running']);
      assert.deepEqual(await parts(5), ['wf-running']);
      assert.ok((await page.locator('[data-span="1"] .wf-label').allTextContents()).some((text) => text.includes('Stock.CheckAsync')), 'the wait says for what');
      await page.locator('[data-span="3"]', {hasText: 'faulted'}).waitFor();
      assert.notEqual(await page.title(), '1', 'a name is text');
      assert.deepEqual(await kit.seriousFaults(page), []);
      assert.ok((await kit.sideways(page)) <= 0, 'a name of 3,000 letters does not make the page wider');
      await visitor.leave();
    },
  },
  {
    name: 'the waterfall of a request profile is worked by keys, and its address keeps span, fold and zoom',
    async run(world) {
      const visitor = await kit.Visitor.come(world.server);
      const page = await profiled(visitor, world.idle.pid);
      await page.getByLabel('Trace id', {exact: true}).fill('a1a1');
      await page.getByRole('button', {name: 'Find request', exact: true}).click();
      await page.locator('[data-details="0"]').waitFor();
      await page.locator('[data-span="0"]').focus();
      await page.keyboard.press('ArrowDown');
      await page.locator('[data-details="1"]').waitFor();
      await page.keyboard.press('ArrowDown');
      await page.locator('[data-details="2"]').waitFor();
      await page.keyboard.press('ArrowLeft'); // folds LoadAsync
      await page.locator('[data-span="3"]').waitFor({state: 'detached'});
      await page.keyboard.press('Enter');
      await page.waitForFunction(() => new URL(location.href).searchParams.get('range') === '2-40');
      await page.keyboard.press('ArrowRight');
      await page.locator('[data-span="3"]').waitFor();
      await page.locator('[data-span="6"]').waitFor({state: 'detached'}); // outside of the range
      assert.match(await page.locator('.wf-details').innerText(), /Shop\.Orders\.LoadAsync[\s\S]*38 ms from 2 ms on: running 3 ms, waiting 35 ms\. Async; it returned\./);
      assert.match(await page.locator('.wf-details table').innerText(), /waiting\s+3 ms\s+35 ms\s+Shop\.Database\.QueryAsync/);
      await page.keyboard.press('Escape');
      await page.locator('[data-span="6"]').waitFor();
      await page.goBack();
      await page.waitForFunction(() => new URL(location.href).searchParams.get('range') === '2-40');
      assert.equal(new URL(page.url()).searchParams.get('span'), '2');
      // A trace id that was not sampled.
      await page.getByLabel('Trace id', {exact: true}).fill('ffff');
      await page.getByRole('button', {name: 'Find request', exact: true}).click();
      await page.getByText('305 of 1,219 requests were sampled, and 301 of those were not kept.', {exact: true}).waitFor();
      await visitor.leave();
    },
  },
  {
    name: 'a request profile fits a phone, and stays when the process exits',
    async run() {
      const app = await kit.patient('idle');
      const server = await kit.serve('--allow', String(app.pid));
      const visitor = await kit.Visitor.come(server, {viewport: {width: 390, height: 800}});
      const page = await profiled(visitor, app.pid);
      assert.ok((await kit.sideways(page)) <= 0, 'routes fit a phone');
      assert.deepEqual(await kit.outOfReach(page), []);
      await page.locator('[data-route="GET /orders/{id}"]').click();
      await page.locator(`[data-trace="${kSlow}"]`).click();
      await page.locator(`[data-waterfall="${kSlow}"]`).waitFor();
      assert.ok((await kit.sideways(page)) <= 0, 'the waterfall fits a phone');
      assert.deepEqual(await kit.outOfReach(page), []);
      await kit.end(app.child);
      await kit.cameBack(page, page.getByText('The last data are kept').first());
      await page.locator(`[data-waterfall="${kSlow}"]`).waitFor();
      await visitor.leave();
      await kit.end(server.child);
    },
  },
  {
    name: 'a request profile that is refused says what to do, and one without requests says so',
    async run(world) {
      const visitor = await kit.Visitor.come(world.server);
      const page = await visitor.open(`/views/requests?pid=${world.idle.pid}&tab=profile&include=Shop.*`, {expected: [409]});
      await answerWith(page, world.idle.pid, {title: 'Conflict', status: 409, detail: 'another profiler is loaded', hint: 'Start the process without it.'}, 409);
      await page.getByRole('button', {name: 'Profile requests', exact: true}).click();
      await page.locator('main [role="alert"]', {hasText: 'another profiler is loaded'}).waitFor();
      await page.getByText('Start the process without it.', {exact: true}).waitFor();
      await page.unrouteAll({behavior: 'wait'});
      const none = {...profile, seen: 0, sampled: 0, forced: 0, notKept: 0, lost: {records: 0, requests: 0, spans: 0, late: 0, orphans: 0, damaged: 0}, routes: [], requests: [], notes: ['no ASP.NET Core in the process']};
      await answerWith(page, world.idle.pid, none);
      await page.getByRole('button', {name: 'Profile requests', exact: true}).click();
      await page.getByText('No request ended while requests were profiled.', {exact: true}).waitFor();
      await page.getByText('no ASP.NET Core in the process', {exact: true}).waitFor();
      await visitor.leave();
    },
  },
];
