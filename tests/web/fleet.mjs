// The pages of the fleet server, with requests of a real shop. What they show is compared with the JSON of the same range.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import * as kit from './kit.mjs';

const kRequests = 150;
const kOrders = 'GET /orders/{id}';
const kHostile = '<img src=x onerror=document.title=1>';

// Numbers as the pages write them: the app's own functions.
async function formats() {
  const file = join(kit.work, 'format.mjs');
  execFileSync(join(kit.root, 'web/node_modules/.bin/esbuild'), [join(kit.root, 'web/src/ui/format.ts'), '--format=esm', `--outfile=${file}`, '--log-level=error']);
  return import(pathToFileURL(file));
}

// A server with the requests of a shop, all of them recorded; its range is over, so that answers no longer change.
let made;
function shopFleet() {
  made ??= (async () => {
    const server = await kit.serveFleet();
    const app = await kit.patient('shop');
    const sender = await kit.sendRequests(server, app.pid, '--sample', '1', '--rate', '999', '--service', 'shop', '--service-version', '7');
    const load = await kit.patient('shop-load', '--address', app.truth.address, '--rate', '40', '--requests', String(kRequests), '--duration', '120');
    const get = async (path) => (await fetch(server.address + path)).json();
    while (((await get('/fleet/services')).services[0]?.requests ?? 0) < kRequests) await new Promise((done) => setTimeout(done, 200));
    await Promise.all([load, app].map((one) => kit.end(one.child)));
    await kit.end(sender);
    const [{first, last}] = (await get('/fleet/services')).services;
    const range = `from=${Date.parse(first) / 1000}&to=${Date.parse(last) / 1000 + 60}`;
    return {server, get, range, format: await formats()};
  })();
  return made;
}

export {shopFleet};

const cells = (page, table) => page.locator(`[data-table="${table}"] tbody tr`).evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.innerText.trim())));

async function waitForRows(page, table, count) {
  await page.waitForFunction(([id, wanted]) => document.querySelectorAll(`[data-table="${id}"] tbody tr`).length === wanted, [table, count]);
}

const fleetTestsAll = [
  {
    name: 'the services and routes of a fleet show the numbers of the JSON; the address keeps service, route and range',
    async run() {
      const {server, get, range, format} = await shopFleet();
      const {formatMs, formatNumber, formatPercent} = format;
      const visitor = await kit.Visitor.come(server);
      const page = await visitor.open(`/fleet/services?${range}`);
      await waitForRows(page, 'services', 1);
      await page.locator('[data-table="services"] tbody td', {hasText: /\d (ms|s)$/}).first().waitFor();
      const [{services: [service]}, {series: [all]}] = [await get(`/fleet/services?${range}`), await get(`/fleet/series?by=service&${range}`)];
      assert.equal(service.requests, kRequests);
      const [row] = await cells(page, 'services');
      assert.deepEqual(row.slice(0, 4), ['shop', '7', '1', formatNumber(service.requests)]);
      assert.match(row[4], /^[0-9.,]+$/);
      assert.ok(row[5].startsWith(formatNumber(service.errors)));
      assert.deepEqual(row.slice(6, 10), [formatMs(all.p50Ms), formatMs(all.p95Ms), formatMs(all.p99Ms), formatPercent((100 * service.sampled) / service.requests)]);
      assert.deepEqual(await kit.seriousFaults(page), []);
      // Its routes.
      await page.locator('[data-service="shop"]').click();
      const {series: routes} = await get(`/fleet/series?by=route&service=shop&${range}`);
      await waitForRows(page, 'routes', routes.length);
      const expected = routes.map((one) => [one.group, formatNumber(one.requests), formatMs(one.p50Ms), formatMs(one.p95Ms), formatMs(one.p99Ms), formatMs(one.maxMs), formatNumber(one.errors)]);
      assert.deepEqual((await cells(page, 'routes')).map((one) => [one[0], ...one.slice(2, 8)]), expected);
      // The chart, as a table: every point of every percentile.
      await page.locator('[data-chart="3"] canvas').first().waitFor();
      await page.getByText('As a table', {exact: true}).click();
      const {series: [points], stepMs} = await get(`/fleet/series?by=service&service=shop&step=10s&${range}`);
      assert.equal(stepMs, 10_000);
      await page.locator('.series-table tbody tr').nth(points.points.length - 1).waitFor();
      const drawn = await page.locator('.series-table tbody tr').evaluateAll((rows) => rows.map((one) => [...one.cells].slice(1).map((cell) => cell.innerText)));
      assert.deepEqual(drawn, [...points.points].reverse().map((one) => [one.p50Ms, one.p95Ms, one.p99Ms].map(formatMs)));
      // By status: a line each.
      await page.locator('[data-by]').selectOption('status');
      const {series: statuses} = await get(`/fleet/series?by=status&service=shop&step=10s&${range}`);
      await page.locator(`[data-chart="${statuses.length}"]`).waitFor();
      assert.deepEqual(await page.locator('.latency .legend .name').allInnerTexts(), statuses.map((one) => one.group));
      assert.deepEqual(await kit.seriousFaults(page), []);
      // One route; reload keeps it, back leaves it.
      await page.locator(`[data-route="${kOrders}"]`).click();
      await page.locator(`[data-one-route="${kOrders}"]`).waitFor();
      await page.reload();
      const orders = routes.find((one) => one.group === kOrders);
      await page.locator('[data-totals]', {hasText: `${formatNumber(orders.requests)} requests`}).waitFor();
      assert.match(await page.locator('[data-totals]').innerText(), new RegExp(`half within ${formatMs(orders.p50Ms)}, 95 % within ${formatMs(orders.p95Ms)}, 99 % within ${formatMs(orders.p99Ms)}, the longest ${formatMs(orders.maxMs)}\\. ${orders.errors} failed`));
      await page.goBack();
      await waitForRows(page, 'routes', routes.length);
      assert.equal(await page.locator('[data-by]').inputValue(), 'status');
      await page.goBack(); // the chart as it was
      await page.goBack();
      await waitForRows(page, 'services', 1);
      // Another range, in which nothing happened.
      await page.goto(`${server.url}/fleet/services?from=1000&to=2000`);
      await page.getByText(/^No requests in this range/).waitFor();
      await page.locator('[data-range]').selectOption('24h');
      await waitForRows(page, 'services', 1);
      assert.equal(new URL(page.url()).search, '?last=24h');
      await visitor.leave();
    },
  },
  {
    name: 'a fleet shows the flame graph of a route by band, its slowest requests and the waterfall of one, at lasting addresses',
    async run() {
      const {server, get, range, format} = await shopFleet();
      const visitor = await kit.Visitor.come(server);
      const of = `service=shop&route=${encodeURIComponent(kOrders)}&${range}`;
      const page = await visitor.open(`/fleet/flame?${of}`);
      const whole = await get(`/fleet/flame?${of}`);
      await page.locator(`[data-flame="${whole.requests}"]`).waitFor();
      await page.locator('.flame-table', {hasText: 'Orders.GetAsync'}).waitFor();
      assert.equal(await page.getByRole('button', {name: 'Waiting', exact: true}).count(), 0, 'spans of a fleet tell of running only');
      assert.equal(await page.getByLabel('Threads', {exact: true}).count(), 0, 'one tree: there is no choice of threads');
      assert.deepEqual(await kit.seriousFaults(page), []);
      await page.locator('[data-band="90-99"]').click();
      const band = await get(`/fleet/flame?${of}&fromPercentile=90&toPercentile=99`);
      assert.ok(band.requests > 0 && band.requests < whole.requests);
      const summary = `${format.formatNumber(band.requests)} sampled requests of ${format.formatMs(band.shortestMs)} to ${format.formatMs(band.longestMs)} merged, ${format.formatNumber(band.spans)} calls`;
      await page.getByText(new RegExp(`^${summary}`)).waitFor();
      await page.reload();
      await page.getByText(new RegExp(`^${summary}`)).waitFor();
      await page.goBack();
      await page.locator(`[data-flame="${whole.requests}"]`).waitFor();
      // The slowest requests of the route, then one of them.
      await page.locator('.trail a', {hasText: kOrders}).click();
      const {requests} = await get(`/fleet/requests?${of}&limit=50`);
      await waitForRows(page, 'requests', requests.length);
      assert.deepEqual(await page.locator('[data-table="requests"] [data-trace]').evaluateAll((all) => all.map((one) => one.dataset.trace)), requests.map((one) => one.traceId));
      await page.locator(`[data-trace="${requests[0].traceId}"]`).click();
      const {requests: [one]} = await get(`/fleet/requests/${requests[0].traceId}`);
      const waterfall = page.locator(`[data-waterfall="${one.traceId}"][data-rows="${one.spans.length + 1}"]`);
      await waterfall.waitFor();
      assert.match(await page.locator('[data-request]').innerText(), new RegExp(`${one.status} in ${format.formatMs(one.durationMs)}: threads worked ${format.formatMs(one.runningMs)}`));
      const query = one.spans.findIndex((span) => span.method === 'Samples.Shop.Database.QueryAsync');
      await page.locator(`[data-span="${one.spans[query].parent}"]`).click();
      await page.locator('.wf-details table', {hasText: 'Samples.Shop.Database.QueryAsync'}).waitFor(); // what it waited for
      await page.reload();
      await waterfall.waitFor();
      await page.locator(`[data-details="${one.spans[query].parent}"]`).waitFor();
      assert.deepEqual(await kit.seriousFaults(page), []);
      await page.goBack();
      await waitForRows(page, 'requests', requests.length);
      await visitor.leave();
    },
  },
  {
    name: 'a fleet shows the CPU samples of a service as a flame graph, and those of a request with the spans that they lie in',
    async run() {
      const {server, get, range, format} = await shopFleet();
      const visitor = await kit.Visitor.come(server);
      const page = await visitor.open(`/fleet/flame?service=shop&${range}`);
      await page.locator('[data-by="cpu"]').click();
      const flame = await get(`/fleet/flame?service=shop&${range}&by=cpu`);
      assert.ok(flame.samples > 0);
      const summary = new RegExp(`merged, ${format.formatNumber(flame.samples)} CPU samples`);
      await page.getByText(summary).waitFor();
      assert.ok(flame.names.some((name) => name.startsWith('Samples.Shop.')), 'methods of the shop have names');
      await page.reload();
      await page.getByText(summary).waitFor();
      assert.deepEqual(await kit.seriousFaults(page), []);
      const {requests} = await get(`/fleet/requests?service=shop&${range}&limit=1000`);
      const traces = await Promise.all(requests.filter((one) => one.sampleCount > 0).map((one) => get(`/fleet/requests/${one.traceId}`)));
      const one = traces.flatMap((trace) => trace.requests).find(({stacks = []}) => stacks.some(({span}) => span > 0));
      assert.ok(one, 'no sample lies in a span');
      const request = await visitor.open(`/fleet/requests/${one.traceId}`);
      await request.locator(`[data-samples="${one.sampleCount}"]`).waitFor();
      const {span} = one.stacks.find((stack) => stack.span > 0);
      await request.locator(`[data-span="${span}"]`).click();
      const inside = new Set([span]);
      for (const [at, {parent}] of one.spans.entries()) if (inside.has(parent)) inside.add(at + 1);
      const samples = one.stacks.filter((stack) => inside.has(stack.span)).reduce((sum, stack) => sum + stack.samples, 0);
      await request.locator(`[data-details="${span}"] [data-samples="${samples}"] .hot-stack li`).first().waitFor();
      assert.deepEqual(await kit.seriousFaults(request), []);
      await visitor.leave();
    },
  },
  {
    name: 'a request of a fleet is found by its trace id or traceparent; an unknown or wrong one is said to be so',
    async run() {
      const {server, get, range} = await shopFleet();
      const {requests: [one]} = await get(`/fleet/requests?service=shop&${range}&limit=1`);
      const visitor = await kit.Visitor.come(server);
      const page = await visitor.open('/fleet/requests', {expected: [400, 404]});
      const find = async (typed) => {
        await page.getByLabel('Trace id', {exact: true}).fill(typed);
        await page.getByRole('button', {name: 'Find request', exact: true}).click();
      };
      await find(` 00-${one.traceId.toUpperCase()}-00f067aa0ba902b7-01 `);
      await page.locator(`[data-waterfall="${one.traceId}"]`).waitFor();
      await find('ab'.repeat(16));
      await page.locator('main [role="alert"]', {hasText: `no sampled request has the trace id ${'ab'.repeat(16)}`}).waitFor();
      await find(kHostile);
      await page.locator('main [role="alert"]').waitFor();
      assert.notEqual(await page.title(), '1');
      await page.goBack();
      await page.goBack();
      await page.locator(`[data-waterfall="${one.traceId}"]`).waitFor();
      await visitor.leave();
    },
  },
  {
    name: 'hosts of a fleet show health, version, loss, sampling and cost as the JSON has them',
    async run() {
      const {server, get, range, format} = await shopFleet();
      const visitor = await kit.Visitor.come(server);
      const page = await visitor.open(`/fleet/hosts?${range}`);
      await waitForRows(page, 'hosts', 1);
      const {hosts: [host]} = await get(`/fleet/hosts?${range}`);
      const [row] = await cells(page, 'hosts');
      assert.equal(row[0], `${host.host}\nprocess ${host.pid}, .NET ${host.runtime}${host.relayVersion ? `, clrscope ${host.relayVersion}` : ''}`);
      assert.deepEqual(row.slice(1, 3), ['shop', '7']);
      assert.equal(host.storedRequests, kRequests);
      assert.deepEqual(row.slice(4, 8), [format.formatNumber(host.storedRequests), '0', '0', format.formatPercent(host.samplingPercent)]);
      assert.match(row[8], / %$/);
      const [scroll] = await page.locator('.scroll').evaluateAll((all) => all.map((one) => one.scrollWidth - one.clientWidth));
      assert.ok(scroll <= 0, `the table is ${scroll} pixels wider than the page`);
      assert.ok(host.storedSamples > 0);
      assert.ok(row.includes(format.formatNumber(host.storedSamples)));
      assert.deepEqual(await kit.seriousFaults(page), []);
      await page.locator('[data-host]').click();
      await page.locator('[data-filter="host"]').waitFor();
      assert.equal(await page.locator('[data-filter="host"]').inputValue(), host.host);
      await visitor.leave();
    },
  },
  {
    name: 'the configuration of a service is changed on the page by an admin, staged, and rolled back with one click',
    async run() {
      const folder = (await kit.serveFleet()).folder;
      const tokens = join(folder, 'tokens');
      const [reader, admin] = [kit.makeToken(tokens, 'ana', 'read'), kit.makeToken(tokens, 'bob', 'read,admin')];
      const server = await kit.serveFleet('--token-file', tokens);
      const ask = async (word, path, init = {}) => fetch(server.address + path, {...init, headers: {Accept: 'application/json', Authorization: `Bearer ${word}`}});
      const visitor = await kit.Visitor.come(server); // by the one-time address: whoever runs the server
      const page = await visitor.open('/fleet/configurations?service=shop', {expected: [409]});
      await page.locator('[name="include"]').fill('Shop.*\n Stock ');
      await page.locator('[name="sample"]').fill('25');
      await page.locator('[name="percent"]').fill('10');
      await page.locator('[name="comment"]').fill(kHostile);
      await page.locator('[data-change]').click();
      await waitForRows(page, 'configurations', 1);
      const of = async () => (await (await ask(reader, '/fleet/configurations')).json()).services[0].versions;
      const [first] = await of();
      assert.deepEqual([first.version, first.percent, first.include, first.sample, first.comment], [1, 10, ['Shop.*', 'Stock'], 0.25, kHostile]);
      assert.notEqual(await page.title(), '1', 'a comment is text');
      assert.deepEqual(await kit.seriousFaults(page), []);
      // Somebody else changes it meanwhile: the page says so and shows it.
      assert.equal((await ask(admin, '/fleet/configurations', {method: 'POST', body: JSON.stringify({service: 'shop', basedOn: 1, include: ['Other']})})).status, 200);
      await page.locator('[data-change]').click();
      await page.getByText('was changed meanwhile').first().waitFor();
      await waitForRows(page, 'configurations', 2);
      await page.locator('[data-roll-back="1"]').click();
      await waitForRows(page, 'configurations', 3);
      const [back] = await of();
      assert.deepEqual([back.version, back.percent, back.include, back.comment], [3, 100, ['Shop.*', 'Stock'], 'back to version 1']);
      assert.equal((await ask(reader, '/fleet/configurations', {method: 'POST', body: JSON.stringify({service: 'shop', basedOn: 3, rollBackTo: 0})})).status, 403);
      await visitor.leave();
      await kit.end(server.child);
    },
  },
  {
    name: 'pages of a fleet fit a phone, also with hostile and very long names, and in the dark',
    async run() {
      const {server, get, range} = await shopFleet();
      const {requests: [one]} = await get(`/fleet/requests?service=shop&${range}&limit=1`);
      const hostile = await kit.serveFleet();
      const long = `${kHostile}${'Very'.repeat(40)}`;
      await kit.sendInvented(hostile, {host: long, service: long});
      for (const [whom, paths] of [
        [server, ['/fleet/services', '/fleet/routes?service=shop', `/fleet/routes?service=shop&route=${encodeURIComponent(kOrders)}`, '/fleet/flame?service=shop', '/fleet/requests?service=shop', `/fleet/requests/${one.traceId}`, '/fleet/hosts', '/fleet/configurations?service=shop']],
        [hostile, ['/fleet/services', `/fleet/routes?service=${encodeURIComponent(long)}`, `/fleet/routes?service=${encodeURIComponent(long)}&by=host`, '/fleet/hosts']],
      ]) {
        const visitor = await kit.Visitor.come(whom, {viewport: {width: 390, height: 800}, colorScheme: 'dark'});
        const page = await visitor.open('/fleet/services');
        for (const path of paths) {
          await page.goto(whom.url + path);
          await page.locator('main table, main form, main .flame-view, main .waterfall, main canvas').first().waitFor();
          assert.ok((await kit.sideways(page)) <= 0, `${path} fits a phone`);
          assert.deepEqual(await kit.outOfReach(page), [], path);
          assert.deepEqual(await kit.seriousFaults(page), [], path);
          assert.notEqual(await page.title(), '1', 'a name is text');
        }
        await visitor.leave();
      }
      await kit.end(hostile.child);
    },
  },
  {
    name: 'a fleet server without data says how to send some, and one that is gone leaves the data on the page',
    async run() {
      const server = await kit.serveFleet();
      const visitor = await kit.Visitor.come(server);
      const page = await visitor.open('/');
      await page.getByText('No requests in this range. Hosts send them with:', {exact: true}).waitFor();
      assert.match(page.url(), /\/fleet\/services$/);
      await page.goto(`${server.url}/fleet/nothing`).catch(() => {});
      await page.getByRole('heading', {name: 'Not found', exact: true}).waitFor();
      visitor.faults.length = 0; // the document itself is a 404
      await kit.sendInvented(server, {host: 'web-1', service: 'shop'});
      await page.goto(`${server.url}/fleet/services`);
      await waitForRows(page, 'services', 1);
      await kit.end(server.child);
      await page.keyboard.press('r');
      await page.getByText(/^The fleet server cannot be reached\. Showing data from/).waitFor();
      await page.locator('[data-connected="no"]').waitFor();
      await waitForRows(page, 'services', 1);
      visitor.faults.length = 0; // refused connections
      await visitor.leave();
    },
  },
  {
    name: 'a fleet server with tokens shows nothing to strangers, takes a read token, and ends the visit with it',
    needsShell: true,
    async run() {
      const tokens = join(kit.work, 'tokens');
      const [reading, sending] = [kit.makeToken(tokens, 'ana', 'read'), kit.makeToken(tokens, 'web-1', 'ingest')];
      const server = await kit.serveFleet('--token-file', tokens);
      const secret = join(kit.work, 'token');
      writeFileSync(secret, sending, {mode: 0o600});
      await kit.sendInvented(server, {host: 'web-1', service: 'secret-shop'}, '--token-file', secret);
      // Programs.
      for (const path of ['/', '/fleet/services', '/fleet/series?by=service', '/fleet/status', '/fleet/requests/1', '/nothing']) {
        const refused = await fetch(server.address + path, {redirect: 'manual'});
        assert.equal(refused.status, 401, path);
        assert.doesNotMatch(await refused.text(), /secret-shop|web-1/);
      }
      assert.equal((await fetch(`${server.address}/fleet/services`, {headers: {Authorization: `Bearer ${sending}`}})).status, 403);
      assert.equal((await fetch(`${server.address}/fleet/services`, {headers: {Authorization: `Bearer ${reading}`}})).status, 200);
      // A browser of a stranger.
      const context = await kit.newContext();
      const page = await context.newPage();
      await page.goto(`${server.address}/fleet/routes?service=secret-shop`);
      const signIn = async (token) => {
        await page.getByLabel('Token', {exact: true}).fill(token);
        await page.getByRole('button', {name: 'Sign in', exact: true}).click();
      };
      await page.getByText('clrscope fleet token --token-file FILE --name you --scope read', {exact: true}).waitFor();
      for (const wrong of ['clrf_nonsense', sending]) {
        await signIn(wrong);
        await page.getByText('This token is not valid here.', {exact: true}).waitFor();
        assert.doesNotMatch(await page.content(), /data-table/);
      }
      await signIn(reading);
      await page.locator('[data-table="routes"] tbody tr').first().waitFor();
      assert.match(page.url(), /\/fleet\/routes\?service=secret-shop$/); // where the visitor wanted to go
      await page.getByText('reading as ana', {exact: true}).waitFor();
      assert.deepEqual(await kit.seriousFaults(page), []);
      // The token is revoked: what is on the page stays, nothing new comes.
      writeFileSync(tokens, readFileSync(tokens, 'utf8').split('\n').filter((line) => !line.startsWith('ana')).join('\n'), {mode: 0o600});
      await page.getByText(/^You are signed out\./).first().waitFor({timeout: 30_000});
      await page.reload();
      await page.getByLabel('Token', {exact: true}).waitFor();
      await context.close();
      // The address that the server printed works once.
      const visitor = await kit.Visitor.come(server);
      const other = await visitor.open('/fleet/services');
      await other.locator('[data-service="secret-shop"]').waitFor();
      await other.getByRole('button', {name: 'Sign out', exact: true}).click();
      await other.getByLabel('Token', {exact: true}).waitFor();
      await visitor.leave();
      await kit.end(server.child);
    },
  },
];

export const fleetTests = kit.hasFleet() && !process.env.CLRSCOPE_WEB_DEV ? fleetTestsAll : [];
