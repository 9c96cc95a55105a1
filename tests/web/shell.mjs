// Every page, and what all of them have in common.
import assert from 'node:assert/strict';
import * as kit from './kit.mjs';
import {kEvilName} from './world.mjs';

const {Visitor} = kit;

// The addresses of the rail, as the pages themselves have them, for a process.
async function railOf(visitor, pid) {
  const page = await visitor.open(`/?pid=${pid}`);
  const links = await page.$$eval('.rail a', (all) => all.map((link) => ({path: link.getAttribute('href'), title: link.textContent})));
  await page.close();
  assert.ok(links.length >= 4, 'the rail has pages');
  return links;
}

async function throughAllPages(world, options, look) {
  const visitor = await Visitor.come(world.server, options);
  const wrong = [];
  const page = await visitor.open('/api');
  for (const {path, title} of await railOf(visitor, world.sick.pid)) {
    await page.goto(world.server.url + path);
    for (const fault of await look(page, path, title)) wrong.push(`${title} (${path}): ${fault}`);
  }
  await visitor.leave();
  assert.deepEqual(wrong, []);
}

export const shellTests = [
  {
    name: 'every page of the rail opens, has one heading and keeps the process',
    run: (world) =>
      throughAllPages(world, {}, async (page, path, title) => {
        const faults = [];
        if ((await page.locator('h1').count()) !== 1) faults.push('it has not one heading');
        if (!(await page.title()).endsWith('clrscope')) faults.push('its title is wrong');
        const current = await page.locator('.rail a[aria-current]').textContent();
        if (current !== title) faults.push(`the rail marks ${current}`);
        const other = await page.locator('.rail a').first().getAttribute('href');
        if (!other.includes(`pid=${world.sick.pid}`)) faults.push('the rail forgets the process');
        if ((await page.locator('#picker').inputValue()) !== String(world.sick.pid)) faults.push('the picker forgets the process');
        return faults;
      }),
  },
  ...['light', 'dark'].map((colorScheme) => ({
    name: `axe-core finds nothing serious, ${colorScheme}`,
    run: (world) =>
      throughAllPages(world, {colorScheme}, async (page) => {
        await page.waitForTimeout(300); // what the views draw counts too
        return kit.seriousFaults(page);
      }),
  })),
  {
    name: 'axe-core would find a fault',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open('/api');
      await page.evaluate(() => document.querySelector('main').append(document.createElement('select')));
      assert.match((await kit.seriousFaults(page)).join(), /select-name/);
      await visitor.leave();
    },
  },
  {
    name: 'on a phone nothing moves sideways',
    run: (world) =>
      throughAllPages(world, {viewport: {width: 360, height: 740}}, async (page) => {
        await page.waitForTimeout(300);
        const over = await kit.sideways(page);
        return over > 0 ? [`it can be moved sideways by ${over} px`] : [];
      }),
  },
  {
    name: 'every page says something without scripts',
    run: (world) =>
      throughAllPages(world, {javaScriptEnabled: false}, async (page) => {
        const words = (await page.locator('main').innerText()).trim();
        return words.length > 60 ? [] : [`only “${words}” is there`];
      }),
  },
  {
    name: 'the overview paints; how soon is only printed',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const times = [];
      for (let i = 0; i < 5; ++i) {
        const page = await visitor.open(`/?pid=${world.sick.pid}`);
        times.push(await kit.firstPaintMs(page));
        await page.close();
      }
      await visitor.leave();
      times.sort((a, b) => a - b);
      world.measured.push(`first paint of the overview: ${times[2].toFixed(0)} ms (middle of five; budget 300 ms: ${times[2] <= 300 ? 'met' : 'not met'})`);
      assert.ok(times.every(Number.isFinite), `no first paint: ${times}`);
    },
  },
  {
    name: 'the picker leads to another process',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/stacks?pid=${world.sick.pid}`);
      await Promise.all([page.waitForURL((url) => url.searchParams.get('pid') === String(world.idle.pid)), page.selectOption('#picker', String(world.idle.pid))]);
      assert.match(await page.locator('h1').innerText(), new RegExp(String(world.idle.pid)));
      await visitor.leave();
    },
  },
  {
    name: 'without a process a page asks which',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open('/stacks');
      assert.match(await page.locator('main').innerText(), /Which process\?/);
      await Promise.all([page.waitForURL(/pid=/), page.click(`.choices a[href*="pid=${world.sick.pid}"]`)]);
      assert.match(await page.locator('main').innerText(), /Deadlock: 2 threads/);
      await visitor.leave();
    },
  },
  {
    name: 'a process that is gone is said to be gone',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open('/stacks?pid=2147483646', {expected: [400]});
      assert.match(await page.locator('main').innerText(), /gone/);
      await visitor.leave();
    },
  },
  {
    name: 'markup in names is text',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      for (const path of ['/processes', '/stacks', '/']) {
        const page = await visitor.open(`${path}?pid=${world.evil.pid}`);
        assert.ok((await page.content()).includes('&lt;img src=x'), `${path} does not show the name`);
        assert.equal(await page.locator('main img').count(), 0, `${path} makes an element of it`);
        assert.ok((await page.locator('#picker').innerText()).includes(kEvilName));
        assert.notEqual(await page.title(), '1');
        await page.close();
      }
      await visitor.leave();
    },
  },
  {
    name: 'keys go to pages, and tell themselves',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/?pid=${world.sick.pid}`);
      await page.keyboard.press('?');
      assert.match(await page.locator('dialog#keys').innerText(), /Stacks/);
      await page.keyboard.press('Escape');
      await page.keyboard.press('g');
      await Promise.all([page.waitForURL(/\/stacks/), page.keyboard.press('s')]);
      await visitor.leave();
    },
  },
  {
    name: 'the theme is chosen and kept',
    async run(world) {
      const visitor = await Visitor.come(world.server, {colorScheme: 'light'});
      const page = await visitor.open(`/?pid=${world.sick.pid}`);
      const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const light = await paper();
      await page.click('[data-theme-switch]'); // light
      await page.click('[data-theme-switch]'); // dark
      assert.notEqual(await paper(), light);
      await page.reload();
      await page.waitForFunction(() => document.documentElement.dataset.theme === 'dark');
      await visitor.leave();
    },
  },
];
