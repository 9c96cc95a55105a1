// Counters: values of the API with units, one cursor for all charts, everything chosen in the address, states.
import assert from 'node:assert/strict';
import * as kit from './kit.mjs';

const {Visitor} = kit;

const counter = (page, name) => page.locator(`.counter[data-counter="${name}"]`);

// Waits until `read` gives something that `isFine` likes.
async function until(read, isFine, what) {
  const late = Date.now() + 20_000;
  for (;;) {
    const now = await read();
    if (isFine(now)) return now;
    if (Date.now() > late) throw new Error(`${what}: still ${JSON.stringify(now)}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}

// All counters of a process with their history, as the page's visitor is told.
const told = (page, pid) => page.evaluate(async (path) => (await (await fetch(path, {headers: {Accept: 'application/json'}})).json()).counters, `/counters?pid=${pid}&history=600`);

const points = async (page, pid, name) => (await told(page, pid)).find((one) => one.name === name).points;

export const countersTests = [
  {
    name: 'counters show what the API says, with units and provider headings',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/counters?pid=${world.sick.pid}&tables=System.Runtime/dotnet.assembly.count`);
      const card = counter(page, 'dotnet.assembly.count');
      await card.locator('tbody tr').nth(1).waitFor();
      await page.click('.strip [data-pause]');
      const row = card.locator('tbody tr').first();
      const [iso, text] = [await row.locator('time').getAttribute('title'), await row.locator('td').nth(1).innerText()];
      const {value} = (await points(page, world.sick.pid, 'dotnet.assembly.count')).find((one) => Date.parse(one.time) === Date.parse(iso));
      assert.equal(text, `${value} assemblies`);
      const headings = await page.locator('.counters > h2').allInnerTexts();
      assert.ok(headings.some((one) => one.startsWith('System.Runtime')), headings.join());
      const names = new Set((await told(page, world.sick.pid)).map((one) => `${one.provider} ${one.name}`));
      assert.equal(await page.locator('.counter').count(), names.size);
      await visitor.leave();
    },
  },
  {
    name: "the program's own Meter and EventSource are on the page without being asked for",
    async run() {
      const apps = await Promise.all([kit.patient('meters'), kit.patient('counters')]);
      const server = await kit.serve('--allow', apps.map((one) => one.pid).join(','));
      const visitor = await Visitor.come(server);
      for (const [app, provider, name] of [
        [apps[0], 'Clrscope.Samples', 'samples.connections'],
        [apps[1], 'Clrscope-Samples-Counters', 'queue-length'],
      ]) {
        const page = await visitor.open(`/counters?pid=${app.pid}`);
        await counter(page, name).first().waitFor();
        const headings = await page.locator('.counters > h2').allInnerTexts();
        assert.ok(headings.some((one) => one.startsWith(provider)), headings.join());
        await page.close();
      }
      await visitor.leave();
      for (const one of [server, ...apps]) await kit.end(one.child);
    },
  },
  {
    name: 'one cursor reads the values out of all charts of counters',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/counters?pid=${world.sick.pid}&search=gc`);
      await page.locator('.counter canvas').nth(2).waitFor();
      await page.locator('.counter .u-over').first().hover();
      const legends = page.locator('.counter .legend');
      await until(() => legends.evaluateAll((all) => all.filter((one) => one.dataset.cursor === 'yes').length), (seen) => seen >= 3, 'legends that follow the cursor');
      const times = await legends.evaluateAll((all) => [...new Set(all.map((one) => one.querySelector('.when').textContent))]);
      assert.equal(times.length, 1, times.join());
      assert.match(times[0], /^at \d\d:\d\d:\d\d$/);
      await page.locator('h1').hover();
      await until(() => legends.first().getAttribute('data-cursor'), (now) => now === 'no', 'the cursor has left');
      await visitor.leave();
    },
  },
  {
    name: 'search, range, table and comparison of counters are in the address and survive reload and back',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/counters?pid=${world.sick.pid}`);
      await page.waitForFunction(() => document.querySelectorAll('.counter').length >= 10);
      const all = await page.locator('.counter').count();
      await page.keyboard.press('/');
      await page.keyboard.type('thread_pool queue');
      await until(() => page.locator('.counter').count(), (count) => count === 1 && count < all, 'counters that were searched for');
      await page.selectOption('[data-range]', '1');
      await counter(page, 'dotnet.thread_pool.queue.length').locator('summary').click();
      await page.selectOption('[data-compare]', String(world.idle.pid));
      const both = page.locator('.counter .legend .name');
      await until(() => both.allInnerTexts(), (names) => names.join() === `${world.sick.pid},${world.idle.pid}`, 'lines of both processes');
      await page.reload();
      await until(() => both.allInnerTexts(), (names) => names.join() === `${world.sick.pid},${world.idle.pid}`, 'lines of both processes after reload');
      assert.equal(await page.inputValue('input[type="search"]'), 'thread_pool queue');
      assert.equal(await page.inputValue('[data-range]'), '1');
      await page.locator('.counter tbody tr').first().waitFor();
      await page.goBack();
      await until(() => page.inputValue('[data-compare]'), (value) => value === '', 'back ends the comparison');
      await page.fill('input[type="search"]', 'nothing has this name');
      await page.getByText('No counter has “nothing has this name” in its name.').waitFor();
      await visitor.leave();
    },
  },
  {
    name: 'counters stop while paused, pinned ones come first and stay so',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/counters?pid=${world.sick.pid}&tables=System.Runtime/dotnet.timer.count`);
      const card = counter(page, 'dotnet.timer.count');
      const newest = () => card.locator('tbody td').first().innerText();
      const first = await newest();
      await until(newest, (now) => now !== first, 'a new value');
      await page.keyboard.press('p');
      await page.locator('.strip [data-pause][aria-pressed="true"]').waitFor();
      const held = await newest();
      const latest = async () => Date.parse((await points(page, world.sick.pid, 'dotnet.timer.count')).at(-1).time);
      const known = await latest();
      await until(latest, (now) => now > known + 1500, 'values that come meanwhile');
      assert.equal(await newest(), held, 'it moved while paused');
      await page.keyboard.press('p');
      await until(newest, (now) => now !== held, 'values after the pause');
      await card.locator('.pin').click();
      await page.reload();
      await until(() => page.locator('.counters > h2').first().innerText(), (text) => text.startsWith('Pinned'), 'pinned counters after reload');
      assert.equal(await page.locator('.counter').first().getAttribute('data-counter'), 'dotnet.timer.count');
      assert.ok(await card.locator('tbody tr').first().isVisible(), 'the opened table folded');
      await visitor.leave();
    },
  },
  {
    name: 'counters of a process that exits stay, and say so',
    async run() {
      const short = await kit.patient('idle');
      const server = await kit.serve('--allow', String(short.pid));
      const visitor = await Visitor.come(server);
      const page = await visitor.open(`/counters?pid=${short.pid}`, {expected: [404, 410]});
      await page.locator('.counter canvas').first().waitFor();
      await kit.end(short.child);
      await page.getByText(/The process has exited/).waitFor();
      assert.ok((await page.locator('.counter').count()) > 5);
      await visitor.leave();
      await kit.end(server.child);
      if (server.dev) await kit.end(server.dev);
    },
  },
  ...['light', 'dark'].map((colorScheme) => ({
    name: `counters have no serious fault of accessibility (${colorScheme}) and fit a phone`,
    async run(world) {
      const visitor = await Visitor.come(world.server, {colorScheme, viewport: {width: 360, height: 740}});
      const page = await visitor.open(`/counters?pid=${world.sick.pid}&tables=System.Runtime/dotnet.exceptions`);
      await page.locator('.counter canvas').first().waitFor();
      await page.locator('.series-table').first().waitFor();
      assert.deepEqual(await kit.seriousFaults(page), []);
      assert.ok((await kit.sideways(page)) <= 0, 'it moves sideways');
      await visitor.leave();
    },
  })),
];
