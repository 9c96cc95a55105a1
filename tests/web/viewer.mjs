// The viewer as a page: a recording becomes a flame graph, here and in speedscope; a trace from disk too.
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import * as kit from './kit.mjs';

const {Visitor} = kit;

async function ask(visitor, method, path, options = {}) {
  const {address, url} = visitor.server;
  const cookies = await visitor.context.cookies(url);
  const response = await visitor.context.request.fetch(address + path, {
    method,
    ...options,
    headers: {Host: new URL(url).host, Cookie: cookies.map((one) => `${one.name}=${one.value}`).join('; '), Origin: url, Accept: 'application/json', ...options.headers},
  });
  assert.ok(response.ok(), `${method} ${path}: ${response.status()} ${await response.text()}`);
  return response;
}

// Records the sick one once for all tests here; its id.
async function recorded(world, visitor) {
  world.recording ??= (async () => {
    const made = await ask(visitor, 'POST', '/sessions', {data: {pid: world.sick.pid, durationSeconds: 2}});
    const {id} = await made.json();
    for (let i = 0; i < 200; ++i) {
      const known = await (await ask(visitor, 'GET', '/recordings')).json();
      if (known.some((one) => one.id === id && one.state === 'finished')) return id;
      await new Promise((done) => setTimeout(done, 100));
    }
    throw new Error('the recording did not end');
  })();
  return world.recording;
}

const kNames = join(kit.root, 'tests/data/flame/names.nettrace');

async function uploaded(visitor) {
  const made = await ask(visitor, 'POST', '/recordings?name=names.nettrace', {
    data: readFileSync(kNames),
    headers: {'Content-Type': 'application/octet-stream'},
  });
  return (await made.json()).id;
}

export const viewerTests = [
  {
    name: 'a recording opens as a flame graph that names the hot path',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const id = await recorded(world, visitor);
      const page = await visitor.open(`/flame?recording=${id}`);
      await page.waitForSelector('.flame-canvas');
      await page.getByLabel('Search functions').fill('PriceOrder');
      const matched = await page.locator('.flame-result').textContent();
      assert.ok(Number(/([\d.]+) %/.exec(matched)?.[1]) > 5, matched);
      assert.deepEqual(await kit.seriousFaults(page), []);
      if (world.screenshots) await page.screenshot({path: join(world.screenshots, 'flame.png')});
      await page.keyboard.press('Escape');
      await page.keyboard.press('?');
      assert.equal(await page.locator('dialog[open]').count(), 1, 'one list of keys');
      await visitor.leave();
    },
  },
  {
    name: 'the flame graph is text without scripts, and fits a phone with them',
    async run(world) {
      const plain = await Visitor.come(world.server, {javaScriptEnabled: false});
      const id = await recorded(world, plain);
      const text = await (await plain.open(`/flame?recording=${id}`)).locator('main').innerText();
      assert.match(text, /SELF\s+TOTAL\s+FUNCTION[^]*PriceOrder/);
      await plain.leave();
      const phone = await Visitor.come(world.server, {viewport: {width: 360, height: 740}});
      const page = await phone.open(`/flame?recording=${id}`);
      await page.waitForSelector('.flame-canvas');
      assert.ok((await kit.sideways(page)) <= 0, 'it moves sideways');
      await phone.leave();
    },
  },
  {
    name: 'speedscope opens the same recording under its own policy',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const id = await recorded(world, visitor);
      const page = await visitor.open(`/flame?recording=${id}`);
      await page.getByRole('link', {name: 'Open in speedscope'}).click();
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
      await page.getByRole('link', {name: 'Save as one HTML file'}).click();
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
      const page = await visitor.open(`/flame?recording=${id}`);
      await page.waitForSelector('.flame-canvas');
      await page.getByLabel('Search functions').fill('<img src=x');
      await page.getByLabel('Search functions').press('Enter');
      assert.match(await page.locator('.flame-name').textContent(), /<img src=x onerror=alert\(2\)>/);
      assert.equal(await page.locator('main img, main script').count(), 0);
      await visitor.leave();
    },
  },
  {
    name: 'a flame graph of nothing says what to do',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const none = await visitor.open('/flame?recording=nothing', {expected: [404]});
      assert.match(await none.locator('main').innerText(), /no recording nothing/);
      const which = await visitor.open('/flame');
      assert.match(await which.locator('main').innerText(), /Of which recording/);
      await visitor.leave();
    },
  },
];
