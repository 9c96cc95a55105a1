// The frame: every page of the rail, and what all of them have in common.
import assert from 'node:assert/strict';
import * as kit from './kit.mjs';
import {kEvilName} from './world.mjs';

const {Visitor} = kit;

// A page is there when its heading is; what it shows is there when nothing says that it waits.
export async function settled(page) {
  await page.locator('main h1').first().waitFor();
  await page.waitForFunction(() => !/Waiting for the first|Loading|Looking at all threads|Reading the |Checking the process/.test(document.querySelector('main').innerText), undefined, {timeout: 30_000});
}

// The addresses of the rail, as the pages themselves have them, for a process.
async function railOf(visitor, pid) {
  const page = await visitor.open(`/overview?pid=${pid}`);
  await page.locator('.rail a').first().waitFor({state: 'attached'});
  const links = await page.$$eval('.rail a', (all) => all.map((link) => ({path: link.getAttribute('href'), title: link.textContent})));
  await page.close();
  assert.ok(links.length >= 12, 'the rail has pages');
  return links;
}

async function throughAllPages(world, options, look) {
  const visitor = await Visitor.come(world.server, options);
  const wrong = [];
  const page = await visitor.open('/api');
  for (const {path, title} of await railOf(visitor, world.sick.pid)) {
    await page.goto(world.server.url + path);
    await settled(page);
    for (const fault of await look(page, path, title)) wrong.push(`${title} (${path}): ${fault}`);
  }
  await visitor.leave();
  assert.deepEqual(wrong, []);
}

const overviewOf = (one) => `/overview?pid=${one.pid}`;

export const shellTests = [
  {
    name: 'every page of the rail opens by its address, has one heading and keeps the process',
    run: (world) =>
      throughAllPages(world, {}, async (page, path, title) => {
        const faults = [];
        if ((await page.locator('h1').count()) !== 1) faults.push('it does not have exactly one heading');
        const about = path === '/' ? '' : ` · samples sick (${world.sick.pid})`;
        await page.waitForFunction((text) => document.title === text, `${title}${about} · clrscope`).catch(async () => faults.push(`its title is ${await page.title()}`));
        const current = await page.locator('.rail a[aria-current]').textContent();
        if (current !== title) faults.push(`the rail marks ${current}`);
        if (path === '/') return faults;
        const other = await page.locator('.rail a').nth(1).getAttribute('href');
        if (!other.includes(`pid=${world.sick.pid}`)) faults.push('the rail forgets the process');
        if ((await page.locator('#picker').inputValue()) !== String(world.sick.pid)) faults.push('the picker forgets the process');
        return faults;
      }),
  },
  {
    name: 'links between pages load no document; back and forward restore page and process',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(overviewOf(world.sick));
      await settled(page);
      await page.evaluate(() => (globalThis.isSameDocument = true));
      await page.click('.rail a:text-is("Stacks")');
      await page.waitForURL(/\/stacks\?/);
      await page.selectOption('#picker', String(world.idle.pid));
      await page.waitForURL((url) => url.searchParams.get('pid') === String(world.idle.pid) && url.pathname.endsWith('/stacks'));
      await page.goBack();
      await page.waitForURL((url) => url.searchParams.get('pid') === String(world.sick.pid));
      await page.waitForFunction((pid) => document.querySelector('#picker').value === pid, String(world.sick.pid));
      await page.locator('main h1', {hasText: String(world.sick.pid)}).waitFor();
      await page.goBack();
      await page.waitForFunction(() => document.querySelector('.rail a[aria-current]').textContent === 'Overview');
      await page.goForward();
      await page.waitForFunction(() => document.querySelector('.rail a[aria-current]').textContent === 'Stacks');
      assert.equal(await page.evaluate(() => globalThis.isSameDocument), true);
      await visitor.leave();
    },
  },
  ...['light', 'dark'].map((colorScheme) => ({
    name: `axe-core finds nothing serious, ${colorScheme}`,
    run: (world) => throughAllPages(world, {colorScheme}, (page) => kit.seriousFaults(page)),
  })),
  {
    name: 'axe-core would find a fault',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open('/api');
      await settled(page);
      await page.evaluate(() => document.querySelector('main').append(document.createElement('select')));
      assert.match((await kit.seriousFaults(page)).join(), /select-name/);
      await visitor.leave();
    },
  },
  {
    name: 'on a phone nothing moves sideways, every link and button is in reach, and the menu has every page',
    async run(world) {
      const viewport = {width: 360, height: 740};
      await throughAllPages(world, {viewport}, async (page) => {
        const over = await kit.sideways(page);
        return [...(over > 0 ? [`it can be moved sideways by ${over} px`] : []), ...(await kit.outOfReach(page)).map((one) => `${one} is out of reach`)];
      });
      const visitor = await Visitor.come(world.server, {viewport});
      const page = await visitor.open(overviewOf(world.sick));
      await settled(page);
      assert.equal(await page.locator('.rail a').first().isVisible(), false);
      await page.click('.rail .menu');
      for (const link of await page.locator('.rail a').all()) assert.ok(await link.isVisible(), await link.innerText());
      await page.click('.rail a:text-is("Stacks")');
      await page.waitForURL(/\/stacks/);
      assert.equal(await page.locator('.rail a').first().isVisible(), false, 'the menu closes');
      await visitor.leave();
    },
  },
  {
    name: 'without scripts a page says so and links to the same as text',
    needsShell: true,
    async run(world) {
      const visitor = await Visitor.come(world.server, {javaScriptEnabled: false});
      const page = await visitor.open(`/stacks?pid=${world.sick.pid}`, {expected: [404]}); // the text has no icon
      assert.match(await page.locator('main').innerText(), /JavaScript/);
      await page.click('main a');
      await page.waitForURL(/accept=text%2Fplain|accept=text\/plain/);
      assert.match(await page.locator('body').innerText(), /Deadlock: 2 threads are waiting for each other/);
      await visitor.leave();
    },
  },
  {
    name: 'an unknown address is a page for people and a problem for programs',
    needsShell: true,
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open('/nowhere', {expected: [404]});
      await page.locator('main h1', {hasText: 'Not found'}).waitFor();
      const answer = await page.evaluate(async () => {
        const got = await fetch('/nowhere', {headers: {Accept: 'application/json'}});
        return {status: got.status, type: got.headers.get('Content-Type')};
      });
      assert.deepEqual(answer, {status: 404, type: 'application/problem+json'});
      await visitor.leave();
    },
  },
  {
    name: 'the overview paints; how soon is only printed',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const times = [];
      for (let i = 0; i < 5; ++i) {
        const page = await visitor.open(overviewOf(world.sick));
        times.push(await kit.firstPaintMs(page));
        await page.close();
      }
      await visitor.leave();
      times.sort((a, b) => a - b);
      world.measured.push(`first paint of the overview: ${times[2].toFixed(0)} ms (median of five; budget 300 ms: ${times[2] <= 300 ? 'met' : 'not met'})`);
      assert.ok(times.every(Number.isFinite), `no first paint: ${times}`);
    },
  },
  {
    name: 'without a process a page asks which',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open('/stacks');
      await page.getByText('Choose a process:').waitFor();
      await page.click(`.choices a[href*="pid=${world.sick.pid}"]`);
      await page.waitForURL(/pid=/);
      await page.locator('main', {hasText: 'Deadlock: 2 threads'}).waitFor();
      await visitor.leave();
    },
  },
  {
    name: 'markup in names is text',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      for (const path of ['/', '/overview', '/stacks', '/views/exceptions']) {
        const page = await visitor.open(`${path}?pid=${world.evil.pid}`);
        await settled(page);
        await page.waitForFunction((name) => document.querySelector('#picker').innerText.includes(name), kEvilName);
        assert.equal(await page.locator('main img').count(), 0, `${path} makes an element of it`);
        assert.notEqual(await page.title(), '1');
        await page.close();
      }
      await visitor.leave();
    },
  },
  {
    name: 'keys open pages, and the help lists them',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(overviewOf(world.sick));
      await settled(page);
      await page.keyboard.press('?');
      assert.match(await page.locator('dialog#keys').innerText(), /Stacks/);
      await page.keyboard.press('Escape');
      await page.keyboard.press('g');
      await page.keyboard.press('s');
      await page.waitForURL(/\/stacks/);
      await visitor.leave();
    },
  },
  {
    name: 'the theme is chosen and kept',
    async run(world) {
      const visitor = await Visitor.come(world.server, {colorScheme: 'light'});
      const page = await visitor.open(overviewOf(world.sick));
      await settled(page);
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
