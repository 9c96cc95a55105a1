// The viewer as a page: a recording becomes a flame graph, here and in speedscope; a trace from disk too.
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import * as kit from './kit.mjs';

const {Visitor} = kit;

// Records the sick one once for all tests here; its id.
async function recorded(world, visitor) {
  world.recording ??= (async () => {
    const made = await visitor.ask('POST', '/sessions', {data: {pid: world.sick.pid, durationSeconds: 2}});
    const {id} = await made.json();
    for (let i = 0; i < 200; ++i) {
      const known = await (await visitor.ask('GET', '/recordings')).json();
      if (known.some((one) => one.id === id && one.state === 'finished')) return id;
      await new Promise((done) => setTimeout(done, 100));
    }
    throw new Error('the recording did not end');
  })();
  return world.recording;
}

const kNames = join(kit.root, 'tests/data/flame/names.nettrace');

async function uploaded(visitor) {
  const made = await visitor.ask('POST', '/recordings?name=names.nettrace', {
    data: readFileSync(kNames),
    headers: {'Content-Type': 'application/octet-stream'},
  });
  return (await made.json()).id;
}

// The share of the time on processors that a function has itself, of the same JSON that the page has.
function selfShare(json, part) {
  const named = new Set(json.names.flatMap((name, i) => (name.includes(part) ? [i] : [])));
  let [own, all] = [0, 0];
  json.rowNode.forEach((node, i) => {
    all += json.rowOnUs[i];
    if (named.has(json.nodeName[node])) own += json.rowOnUs[i];
  });
  return own / all;
}

const flameOf = async (visitor, id) => (await visitor.ask('GET', `/flame?recording=${id}`)).json();
const percent = (share) => `${(100 * share).toFixed(share >= 0.9995 ? 0 : share >= 0.1 ? 1 : 2)} %`;
const row = (page, name) => page.locator('.flame-table tbody tr', {has: page.locator('.flame-function', {hasText: name})}).first();
const zoomOf = (page) => page.locator('.flame').getAttribute('data-zoom');
const zoomIs = (page, zoom) => page.waitForFunction((wanted) => document.querySelector('.flame')?.dataset.zoom === wanted, zoom);

export const viewerTests = [
  {
    name: 'a recording opens as a flame graph that names the hot path, with the numbers of its data',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const id = await recorded(world, visitor);
      const page = await visitor.open(`/flame?recording=${id}&panel=functions`);
      await page.waitForSelector('.flame-canvas');
      const share = selfShare(await flameOf(visitor, id), 'PriceOrder');
      assert.ok(share > 0.05, `PriceOrder has ${share}`);
      assert.equal(await row(page, 'PriceOrder').locator('td').nth(1).textContent(), percent(share));
      assert.deepEqual(await kit.seriousFaults(page), []);
      await page.emulateMedia({colorScheme: 'dark'});
      assert.deepEqual(await kit.seriousFaults(page), []);
      if (world.screenshots) await page.screenshot({path: join(world.screenshots, 'flame.png')});
      await page.locator('.flame-canvas').focus();
      await page.keyboard.press('?');
      assert.equal(await page.locator('dialog[open]').count(), 1, 'one list of keys');
      await visitor.leave();
    },
  },
  {
    name: 'zoom, search and filters are in the address: reload keeps them, Back goes out of a zoom',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const id = await recorded(world, visitor);
      const page = await visitor.open(`/flame?recording=${id}`);
      await page.waitForSelector('.flame-canvas');
      await page.getByLabel('Search functions', {exact: true}).fill('PriceOrder');
      await page.getByLabel('Search functions', {exact: true}).press('Enter');
      await page.locator('.flame-canvas').focus();
      await page.keyboard.press('Enter');
      await page.waitForFunction(() => document.querySelector('.flame').dataset.zoom !== '0');
      await page.getByRole('button', {name: 'Hide framework', exact: true}).click();
      await page.waitForURL(/hide=framework/);
      const [zoomed, matched] = [await zoomOf(page), await page.locator('.flame-result').textContent()];
      assert.notEqual(zoomed, '0');
      await page.reload();
      await page.waitForSelector('.flame-canvas');
      assert.equal(await zoomOf(page), zoomed);
      assert.equal(await page.locator('.flame-result').textContent(), matched);
      assert.equal(await page.getByRole('button', {name: 'Hide framework', exact: true}).getAttribute('aria-pressed'), 'true');
      const elsewhere = await visitor.open(page.url().slice(world.server.url.length));
      await elsewhere.waitForSelector('.flame-canvas');
      assert.equal(await zoomOf(elsewhere), zoomed, 'a link that was passed on');
      await page.goBack();
      await zoomIs(page, '0');
      await visitor.leave();
    },
  },
  {
    name: 'two recordings are compared, in the picture and in numbers',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const [id, other] = [await recorded(world, visitor), await uploaded(visitor)];
      const page = await visitor.open(`/flame?recording=${id}&panel=functions&sort=-change`);
      await page.waitForSelector('.flame-canvas');
      await page.getByLabel(/^Compare with/).selectOption(other);
      await page.waitForSelector('.flame.compared');
      const now = selfShare(await flameOf(visitor, id), 'PriceOrder');
      const points = (now * 100).toFixed(now >= 0.1 ? 0 : 1);
      assert.equal(await row(page, 'PriceOrder').locator('td').nth(2).textContent(), `+${points} pp`);
      assert.match(await page.locator('.flame-table').innerText(), /App\.Main[^\n]*not in this recording/);
      assert.deepEqual(await kit.seriousFaults(page), []);
      await page.reload();
      await page.waitForSelector('.flame.compared');
      await page.getByRole('button', {name: 'Swap', exact: true}).click();
      await page.waitForFunction((wanted) => new URL(location.href).searchParams.get('recording') === wanted, other);
      await page.waitForSelector('.flame.compared');
      await page.goBack();
      await page.goBack();
      await page.waitForFunction(() => document.querySelector('.flame') && !document.querySelector('.flame.compared'));
      await visitor.leave();
    },
  },
  {
    name: 'a recording without waits offers to record some',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const id = await recorded(world, visitor);
      const page = await visitor.open(`/flame?recording=${id}&weight=off`);
      await page.getByRole('link', {name: 'Record waits', exact: true}).click();
      await page.waitForURL(/\/record\?/);
      const {searchParams} = new URL(page.url());
      assert.equal(searchParams.get('pid'), String(world.sick.pid));
      assert.equal(searchParams.get('profile'), 'thread-time');
      await visitor.leave();
    },
  },
  {
    name: 'the flame graph fits a phone, and its menu works there',
    async run(world) {
      const phone = await Visitor.come(world.server, {viewport: {width: 360, height: 740}, hasTouch: true});
      const id = await recorded(world, phone);
      const page = await phone.open(`/flame?recording=${id}`);
      await page.waitForSelector('.flame-canvas');
      assert.ok((await kit.sideways(page)) <= 0, 'it moves sideways');
      await page.getByLabel('Search functions', {exact: true}).fill('PriceOrder');
      await page.getByLabel('Search functions', {exact: true}).press('Enter');
      await page.getByRole('button', {name: 'More …', exact: true}).click();
      await page.getByRole('menuitem', {name: 'Callers and callees (sandwich)', exact: true}).click();
      await page.waitForSelector('.flame-sandwich .flame-canvas');
      assert.match(await page.locator('.flame-sandwich p').innerText(), /PriceOrder/);
      assert.ok((await kit.sideways(page)) <= 0, 'the sandwich moves sideways');
      assert.deepEqual(await kit.seriousFaults(page), []);
      await phone.leave();
    },
  },
  {
    name: 'speedscope opens the same recording under its own policy',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const id = await recorded(world, visitor);
      const page = await visitor.open(`/flame?recording=${id}`);
      await page.getByRole('link', {name: 'Open in speedscope', exact: true}).click();
      await page.getByText('Left Heavy').waitFor();
      await visitor.leave();
    },
  },
  {
    name: 'the viewer saves itself as one file',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const id = await recorded(world, visitor);
      const page = await visitor.open(`/flame?recording=${id}`);
      const download = page.waitForEvent('download');
      await page.getByRole('link', {name: 'Save as one HTML file', exact: true}).click();
      const file = await download;
      assert.match(file.suggestedFilename(), /\.html$/);
      assert.match(readFileSync(await file.path(), 'utf8'), /PriceOrder/);
      await visitor.leave();
    },
  },
  {
    name: 'names in a trace from elsewhere stay names',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const id = await uploaded(visitor);
      const page = await visitor.open(`/flame?recording=${id}&panel=functions`);
      await page.waitForSelector('.flame-canvas');
      await page.getByLabel('Search functions', {exact: true}).fill('<img src=x');
      await page.getByLabel('Search functions', {exact: true}).press('Enter');
      assert.match(await page.locator('.flame-name').textContent(), /<img src=x onerror=alert\(2\)>/);
      assert.equal(await page.locator('main img, main script').count(), 0);
      await page.getByLabel('Search functions', {exact: true}).fill('xxxx');
      await page.getByLabel('Search functions', {exact: true}).press('Enter');
      assert.equal((await page.locator('.flame-name').textContent()).length, 'Lang.()'.length + 3000);
      assert.ok((await kit.sideways(page)) <= 0, 'a long name moves it sideways');
      await visitor.leave();
    },
  },
  {
    name: 'a flame graph of nothing says what to do',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const none = await visitor.open('/flame?recording=nothing', {expected: [404]});
      await none.locator('main .trouble').waitFor();
      assert.match(await none.locator('main').innerText(), /recording nothing does not exist/);
      const which = await visitor.open('/flame');
      assert.match(await which.locator('main').innerText(), /Of which recording/);
      await visitor.leave();
    },
  },
];
