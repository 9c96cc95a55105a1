// The states of a page: target exited, controller gone, not permitted, paused. What was there stays.
import assert from 'node:assert/strict';
import * as kit from './kit.mjs';
import {settled} from './shell.mjs';

const {Visitor} = kit;

// A snapshot taken while a collection moves the locks shows none: then another one does.
async function deadlockShown(page) {
  const deadlock = page.getByText('Deadlock: 2 threads').first();
  for (let tries = 0; tries < 5; ++tries) {
    if (await deadlock.waitFor({timeout: 4_000}).then(() => true, () => false)) return;
    await page.keyboard.press('r');
  }
  await deadlock.waitFor();
}

export const stateTests = [
  {
    name: 'a process that never was is said to have exited or to be invisible',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open('/stacks?pid=2147483646', {expected: [400, 404]});
      await page.getByText('Process 2147483646 has exited or is not visible here').waitFor();
      assert.equal(await page.locator('#picker').inputValue(), '2147483646');
      await visitor.leave();
    },
  },
  {
    name: 'when the process exits its pages keep the last data and say so',
    async run() {
      const short = await kit.patient('sick');
      const server = await kit.serve('--allow', String(short.pid));
      const visitor = await Visitor.come(server);
      const paths = ['/overview', '/stacks', '/counters', '/views/exceptions'];
      const pages = await Promise.all(paths.map((path) => visitor.open(`${path}?pid=${short.pid}`, {expected: [400, 404, 410, 500, 502, 503, 504]})));
      for (const page of pages) await settled(page);
      await deadlockShown(pages[1]);
      const frames = () => pages[1].locator('main').evaluate((main) => main.textContent.split('Samples.').length); // also those that are not laid out
      const before = await frames();
      await kit.end(short.child);
      for (const page of pages) await page.locator('main [role="alert"], main .trouble', {hasText: /exited/}).first().waitFor({timeout: 40_000});
      await pages[1].keyboard.press('r'); // a refresh against a dead target
      await pages[1].locator('main', {hasText: 'Showing data from'}).waitFor();
      assert.equal(await frames(), before, 'the stacks are still there');
      assert.match(await pages[0].locator('main').innerText(), /Deadlock: 2 threads/);
      await visitor.leave();
      await kit.end(server.child);
    },
  },
  {
    name: 'when the controller is gone pages keep the last data and say so',
    async run() {
      const short = await kit.patient('sick');
      const server = await kit.serve('--allow', String(short.pid));
      const visitor = await Visitor.come(server);
      const open = (path) => visitor.open(`${path}?pid=${short.pid}`, {expected: [502]});
      const page = await open('/stacks');
      await settled(page);
      await deadlockShown(page);
      const [overview, counters, gc, logs] = await Promise.all(['/overview', '/counters', '/views/gc', '/logs'].map(open));
      await overview.waitForFunction(() => /^\d/.test(document.querySelector('[data-tile="cpu"] .big')?.textContent));
      await overview.locator('[data-verdict="found"]').waitFor();
      await counters.locator('.counter canvas').first().waitFor();
      await gc.locator('[data-summary]').waitFor();
      await logs.locator('main [role="status"]', {hasText: 'live'}).waitFor();
      visitor.faults.length = 0;
      await kit.end(server.child);
      for (const one of [page, overview, counters, gc, logs]) await one.locator('[data-connected="no"]').waitFor();
      await page.getByText('Deadlock: 2 threads').first().waitFor();
            for (const one of [overview, counters, gc]) await one.locator('main [role="alert"]', {hasText: /The controller cannot be reached.*Showing data from/}).first().waitFor();
      await overview.locator('[aria-label="Live numbers"] [role="alert"]', {hasText: 'Showing data from'}).waitFor();
      assert.match(await overview.locator('[data-tile="cpu"] .big').innerText(), /^\d/);
      assert.ok((await counters.locator('.counter').count()) > 5);
      await logs.locator('main [role="status"]', {hasText: 'connecting'}).waitFor();
      visitor.faults.length = 0; // requests fail now, as they must
      await visitor.leave();
      await kit.end(short.child);
    },
  },
  {
    name: 'a key without the scope gets a page that says which one is missing',
    needsShell: true,
    async run(world) {
      const key = await kit.makeKey(world.server, 'metrics,read');
      const context = await kit.newContext();
      const page = await context.newPage();
      await page.goto(`${world.server.address}/recordings`);
      await page.getByLabel('Key', {exact: true}).fill(key);
      await page.getByRole('button', {name: 'Sign in', exact: true}).click();
      await page.locator('main [role="alert"]', {hasText: /Not permitted.*trace/s}).first().waitFor();
      await page.locator('.rail a.refused', {hasText: 'Recordings'}).waitFor();
      await page.goto(new URL(`/logs?pid=${world.idle.pid}`, page.url()).href);
      await page.locator('main [role="alert"]', {hasText: /Not permitted.*trace/s}).first().waitFor();
      await context.close();
    },
  },
  {
    name: 'a paused page does not move, and goes on when it is resumed',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/overview?pid=${world.sick.pid}`);
      await settled(page);
      let asked = 0;
      const open = new Set(); // live streams are never idle: only these must have been answered
      page.on('request', (request) => {
        if (!/\/(watch|status|processes)/.test(request.url())) return;
        ++asked;
        open.add(request);
      });
      for (const event of ['requestfinished', 'requestfailed']) page.on(event, (request) => open.delete(request));
      await page.keyboard.press('p');
      await page.locator('.strip [data-pause][aria-pressed="true"]').waitFor();
      while (open.size) await page.waitForTimeout(50);
      asked = 0;
      await page.waitForTimeout(4000); // longer than every interval
      assert.equal(asked, 0, 'it asked while paused');
      await Promise.all([page.waitForResponse(/\/status/), page.keyboard.press('p')]);
      await visitor.leave();
    },
  },
];
