// What people do at night: from the first page to the cause without typing, by keyboard alone, with a recording of the whole machine,
// a large file, a file from disk, and messages that are far too long.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdtempSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import * as kit from './kit.mjs';
import {settled} from './shell.mjs';

const {Visitor} = kit;

const kLong = `<b>Order</b> ${'x'.repeat(3000)}`;
const isData = (route) => route.request().resourceType() !== 'document';

async function answered(visitor, pattern, json) {
  await visitor.context.route(pattern, (route) => (isData(route) ? route.fulfill({json}) : route.continue()));
}

export const journeyTests = [
  {
    name: 'two clicks lead from the first page to the threads of a deadlock',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open('/');
      const row = page.locator('[data-table="processes"] tbody tr', {hasText: 'Deadlock: 2 threads'});
      await row.waitFor({timeout: 60_000});
      await row.locator('a').first().click();
      await page.locator('[data-evidence="CS1001"]').first().click();
      await page.waitForURL(/\/stacks\?pid=\d+#t\d+$/);
      const thread = page.locator(new URL(page.url()).hash);
      await thread.waitFor();
      const group = page.locator('.group', {has: thread});
      assert.match(await group.innerText(), /waiting for lock .*Samples\.Symptoms\./s);
      await visitor.leave();
    },
  },
  {
    name: 'every page with a key is opened by it, and c goes to the picker',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/check?pid=${world.sick.pid}`);
      await settled(page);
      const pages = await page.$$eval('.rail a[data-key]', (all) => all.map((link) => ({key: link.dataset.key, title: link.textContent, path: new URL(link.href).pathname})));
      assert.ok(pages.length >= 14 && new Set(pages.map((one) => one.key)).size === pages.length, JSON.stringify(pages));
      await page.keyboard.press('c');
      assert.equal(await page.evaluate(() => document.activeElement.id), 'picker');
      assert.match(page.url(), /\/check\?pid=\d+$/, 'the letter itself chose a process');
      await page.evaluate(() => document.activeElement.blur());
      const last = pages.shift(); // the first page forgets the process
      for (const {key, title, path} of [...pages, last]) {
        await page.keyboard.press('g');
        await page.keyboard.press(key);
        await page.waitForFunction(([wanted, name]) => location.pathname === wanted && document.title.startsWith(name), [path, title]);
      }
      await visitor.leave();
    },
  },
  {
    name: 'the whole machine is recorded where that is allowed, and the page says where it is not',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open('/record');
      await page.getByText('The whole machine cannot be recorded here.').waitFor();
      await page.locator(`.choices a[href*="pid=${world.sick.pid}"]`).waitFor();
      const status = await (await visitor.ask('GET', '/status')).json();
      await answered(visitor, '**/status?*', {...status, machine: true});
      let asked;
      await visitor.context.route('**/sessions', (route) => {
        if (route.request().method() !== 'POST') return route.continue();
        asked = route.request().postDataJSON();
        return route.fulfill({status: 403, json: {title: 'the whole machine needs CAP_PERFMON'}});
      });
      const allowed = await visitor.open(`/record?pid=${world.sick.pid}&seconds=3`, {expected: [403]});
      await allowed.locator('select[name="target"]').selectOption('machine');
      await allowed.locator('h1', {hasText: 'Record the whole machine'}).waitFor();
      await allowed.locator('[data-record]').click();
      await allowed.locator('.record [role="alert"]', {hasText: 'the whole machine needs CAP_PERFMON'}).waitFor();
      assert.deepEqual(asked, {durationSeconds: 3, all: true});
      await visitor.leave();
    },
  },
  {
    name: 'a file of more than 1 MiB is uploaded, and its upload is told of after the reader was on another page',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open('/recordings');
      const trace = await (await visitor.ask('GET', `/trace?pid=${world.sick.pid}&durationSeconds=2`, {headers: {Accept: '*/*'}})).body();
      const file = join(mkdtempSync(join(kit.work, 'upload-')), 'large.nettrace');
      writeFileSync(file, Buffer.concat([trace, Buffer.alloc(1024 * 1024)]));
      let goOn;
      const isHeld = new Promise((done) => (goOn = done));
      await visitor.context.route('**/recordings?name=*', async (route) => {
        await isHeld;
        return route.continue();
      });
      await page.setInputFiles('input[type="file"]', file);
      await page.locator('[data-upload="sending"]', {hasText: 'large.nettrace'}).waitFor();
      await page.locator('.rail').getByRole('link', {name: 'Check', exact: true}).click();
      await page.waitForURL(/\/check/);
      await page.locator('.rail').getByRole('link', {name: 'Recordings', exact: true}).click();
      await page.locator('[data-upload="sending"]', {hasText: 'large.nettrace'}).waitFor();
      goOn();
      await page.locator('[data-upload="kept"]', {hasText: 'large.nettrace'}).waitFor();
      const row = page.locator('[data-table="recordings"] tbody tr', {hasText: 'large.nettrace'});
      await row.waitFor();
      const kept = (await (await visitor.ask('GET', '/recordings')).json()).find((one) => one.file === 'large.nettrace');
      assert.ok(kept.bytes > 1024 * 1024, `${kept.bytes} bytes`);
      await visitor.leave();
    },
  },
  {
    name: 'sessions and reports of the doctor are discarded only after a second click',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const {pid} = world.idle;
      const {id} = await (await visitor.ask('POST', '/sessions', {data: {pid, durationSeconds: 600, leaseSeconds: 300}})).json();
      const report = {id: 'r1', process: {pid, name: 'samples', uid: ''}, started: '2026-01-01T00:00:00Z', state: 'failed', error: 'invented', severity: 'none', verdict: '', findings: 0, durationMs: 1, by: ''};
      await answered(visitor, '**/doctor/reports', [report]);
      const deleted = [];
      await visitor.context.route('**/doctor/reports/r1', (route) => {
        deleted.push(route.request().method());
        return route.fulfill({status: 204});
      });
      const twice = async (path, card, words, isThere) => {
        const page = await visitor.open(`${path}?pid=${pid}`);
        const one = page.locator(card);
        await one.getByRole('button', {name: words, exact: true}).click();
        await one.getByRole('button', {name: 'Keep', exact: true}).click();
        assert.ok(await isThere(), `${words} did not ask`);
        await one.getByRole('button', {name: words, exact: true}).click();
        await Promise.all([page.waitForResponse((answer) => answer.request().method() === 'DELETE'), one.getByRole('group').getByRole('button', {name: words, exact: true}).click()]);
        await page.close();
      };
      await twice('/sessions', `[data-session="${id}"]`, 'Stop and discard', async () => (await (await visitor.ask('GET', `/sessions/${id}`)).json()).running);
      await twice('/doctor', '[data-table="reports"] tbody tr', 'Remove', async () => !deleted.length);
      assert.deepEqual(deleted, ['DELETE']);
      await visitor.leave();
    },
  },
  {
    name: 'a file of stacks opens from disk, filters, and asks nobody',
    async run(world) {
      const file = join(mkdtempSync(join(kit.work, 'stacks-')), 'stacks.html');
      writeFileSync(file, execFileSync(kit.clrscope, ['stacks', '-p', String(world.sick.pid), '--format', 'html'], {maxBuffer: 1 << 26, env: {...process.env, TMPDIR: kit.work}}));
      const context = await kit.newContext();
      const page = await context.newPage();
      const troubles = [];
      page.on('console', (message) => message.type() === 'error' && troubles.push(message.text()));
      page.on('pageerror', (error) => troubles.push(String(error)));
      page.on('request', (request) => request.url().startsWith('file:') || request.url().startsWith('data:') || troubles.push(request.url()));
      await page.goto(pathToFileURL(file).href);
      await page.locator('.deadlock', {hasText: 'Deadlock: 2 threads are waiting for each other'}).waitFor();
      await page.getByLabel('Filter threads', {exact: true}).fill('transfer-');
      await page.getByText(/^2 of \d+ threads match/).waitFor();
      const [first] = world.sick.truth.deadlock.cycle;
      await page.locator(`.deadlock a[href="#t${first}"]`).first().click();
      await page.locator(`.group.target #t${first}, #t${first}.target`).first().waitFor();
      assert.deepEqual(troubles, []);
      await context.close();
    },
  },
  {
    name: 'messages of 3,000 characters widen neither logs, nor the agent page, nor findings and their evidence',
    async run(world) {
      const visitor = await Visitor.come(world.server, {viewport: {width: 360, height: 740}});
      const {pid} = world.idle;
      const entry = {Timestamp: '2026-01-01T00:00:00Z', LogLevel: 'Error', Category: `Shop.${'y'.repeat(3000)}`, Message: kLong, Exception: kLong};
      await visitor.context.route('**/live?*topics=logs*', (route) => route.fulfill({contentType: 'text/event-stream', body: `retry: 60000\n\nevent: logs\ndata: ${JSON.stringify(entry)}\n\n`}));
      const agent = await (await visitor.ask('GET', `/agent?pid=${pid}`)).json();
      const thrown = {count: 1, type: kLong, meanToCatchMs: 1, thrownIn: [{method: kLong, count: 1}], caughtIn: [{method: kLong, count: 1}], stack: [kLong]};
      await answered(visitor, '**/agent?pid=*', {...agent, seen: {sources: [], dropped: [{reason: kLong, count: 1}], exceptions: {exceptions: 1, durationMs: 1, byType: [thrown]}}});
      const watch = await (await visitor.ask('GET', `/watch/${pid}`)).json();
      const thread = {osId: 7, managedId: 1, name: kLong, does: kLong, frames: [{method: kLong, kind: 'managed', module: kLong}]};
      const evidence = {threads: [thread], objects: [{address: '0x1', type: kLong, role: 'lock'}], numbers: [{name: kLong, value: 1, unit: '', text: kLong}], details: [kLong]};
      const finding = {id: 'CS1001', title: kLong, severity: 'error', confidence: 'certain', summary: kLong, advice: kLong, docs: '', evidence};
      await answered(visitor, `**/watch/${pid}`, {...watch, checkedAgoMs: 1, findings: [finding], history: []});
      for (const [path, part] of [['/logs', '.log-entry'], ['/agent', '[data-table="thrown"] tbody tr'], ['/overview', '.finding .fold-body']]) {
        const page = await visitor.open(`${path}?pid=${pid}&open=CS1001`);
        await page.locator(part).first().waitFor();
        assert.ok((await kit.sideways(page)) <= 0, `${path} moves sideways`);
        assert.equal(await page.locator('main b', {hasText: /^Order$/}).count(), 0, `${path} makes markup of it`);
        assert.match(await page.locator(part).first().textContent(), /x{3000}/, path);
        await page.close();
      }
      await visitor.leave();
    },
  },
];
