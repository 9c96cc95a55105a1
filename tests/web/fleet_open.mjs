// What a fleet server's pages show of other tools: spans sent by OTLP in the trace of a request, and the flame graph as a pprof file.
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {gunzipSync} from 'node:zlib';
import * as kit from './kit.mjs';

const kHostile = '<img src=x onerror=document.title=1>';
const kTrace = `${'0'.repeat(31)}2`; // as tests/fleet/fleet_source makes them

let made;
const inventedFleet = () =>
  (made ??= (async () => {
    const server = await kit.serveFleet();
    await kit.sendInvented(server, {host: 'web-1', service: 'shop'});
    return {server, get: async (path) => (await fetch(server.address + path)).json()};
  })());

// A gateway that calls the shop, and a database that the shop calls; milliseconds after the begin of the shop's request.
function spansAround(request) {
  const start = Date.parse(request.startTime);
  const span = (spanId, parentSpanId, name, kind, from, to, more = {}) => ({
    ...{traceId: kTrace, spanId: spanId.repeat(8), name, kind, ...more},
    ...(parentSpanId ? {parentSpanId: parentSpanId.repeat(8)} : {}),
    startTimeUnixNano: `${Math.round((start + from) * 1000)}000`,
    endTimeUnixNano: `${Math.round((start + to) * 1000)}000`,
  });
  const {durationMs} = request;
  const attributes = [{key: 'db.statement', value: {stringValue: `SELECT ${kHostile}`}}];
  return [
    span('a1', '', `GET /checkout ${'long'.repeat(60)}`, 2, -20, durationMs + 20),
    span('b2', 'a1', 'GET shop', 3, -10, durationMs + 10),
    span('c3', 'ff', kHostile, 3, durationMs / 4, durationMs / 2, {attributes, status: {code: 2, message: 'timeout of the pool'}}),
  ];
}

const tests = [
  {
    name: 'spans of other tracers and a recorded request are one tree, with attributes of the chosen span in the address, also on a phone',
    async run() {
      const {server, get} = await inventedFleet();
      const {requests: [request]} = await get(`/fleet/requests/${kTrace}`);
      const resource = {attributes: [{key: 'service.name', value: {stringValue: 'gateway'}}]};
      const body = JSON.stringify({resourceSpans: [{resource, scopeSpans: [{spans: spansAround(request)}]}]});
      const sent = await fetch(`${server.address}/v1/traces`, {method: 'POST', headers: {'Content-Type': 'application/json'}, body});
      assert.equal(await sent.text(), '{}');
      const {lines} = await get(`/fleet/requests/${kTrace}`);
      const visitor = await kit.Visitor.come(server);
      const page = await visitor.open(`/fleet/requests/${kTrace}`);
      await page.locator(`[data-trace-lines="${lines.length}"]`).waitFor();
      assert.deepEqual(await page.locator('[data-line]').evaluateAll((all) => all.map((one) => [one.dataset.kind, one.dataset.depth])), [['span', '0'], ['span', '1'], ['request', '2'], ['span', '3']]);
      await page.locator(`[data-waterfall="${kTrace}"]`).waitFor(); // of the request itself
      await page.locator('[data-line="3"]').click();
      await page.locator(`[data-chosen-line="${kHostile}"] td`, {hasText: `SELECT ${kHostile}`}).waitFor();
      await page.getByText(/timeout of the pool/).waitFor();
      await page.reload();
      await page.locator(`[data-chosen-line="${kHostile}"]`).waitFor();
      await page.locator('[data-line="3"]').focus();
      await page.keyboard.press('ArrowUp');
      await page.getByText(/Recorded by clrscope: its waterfall is below/).waitFor();
      assert.notEqual(await page.title(), '1', 'a name is text');
      assert.deepEqual(await kit.seriousFaults(page), []);
      await visitor.leave();
      const phone = await kit.Visitor.come(server, {viewport: {width: 390, height: 800}, colorScheme: 'dark'});
      const small = await phone.open(`/fleet/requests/${kTrace}?line=3`);
      await small.locator('[data-chosen-line]').waitFor();
      assert.ok((await kit.sideways(small)) <= 0, 'it fits a phone');
      assert.deepEqual(await kit.seriousFaults(small), []);
      await phone.leave();
    },
  },
  {
    name: 'the flame graph of a fleet is downloaded as the pprof file of the shown selection',
    async run() {
      const {server} = await inventedFleet();
      const visitor = await kit.Visitor.come(server);
      const page = await visitor.open('/fleet/flame?service=shop&route=/stock&last=24h&by=cpu');
      await page.locator('[data-flame]').waitFor();
      const [download] = await Promise.all([page.waitForEvent('download'), page.locator('[data-pprof]').click()]);
      assert.equal(download.suggestedFilename(), 'shop-profile.pb.gz');
      const bytes = gunzipSync(readFileSync(await download.path())).toString('latin1');
      for (const text of ['route: /stock', 'Shop.Tax.Rate(System.Int32)', 'samples', 'nanoseconds']) assert.ok(bytes.includes(text), text);
      await visitor.leave();
    },
  },
];

export const fleetOpenTests = kit.hasFleet() && !process.env.CLRSCOPE_WEB_DEV ? tests : [];
