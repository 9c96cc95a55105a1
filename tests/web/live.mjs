// What moves: counters, tiles, the curated views; pausing, comparing, a process that ends.
import assert from 'node:assert/strict';
import * as kit from './kit.mjs';

const {Visitor} = kit;

// Waits until a text differs from what it was.
async function changes(locator, timeout = 15_000) {
  const before = await locator.innerText();
  const until = Date.now() + timeout;
  while (Date.now() < until) {
    const now = await locator.innerText();
    if (now !== before) return now;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`it still says ${before}`);
}

const inked = (page, selector) =>
  page.$eval(selector, (canvas) => {
    const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let i = 3; i < data.length; i += 4) if (data[i] > 0) ++count;
    return count;
  });

export const liveTests = [
  {
    name: 'the tiles of the overview move',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/?pid=${world.sick.pid}`);
      await page.waitForSelector('.tile[data-tile="cpu"] canvas');
      await changes(page.locator('.tile[data-tile="cpu"] .dim'));
      const percent = parseFloat(await page.locator('.tile[data-tile="cpu"] .big').innerText());
      assert.ok(percent > 5 && percent < 400, `CPU is said to be ${percent} %`);
      const memory = await page.locator('.tile[data-tile="memory"] .big').innerText();
      assert.match(memory, /^\d+(\.\d)? MB$/);
      assert.ok((await inked(page, '.tile[data-tile="cpu"] canvas')) > 50, 'nothing is drawn');
      await visitor.leave();
    },
  },
  {
    name: 'counters move, are searched, paused and pinned',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/counters?pid=${world.sick.pid}`);
      await page.waitForSelector('.counter canvas');
      await page.waitForFunction(() => document.querySelectorAll('.counter').length >= 10);
      const all = await page.locator('.counter').count();
      await page.fill('input[type="search"]', 'exception');
      const card = page.locator('.counter[data-counter="dotnet.exceptions"]');
      await card.waitFor();
      assert.ok((await page.locator('.counter').count()) < all);
      await card.locator('summary').click();
      await changes(card.locator('tbody tr td').first());
      assert.ok((await card.locator('tbody tr').count()) >= 2);
      await page.click('[data-pause]');
      await page.waitForTimeout(300);
      const still = await card.locator('tbody').innerText();
      await page.waitForTimeout(2500);
      assert.equal(await card.locator('tbody').innerText(), still, 'it moved while paused');
      await page.click('[data-pause]');
      await changes(card.locator('tbody tr td').first());
      await card.locator('.pin').click();
      await page.fill('input[type="search"]', '');
      assert.equal(await page.locator('.counters > h2').first().innerText(), 'Pinned');
      await page.selectOption('[data-compare]', String(world.idle.pid));
      await page.waitForFunction((pid) => document.querySelector('.counters').textContent.includes(pid), String(world.idle.pid));
      await visitor.leave();
    },
  },
  ...[
    ['gc', /collection/i, /AllocSmall/],
    ['exceptions', /exception/i, /OrderRejectedException/],
    ['contention', /lock/i, /Samples\.Symptoms\.Contention/],
    ['jit', /compiled/i, /./],
    ['threadpool', /pool|worker/i, /./],
  ].map(([topic, sentence, row]) => ({
    name: `the view of ${topic} has its sentence, its timeline and its table`,
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/views/${topic}?pid=${world.sick.pid}`);
      await page.waitForSelector('main .lead');
      assert.match(await page.locator('main .lead').innerText(), sentence);
      await page.waitForFunction((text) => new RegExp(text, 'i').test(document.querySelector('main').innerText), row.source, {timeout: 30_000});
      if (['gc', 'exceptions'].includes(topic)) {
        await page.waitForSelector('.chart canvas');
        assert.ok((await inked(page, '.chart canvas')) > 50, 'nothing is drawn');
      }
      await visitor.leave();
    },
  })),
  {
    name: 'when the process ends its counters stay',
    async run(world) {
      const short = await kit.patient('idle');
      const server = await kit.serve('--allow', String(short.pid));
      const visitor = await Visitor.come(server);
      const page = await visitor.open(`/counters?pid=${short.pid}`);
      await page.waitForSelector('.counter canvas');
      await kit.end(short.child);
      await page.waitForFunction(() => /gone/.test(document.querySelector('[role="status"]').textContent), undefined, {timeout: 20_000});
      assert.ok((await page.locator('.counter').count()) > 5);
      await visitor.leave();
      await kit.end(server.child);
    },
  },
];
