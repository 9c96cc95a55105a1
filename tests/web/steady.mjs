// What the reader opened, selected, scrolled to or points at stays where it is when data arrive, and on the way back.
import assert from 'node:assert/strict';
import * as kit from './kit.mjs';
import {settled} from './shell.mjs';

const {Visitor} = kit;

// Answers with what `change` makes of the real answer; the result tells how many were given.
async function altered(visitor, pattern, change) {
  const given = {count: 0};
  await visitor.context.route(pattern, async (route) => {
    if (route.request().resourceType() === 'document') return route.continue();
    const {pathname, search} = new URL(route.request().url());
    const answer = await visitor.ask('GET', pathname + search).catch(() => undefined); // the page may be gone
    if (!answer) return route.abort();
    return route.fulfill({json: change(await answer.json(), ++given.count)});
  });
  return given;
}

async function answersAfter(page, given, more) {
  const wanted = given.count + more;
  while (given.count < wanted) await page.waitForTimeout(100);
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
}

const rowTexts = (page, table) => page.locator(`[data-table="${table}"] tbody tr td:first-child a`).allInnerTexts();

export const steadyTests = [
  {
    name: 'a selected method stays selected when slower ones come before it, and all rows can be shown',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const method = (index) => ({method: `Shop.Orders.Place${index}()`, module: 'Shop', tier: 'QuickJitted', ilBytes: 10, nativeBytes: 100 + index, startMs: index, jitMs: index});
      const given = await altered(visitor, '**/views/jit?*', (view, count) => ({...view, methods: Array.from({length: 250 + 5 * count}, (_, index) => method(index))}));
      const page = await visitor.open(`/views/jit?pid=${world.idle.pid}`);
      const cell = page.locator('[data-table="jit"] td.code', {hasText: 'Place220('});
      await cell.scrollIntoViewIfNeeded();
      await cell.evaluate((one) => {
        getSelection().selectAllChildren(one);
        globalThis.chosen = one;
      });
      const top = () => cell.evaluate((one) => one.getBoundingClientRect().top);
      const before = await top();
      await answersAfter(page, given, 2);
      assert.match(await page.evaluate(() => globalThis.chosen.innerText), /Place220\(/, 'its row has another text');
      assert.match(await page.evaluate(() => getSelection().toString()), /Place220\(/);
      assert.ok(Math.abs((await top()) - before) < 40, `it moved from ${before} to ${await top()}`);
      await page.locator('[data-table="jit"]').locator('xpath=following::button[text()="Show all"]').first().click();
      await page.locator('[data-table="jit"] td.code', {hasText: 'Place1('}).waitFor();
      await visitor.leave();
    },
  },
  {
    name: 'processes keep their places while the pointer is among them',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const given = await altered(visitor, '**/watch', (all, count) => [...all].sort((a, b) => (count % 2 ? a.pid - b.pid : b.pid - a.pid)));
      const page = await visitor.open('/');
      await page.locator('[data-table="processes"] tbody tr').nth(2).hover();
      const before = await rowTexts(page, 'processes');
      assert.equal(before.length, 3);
      for (let i = 0; i < 2; ++i) {
        await answersAfter(page, given, 1);
        assert.deepEqual(await rowTexts(page, 'processes'), before);
      }
      await page.locator('h1').hover();
      await page.waitForFunction((first) => document.querySelector('[data-table="processes"] tbody td a').innerText !== first, before[0]);
      await visitor.leave();
    },
  },
  {
    name: 'back and reload show the part of a page that was shown before',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/counters?pid=${world.sick.pid}`);
      await page.waitForFunction(() => document.documentElement.scrollHeight > 2 * innerHeight);
      await page.evaluate(() => scrollTo(0, 0.7 * innerHeight));
      await page.waitForFunction(() => history.state?.scrollY === scrollY);
      const where = await page.evaluate(() => scrollY);
      await page.evaluate(() => document.querySelector('.rail a[href^="/stacks"]').click());
      await page.locator('.group').first().waitFor();
      assert.equal(await page.evaluate(() => scrollY), 0);
      await page.goBack();
      await page.waitForFunction((y) => scrollY === y, where);
      await page.reload();
      await page.waitForFunction((y) => scrollY === y, where);
      await visitor.leave();
    },
  },
  {
    name: 'on a low screen every page of the rail is in reach of a long page',
    async run(world) {
      const visitor = await Visitor.come(world.server, {viewport: {width: 1280, height: 620}});
      const page = await visitor.open(`/counters?pid=${world.sick.pid}`);
      await page.waitForFunction(() => document.documentElement.scrollHeight > 3 * innerHeight);
      await page.evaluate(() => scrollTo(0, innerHeight));
      const last = page.locator('.rail a').last();
      await last.evaluate((link) => {
        const list = link.closest('#rail-list');
        list.scrollTop = list.scrollHeight;
      });
      const {y, height} = await last.boundingBox();
      const strip = await page.locator('.strip').boundingBox();
      assert.ok(y > 0 && y + height <= strip.y, `it is at ${y}, the strip at ${strip.y}`);
      await visitor.leave();
    },
  },
  {
    name: 'pages behind links mark their page in the rail, and a page that fails leaves the frame',
    async run(world) {
      const visitor = await Visitor.come(world.server, {viewport: {width: 390, height: 740}});
      const page = await visitor.open(`/flame?pid=${world.sick.pid}`);
      await settled(page);
      assert.equal(await page.locator('.rail a[aria-current]').textContent(), 'Record');
      assert.match(await page.locator('.rail .menu').innerText(), /^Flame graph/);
      await page.goto(`${world.server.url}/doctor/reports/%E0?pid=${world.sick.pid}`);
      await page.locator('main h1', {hasText: 'Not found'}).waitFor();
      visitor.faults.length = 0; // the address is 404
      await visitor.context.route('**/views/gc?*', (route) => (route.request().resourceType() === 'document' ? route.continue() : route.fulfill({json: {}})));
      await page.goto(`${world.server.url}/views/gc?pid=${world.sick.pid}`);
      await page.locator('main h1', {hasText: 'This page failed'}).waitFor();
      assert.equal(await page.locator('#picker').inputValue(), String(world.sick.pid));
      await visitor.context.unroute('**/views/gc?*');
      await page.getByRole('button', {name: 'Try again', exact: true}).click();
      await page.locator('[data-summary]').waitFor();
      await visitor.leave();
    },
  },
  {
    name: 'while it is not known who holds locks, the page of locks does not say that no thread waited',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      let isGone = true;
      await visitor.context.route('**/stacks?*', (route) => (isGone ? route.fulfill({status: 503, json: {title: 'busy'}}) : route.continue()));
      await altered(visitor, '**/views/contention?*', (view) => ({...view, contentions: 0, sites: []}));
      const page = await visitor.open(`/views/contention?pid=${world.sick.pid}`, {expected: [503]});
      await page.locator('[data-summary]', {hasText: /which locks are held now is not known/}).waitFor();
      assert.doesNotMatch(await page.locator('main').innerText(), /No thread waited/);
      isGone = false;
      await page.keyboard.press('r');
      await page.locator('[data-summary]', {hasText: /threads? waits? for a lock since before|2 threads/}).waitFor();
      await visitor.leave();
    },
  },
  {
    name: 'times have their ISO form at hand',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/overview?pid=${world.sick.pid}&open=values`);
      await page.locator('[aria-label="Values of the charts"] tbody tr').first().waitFor();
      await page.locator('[data-since]').first().waitFor();
      for (const part of ['.age', '[data-since]', '[aria-label="Values of the charts"] tbody td']) assert.match(await page.locator(part).locator('time').first().getAttribute('title'), /^\d{4}-\d\d-\d\dT/, part);
      await page.goto(`${world.server.url}/views/gc?pid=${world.sick.pid}`);
      for (const part of ['[data-longest]', '[data-table="gc"] tbody td']) assert.match(await page.locator(part).locator('time').first().getAttribute('title'), /^\d{4}-\d\d-\d\dT/, part);
      await visitor.leave();
    },
  },
];
