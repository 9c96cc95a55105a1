// A profile of requests that the controller runs: live rows, reload, back and forward, stop, a second browser, the end of the process.
import assert from 'node:assert/strict';
import {once} from 'node:events';
import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import * as kit from './kit.mjs';
import {runOf} from './request_profile.mjs';

const kOrders = 'GET /orders/{id}';

// A shop with customers, and a controller that sees only it.
async function shop(...args) {
  const app = await kit.patient('shop');
  const load = await kit.patient('shop-load', '--address', app.truth.address, '--rate', '20', '--duration', '300', '--only', '/orders/');
  const server = await kit.serve('--allow', String(app.pid), ...args);
  return {app, load, server, end: () => Promise.all([load, server, app].map((one) => kit.end(one.child)))};
}

const addressOf = (app, more = '') => `/views/requests?pid=${app.pid}&tab=profile${more}`;
const card = (page, state) => page.locator(`[data-run]${state ? `[data-state="${state}"]` : ''}`);
const button = (page) => page.getByRole('button', {name: 'Profile requests', exact: true});

async function started(visitor, app, more = '&seconds=600') {
  const page = await visitor.open(addressOf(app, `&include=Samples.Shop&sample=1${more}`));
  await button(page).click();
  await page.waitForURL(/[?&]run=/);
  await card(page, 'running').waitFor({timeout: 50_000});
  return page;
}

const runsOf = async (visitor) => (await visitor.ask('GET', '/requests/runs')).json();
const reportOf = async (visitor, id) => (await visitor.ask('GET', `/requests/runs/${id}`)).json();
const countOf = async (page) => Number(await page.locator('[data-profile]').getAttribute('data-profile'));
const grown = (page, seen) => page.waitForFunction((most) => Number(document.querySelector('[data-profile]').dataset.profile) > most, seen);
const rowsOf = (page) => page.locator('[data-table="routes"] tbody tr');

export const requestRunTests = [
  {
    name: 'a live request profile has rows that grow in place, survives reload and navigation, and is stopped from another browser',
    async run() {
      const {app, server, end} = await shop();
      const visitor = await kit.Visitor.come(server);
      const page = await started(visitor, app);
      const id = runOf(page);
      await page.locator(`[data-route="${kOrders}"]`).waitFor({timeout: 30_000});
      const first = await countOf(page);
      await grown(page, first);
      await page.getByText('Another profile, when this one has ended', {exact: true}).click();
      assert.ok(await button(page).isDisabled(), 'one profile at a time');
      assert.deepEqual(await kit.seriousFaults(page), []);
      // Reload, another page, back.
      await page.reload();
      await card(page, 'running').waitFor();
      assert.equal(runOf(page), id);
      await page.locator('.rail').getByRole('link', {name: 'Stacks', exact: true}).click();
      await page.waitForURL(/\/stacks/);
      await page.goBack();
      await card(page, 'running').waitFor();
      // Without its id: the one that runs.
      await page.locator('.rail').getByRole('link', {name: 'Requests', exact: true}).click();
      await page.getByRole('link', {name: 'Profile', exact: true}).click();
      await page.waitForURL(new RegExp(`run=${id}`));
      // A second browser, on a phone, sees the same and stops it.
      const other = await kit.Visitor.come(server, {viewport: {width: 390, height: 800}});
      const phone = await other.open(addressOf(app, `&run=${id}`));
      await card(phone, 'running').waitFor();
      await phone.locator(`[data-route="${kOrders}"]`).waitFor();
      assert.ok((await kit.sideways(phone)) <= 0, 'it moves sideways');
      await phone.getByText('Another profile, when this one has ended', {exact: true}).click();
      assert.equal(await phone.getByLabel('Methods to measure', {exact: true}).inputValue(), 'Samples.Shop', 'the form says what is measured');
      await card(phone).getByRole('button', {name: 'Stop and keep', exact: true}).click();
      await card(phone, 'finished').waitFor({timeout: 30_000});
      await card(page, 'finished').waitFor();
      await page.getByText(/Profiled .*: it was stopped$/).waitFor();
      // The numbers are those of the answer.
      const {profile, ending, seen} = await reportOf(visitor, id);
      assert.equal(ending, 'stopped');
      assert.equal(seen, profile.seen);
      assert.equal(await countOf(page), seen);
      const shown = await rowsOf(page).evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
      for (const one of profile.routes) {
        const row = shown.find(([route]) => route === `${one.method} ${one.route}`);
        assert.equal(row[2], one.count.toLocaleString('en-US'));
        assert.equal(row[7], String(one.errors));
      }
      assert.equal(shown.length, profile.routes.length);
      await other.leave();
      await visitor.leave();
      await end();
    },
  },
  {
    name: 'a request profile that was cut because the server was killed is listed by the next one, with its data so far',
    async run() {
      const {app, server, end} = await shop();
      const visitor = await kit.Visitor.come(server);
      const {id} = await (await visitor.ask('POST', `/requests?pid=${app.pid}&include=Samples.Shop&sample=1&durationSeconds=600`)).json();
      const saved = (ending) => join(server.folder, 'requests', `${id}${ending}`);
      const read = (ending) => JSON.parse(readFileSync(saved(ending), 'utf8'));
      // A request has a route once it has ended.
      const isSaved = () => existsSync(saved('.json')) && existsSync(saved('.profile.json')) && read('.profile.json').routes.length > 0 && read('.profile.json').seen === read('.json').seen;
      while (!isSaved()) await new Promise((done) => setTimeout(done, 100));
      await visitor.leave();
      const gone = once(server.child, 'exit');
      server.child.kill('SIGKILL');
      await gone;
      const next = await kit.serveFrom(server.folder, '--allow', String(app.pid));
      const later = await kit.Visitor.come(next);
      const {state, ending, seen, running, profile} = await reportOf(later, id);
      assert.deepEqual([state, ending, running], ['finished', 'serverStopped', false]);
      assert.ok(seen > 0);
      assert.equal(profile.seen, seen);
      const page = await later.open(addressOf(app, `&run=${id}`));
      await page.getByText(/Profiled .*: cut: server stopped$/).waitFor();
      assert.equal(await countOf(page), seen);
      await rowsOf(page).first().waitFor();
      assert.equal(await rowsOf(page).count(), profile.routes.length);
      await page.locator(`[data-table="runs"]`).getByText('cut: server stopped', {exact: true}).waitFor();
      await later.leave();
      await kit.end(next.child);
      await end();
    },
  },
  {
    name: 'nothing that a reader opened in a live request profile moves: order of routes, a route, the waterfall of a request',
    async run() {
      const {app, server, end} = await shop();
      const visitor = await kit.Visitor.come(server);
      const page = await started(visitor, app);
      const id = runOf(page);
      await page.waitForFunction(() => document.querySelectorAll('[data-table="routes"] tbody tr').length > 1, undefined, {timeout: 30_000});
      const routes = () => page.locator('[data-route]').evaluateAll((all) => all.map((one) => one.dataset.route));
      const order = await routes();
      // The order that the reader chose stays when the counts overtake each other.
      const place = await rowsOf(page).first().evaluate((row) => row.getBoundingClientRect().top);
      const before = await countOf(page);
      await grown(page, before + 20);
      assert.deepEqual((await routes()).slice(0, order.length), order);
      assert.equal(await rowsOf(page).first().evaluate((row) => row.getBoundingClientRect().top), place);
      // A filter, a route and a request: each has an address, back goes through them.
      await page.getByLabel('Filter routes', {exact: true}).fill('post');
      await page.locator(`[data-route="${kOrders}"]`).waitFor({state: 'detached'});
      await page.waitForURL(/filter=post/);
      await page.reload();
      await page.getByText(/^1 of \d routes$/).waitFor();
      await page.getByLabel('Filter routes', {exact: true}).fill('');
      await page.locator(`[data-route="${kOrders}"]`).click();
      // The flame graph is made again only when the reader says so.
      await page.getByRole('button', {name: 'Flame graph', exact: true}).click();
      const merged = page.getByText(/requests merged, .* calls of chosen methods/);
      const words = await merged.innerText();
      const update = page.getByRole('button', {name: 'Update the flame graph', exact: true});
      await page.locator('button:not([disabled])', {hasText: 'Update the flame graph'}).waitFor();
      assert.equal(await merged.innerText(), words);
      await update.click();
      await page.getByRole('button', {name: 'Slowest requests', exact: true}).click();
      await page.locator('[data-table="requests"] [data-trace]').first().waitFor();
      const trace = await page.locator('[data-table="requests"] [data-trace]').first().getAttribute('data-trace');
      await page.locator(`[data-trace="${trace}"]`).first().click();
      await page.locator(`[data-waterfall="${trace}"]`).waitFor();
      await page.locator('[data-span="1"]').click();
      await page.locator('[data-details="1"]').waitFor();
      const seen = (await reportOf(visitor, id)).seen;
      for (;;) if ((await reportOf(visitor, id)).seen > seen + 40) break; // so many that an other request may take its place
      await page.locator('[data-details="1"]').waitFor();
      await page.reload();
      await page.locator(`[data-waterfall="${trace}"]`).waitFor();
      await page.locator('[data-details="1"]').waitFor();
      await page.goBack();
      await page.locator(`[data-one-route="${kOrders}"] [data-table="requests"]`).waitFor();
      await page.goBack(); // the flame graph
      await merged.waitFor();
      await page.goBack();
      await page.goBack();
      await rowsOf(page).first().waitFor();
      for (let i = 0; i < 4; ++i) await page.goForward();
      await page.locator(`[data-waterfall="${trace}"]`).waitFor();
      // It is kept at the end, whatever else was slower.
      await visitor.ask('POST', `/requests/runs/${id}/stop`);
      await card(page, 'finished').waitFor({timeout: 30_000});
      await page.locator(`[data-waterfall="${trace}"]`).waitFor();
      await visitor.leave();
      await end();
    },
  },
  {
    name: 'a request profile that another reader began is shown instead of an error, and a discarded one leaves nothing',
    async run() {
      const {app, server, end} = await shop();
      const visitor = await kit.Visitor.come(server);
      const late = await visitor.open(addressOf(app, '&include=Samples.Shop'), {expected: [409, 404]});
      await button(late).waitFor();
      await late.route(/\/requests\/runs$/, (asked) => asked.fulfill({contentType: 'application/json', body: '[]'})); // it does not hear of the other one in time
      const page = await started(visitor, app);
      const id = runOf(page);
      await late.waitForFunction(() => !document.querySelector('.profile-form button').disabled);
      await late.unrouteAll();
      await late.evaluate(() => document.querySelector('.profile-form').requestSubmit());
      await late.waitForURL(new RegExp(`run=${id}`));
      await card(late, 'running').waitFor();
      assert.equal((await runsOf(visitor)).length, 1);
      await page.close(); // it would ask for what is gone
      await card(late).getByRole('button', {name: 'Discard', exact: true}).click();
      await card(late).getByRole('group', {name: /^Discard/}).getByRole('button', {name: 'Discard', exact: true}).click();
      await late.waitForFunction(() => !new URL(location.href).searchParams.has('run'));
      assert.deepEqual(await runsOf(visitor), []);
      await late.waitForFunction(() => !document.querySelector('.profile-form button').disabled);
      await visitor.leave();
      await end();
    },
  },
  {
    name: 'a request profile ends with its process and stays on the page',
    async run() {
      const {app, server, load, end} = await shop();
      const visitor = await kit.Visitor.come(server);
      const page = await started(visitor, app);
      await page.locator(`[data-route="${kOrders}"]`).waitFor({timeout: 30_000});
      await kit.end(load.child);
      await kit.end(app.child);
      await card(page, 'finished').waitFor({timeout: 30_000});
      await page.getByText(/Profiled .*: the process exited$/).waitFor();
      await page.getByText(/The process has exited at .* The last data are kept\./).waitFor();
      const {profile, ending} = await reportOf(visitor, runOf(page));
      assert.equal(ending, 'exited');
      await page.locator(`[data-profile="${profile.seen}"]`).waitFor();
      await page.reload();
      await page.locator(`[data-profile="${profile.seen}"]`).waitFor();
      await page.getByText('Profile requests for a while', {exact: true}).click();
      assert.ok(await button(page).isDisabled());
      await visitor.leave();
      await end();
    },
  },
  {
    name: 'a live request profile keeps its last data, with their age, when the controller is gone',
    async run() {
      const {app, server, end} = await shop();
      const visitor = await kit.Visitor.come(server);
      const page = await started(visitor, app);
      await page.locator(`[data-route="${kOrders}"]`).waitFor({timeout: 30_000});
      server.child.kill('SIGKILL');
      await page.getByText(/The controller cannot be reached\. Showing data from .* ago\./).first().waitFor();
      await page.locator(`[data-route="${kOrders}"]`).waitFor();
      await visitor.context.close(); // requests that fail are expected here
      await end();
    },
  },
  {
    name: 'a key without the scope trace may not profile requests, and an unknown profile says that it is gone',
    async run(world) {
      const visitor = await kit.Visitor.come(world.server);
      const page = await visitor.open(`/views/requests?pid=${world.idle.pid}&tab=profile&run=none`, {expected: [404]});
      await page.getByText('profile none does not exist any more', {exact: true}).waitFor();
      await page.getByText('Profile requests for a while', {exact: true}).click();
      assert.ok(await button(page).isEnabled());
      await visitor.leave();
      const key = await kit.makeKey(world.server, 'read');
      const answer = await fetch(`${world.server.address}/requests?pid=${world.idle.pid}&include=Shop`, {method: 'POST', headers: {Authorization: `Bearer ${key}`}});
      assert.equal(answer.status, 403);
    },
  },
];
