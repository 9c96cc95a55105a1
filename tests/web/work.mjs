// What people do with the pages: look at stacks, record, ask the doctor.
import assert from 'node:assert/strict';
import {statSync} from 'node:fs';
import {seriousFaults, Visitor} from './kit.mjs';

const main = (page) => page.locator('main').innerText();

export const workTests = [
  {
    name: 'the overview says first what is wrong',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/?pid=${world.sick.pid}`);
      assert.match(await page.locator('.verdict').innerText(), /Deadlock: 2 threads wait for each other/);
      await page.goto(`${world.server.url}/?pid=${world.idle.pid}`);
      assert.match(await page.locator('.verdict').innerText(), /Nothing stands still/);
      await visitor.leave();
    },
  },
  {
    name: 'stacks name the deadlock, link its threads and tell who did not move',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/stacks?pid=${world.sick.pid}`);
      const [first] = world.sick.truth.deadlock.cycle;
      await page.click(`#stacks a[href="#t${first}"] >> nth=0`);
      assert.ok(page.url().endsWith(`#t${first}`));
      const text = await page.locator('#stacks').innerText();
      assert.ok(text.includes(world.sick.truth.deadlock.method), 'the method that waits is there');
      await page.waitForTimeout(1200);
      await Promise.all([page.waitForNavigation(), page.click('[data-refresh]')]);
      assert.match(await page.locator(`#t${first} + .unchanged`).innerText(), /unchanged since \d+ s/);
      await Promise.all([page.waitForURL(/view=merged/), page.check('input[value="merged"]')]);
      assert.match(await page.locator('#stacks').innerText(), /×/);
      await Promise.all([page.waitForURL(/native=true/), page.check('input[name="native"]')]);
      assert.match(await page.locator('#stacks').innerText(), /libcoreclr|libc\.so/);
      await visitor.leave();
    },
  },
  {
    name: 'two clicks to a recording, and every format of it',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/record?pid=${world.sick.pid}`);
      const opens = page.getByLabel('open the flame graph when done');
      if (await opens.count()) await opens.uncheck();
      await page.fill('input[name="durationSeconds"]', '2');
      await page.click('[data-record]');
      await page.waitForSelector('[data-recording]');
      await page.waitForSelector('[data-result]', {timeout: 40_000});
      const words = await page.locator('[data-result]').innerText();
      assert.match(words, /samples, lost \d+/);
      assert.doesNotMatch(words, / 0 samples/);
      for (const format of ['nettrace', 'collapsed', 'chromium']) {
        const [download] = await Promise.all([page.waitForEvent('download'), page.locator('[data-result]').getByText(format, {exact: true}).click()]);
        assert.ok(statSync(await download.path()).size > 1000, `${format} is nearly empty`);
      }
      await page.goto(`${world.server.url}/recordings?pid=${world.sick.pid}`);
      assert.match(await main(page), /speedscope/);
      await visitor.leave();
    },
  },
  {
    name: 'five seconds become a flame graph at once',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/record?pid=${world.sick.pid}`);
      await page.click('[data-record]');
      await page.waitForURL(/\/flame\?/, {timeout: 50_000});
      await page.waitForSelector('.flame-canvas');
      await page.waitForTimeout(300);
      const colours = await page.$eval('canvas', (canvas) => {
        const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, Math.min(canvas.height, 300));
        const seen = new Set();
        for (let i = 0; i < data.length; i += 4) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
        return seen.size;
      });
      assert.ok(colours > 5, `${colours} colours`);
      await page.getByRole('button', {name: 'Functions', exact: true}).click(); // the tree opens only the hottest path
      assert.match(await main(page), /PriceOrder/);
      assert.deepEqual(await seriousFaults(page), []);
      await visitor.leave();
    },
  },
  {
    name: 'a recording can be stopped, with providers of one’s own',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/record?pid=${world.idle.pid}`);
      const opens = page.getByLabel('open the flame graph when done');
      if (await opens.count()) await opens.uncheck();
      await page.click('.providers summary');
      await page.click('text=Add a provider');
      assert.equal(await page.getByLabel('Keywords').inputValue(), '0x1');
      await page.getByLabel('exception', {exact: true}).check();
      assert.equal(await page.getByLabel('Keywords').inputValue(), '0x8001');
      await page.fill('input[name="durationSeconds"]', '600');
      await page.click('[data-record]');
      await page.waitForSelector('[data-recording="recording"]');
      await page.goto(`${world.server.url}/sessions`);
      assert.match(await main(page), new RegExp(`${world.idle.pid}`));
      await page.goBack();
      const stop = await visitor.open(`/sessions`);
      const [download] = await Promise.all([stop.waitForEvent('download'), stop.click('[data-stop-session]')]);
      assert.ok(statSync(await download.path()).size > 500);
      await stop.reload();
      assert.match(await main(stop), /No recording runs right now/);
      await visitor.leave();
    },
  },
  {
    name: 'the doctor finds the planted faults, keeps the report and compares',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/doctor?pid=${world.sick.pid}`);
      await page.fill('input[name="durationSeconds"]', '3');
      for (const round of [1, 2]) {
        await Promise.all([page.waitForURL(/\/doctor\/reports\//, {timeout: 50_000}), page.click('[data-refresh]')]);
        const cards = await page.locator('.card h2').allInnerTexts();
        assert.match(cards[0], /Deadlock: 2 threads/);
        assert.ok(cards.some((card) => /exception/i.test(card)), `no exception storm among ${cards}`);
        if (round === 2) assert.match(await main(page), /Since the report before/);
        else {
          await page.goto(`${world.server.url}/doctor?pid=${world.sick.pid}`);
          await page.fill('input[name="durationSeconds"]', '2');
        }
      }
      await visitor.leave();
    },
  },
  {
    name: 'without scripts the doctor looks too, and a recording is a download',
    async run(world) {
      const visitor = await Visitor.come(world.server, {javaScriptEnabled: false});
      const page = await visitor.open(`/doctor?pid=${world.sick.pid}`);
      await page.fill('input[name="durationSeconds"]', '1');
      await Promise.all([page.waitForURL(/durationSeconds=1/, {timeout: 30_000}), page.click('[data-refresh]')]);
      assert.match(await main(page), /Deadlock: 2 threads/);
      await page.goto(`${world.server.url}/record?pid=${world.sick.pid}`);
      await page.fill('input[name="durationSeconds"]', '1');
      const [download] = await Promise.all([page.waitForEvent('download'), page.click('button.main')]);
      assert.ok(statSync(await download.path()).size > 1000);
      await visitor.leave();
    },
  },
];
