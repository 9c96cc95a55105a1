// The page that compares two versions of a service, or two ranges: reached by a button, kept by the address, equal to the JSON.
import assert from 'node:assert/strict';
import * as kit from './kit.mjs';

const kStock = 'GET /stock';

const tests = [
  {
    name: 'two versions of a service are compared by a button: verdicts, numbers and the differential flame graph; the address keeps both sides',
    async run() {
      const server = await kit.serveFleet();
      await kit.sendInvented(server, {host: 'web-1', service: 'shop', version: '1.0', batches: 4, requests: 60, spans: 4});
      await kit.sendInvented(server, {host: 'web-2', service: 'shop', version: '1.1', batches: 4, requests: 60, spans: 12});
      const get = async (path) => (await fetch(server.address + path)).json();
      const visitor = await kit.Visitor.come(server);
      const page = await visitor.open('/fleet/routes?service=shop');
      await page.locator('[data-compare="versions"]', {hasText: 'Compare versions 1.0 and 1.1'}).click();
      await page.locator('[data-overall="worse"]').waitFor();
      assert.match(page.url(), /\/fleet\/compare\?service=shop&version=1\.1&baseVersion=1\.0$/);
      const {overall, routes} = await get('/fleet/compare?service=shop&version=1.1&baseVersion=1.0&last=1h');
      assert.equal(overall.before.requests, 240);
      assert.equal(overall.after.requests, 240);
      assert.equal(overall.verdict, 'worse');
      assert.match(overall.reason, /^p50 1\.8 ms → 3\.4 ms \(\+89 %\); p95/);
      assert.ok(routes.length >= 2);
      const shown = await page.locator('[data-table="changes"] tbody tr').evaluateAll((rows) => rows.map((row) => [row.querySelector('[data-route]').dataset.route, row.querySelector('[data-verdict]').dataset.verdict, row.cells[2].innerText.split('\n')[0]]));
      assert.deepEqual(shown, routes.map((one) => [one.route, one.verdict, `${one.before.requests} → ${one.after.requests}`]));
      const wider = await page.locator('.scroll').first().evaluate((one) => one.scrollWidth - one.clientWidth);
      assert.ok(wider <= 0, `the table is ${wider} pixels wider than the page`);
      // Two CPU samples of 10 ms in each request, on both sides.
      assert.deepEqual([overall.before.cpuEachMs, overall.after.cpuEachMs, overall.cpuPercent], [20, 20, 0]);
      assert.match(await page.locator('[data-table="changes"] tbody tr').first().locator('td').last().innerText(), /^20 ms\n/);
      // The flame graph: the view of two recordings, with the tree of the JSON.
      const flame = await get('/fleet/compare/flame?service=shop&version=1.1&baseVersion=1.0&last=1h');
      await page.locator(`[data-difference="${flame.name.length}"] .flame.compared`).waitFor();
      assert.ok(flame.afterTotalMs > flame.beforeTotalMs && flame.beforeTotalMs > 0);
      await page.getByText(/^240 sampled requests before with [0-9.]+ (µs|ms) running time each, 240 after with [0-9.]+ ms\./).waitFor();
      assert.deepEqual(await kit.seriousFaults(page), []);
      // CPU time; one route; the other way round; each survives a reload.
      await page.locator('[data-by="cpu"]').click();
      await page.getByText(/^240 sampled requests before with 20 ms CPU time each/).waitFor();
      await page.locator(`[data-route="${kStock}"]`).click();
      await page.waitForFunction(() => document.querySelectorAll('[data-table="changes"] tbody tr').length === 1);
      await page.locator('[data-swap]').click();
      await page.locator('[data-overall="better"]').waitFor();
      await page.reload();
      await page.locator('[data-overall="better"]').waitFor();
      await page.getByText(/CPU time each/).waitFor();
      const url = new URL(page.url());
      assert.deepEqual(['version', 'baseVersion', 'route', 'by'].map((name) => url.searchParams.get(name)), ['1.0', '1.1', kStock, 'cpu']);
      await page.goBack();
      await page.locator('[data-overall="worse"]').waitFor();
      // Another time, in which there was nothing.
      await page.locator('[data-against]').selectOption('shift 7d');
      await page.locator(`[data-route="${kStock}"]`).locator('xpath=ancestor::tr').locator('[data-verdict="new"]').waitFor();
      await page.getByText('No sampled request matches before.', {exact: true}).waitFor();
      assert.deepEqual(await kit.seriousFaults(page), []);
      // On a phone.
      await page.setViewportSize({width: 390, height: 800});
      assert.ok((await kit.sideways(page)) <= 0, 'it fits a phone');
      await visitor.leave();
      await kit.end(server.child);
    },
  },
];

export const fleetCompareTests = kit.hasFleet() && !process.env.CLRSCOPE_WEB_DEV ? tests : [];
