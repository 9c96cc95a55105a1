// Recordings: upload, list, reports, names, comparison, deletion, what still runs.
import assert from 'node:assert/strict';
import {mkdtempSync, statSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import * as kit from './kit.mjs';

const {seriousFaults, sideways, Visitor} = kit;

const ask = (page, path) => page.evaluate(async (where) => (await fetch(where, {headers: {Accept: 'application/json'}})).json(), path);
const count = (value) => value.toLocaleString('en-US');

// A recording of two seconds.
async function trace(visitor, pid) {
  return (await visitor.ask('GET', `/trace?pid=${pid}&durationSeconds=2`, {headers: {Accept: '*/*'}})).body();
}

// The same as a file on the visitor's disk.
function onDisk(name, bytes) {
  const path = join(mkdtempSync(join(kit.work, 'upload-')), name);
  writeFileSync(path, bytes);
  return path;
}

async function upload(page, name, bytes) {
  await page.setInputFiles('input[type="file"]', onDisk(name, bytes));
  await page.locator('[data-upload="kept"]', {hasText: name}).waitFor();
  return (await ask(page, '/recordings')).find((one) => one.file === name);
}

const rowOf = (page, name) => page.locator('[data-table="recordings"] tbody tr', {hasText: name});

export const recordingsTests = [
  {
    name: 'a trace is uploaded, listed, reported on, compared and deleted',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open('/recordings');
      const bytes = await trace(visitor, world.sick.pid);
      const older = await upload(page, 'before.nettrace', bytes);
      const newer = await upload(page, 'after.nettrace', bytes);
      for (const one of [newer, older]) {
        await rowOf(page, one.file).waitFor();
        assert.ok((await rowOf(page, one.file).innerText()).includes(count(one.events)), 'events are those of the API');
        await rowOf(page, one.file).locator('input').check();
      }
      await page.reload();
      const link = page.getByRole('link', {name: 'Compare with the older one', exact: true});
      assert.match(await link.getAttribute('href'), new RegExp(`/flame\\?recording=${newer.id}&compare=${older.id}`));
      await page.getByRole('button', {name: 'Size', exact: true}).click();
      await page.waitForURL(/sort-recordings=-size/);

      await rowOf(page, older.file).getByRole('link', {name: older.file, exact: true}).click();
      await page.locator('[data-report="overview"]').waitFor();
      const overview = await ask(page, `/recordings/${older.id}/report/overview`);
      assert.deepEqual(await page.locator('.reports [aria-label="Report"] button').allInnerTexts(), ['overview', ...overview.reports.map((one) => one.name)]);
      await page.locator('.reports [aria-label="Report"]').getByRole('button', {name: 'exceptions', exact: true}).click();
      const table = page.locator('[data-table="exceptions-byType"]');
      await table.waitFor();
      const report = await ask(page, `/recordings/${older.id}/report/exceptions`);
      assert.deepEqual(await table.locator('tbody tr td:first-child').allInnerTexts(), report.byType.map((one) => one.type));
      assert.deepEqual(await table.locator('tbody tr td:nth-child(2)').allInnerTexts(), report.byType.map((one) => count(one.count)));
      await page.reload();
      await table.waitFor();
      const [download] = await Promise.all([page.waitForEvent('download'), page.locator('.downloads').getByText('collapsed', {exact: true}).click()]);
      assert.ok(statSync(await download.path()).size > 100);

      await page.getByRole('button', {name: 'Delete', exact: true}).click();
      await page.getByRole('button', {name: 'Keep', exact: true}).click();
      assert.ok((await ask(page, '/recordings')).some((one) => one.id === older.id));
      await page.getByRole('button', {name: 'Delete', exact: true}).click();
      await page.getByRole('group', {name: /for good/}).getByRole('button', {name: 'Delete', exact: true}).click();
      await page.locator('[data-table="recordings"]').waitFor();
      assert.ok(!(await ask(page, '/recordings')).some((one) => one.id === older.id));
      await visitor.leave();
    },
  },
  {
    name: 'a recording gets a name, which is kept, found and taken away again',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open('/recordings');
      const {id} = await upload(page, 'named.nettrace', await trace(visitor, world.sick.pid));
      await page.goto(`${world.server.url}/recordings?recording=${id}`);
      const rename = async (name, heading) => {
        await page.getByLabel('Name', {exact: true}).fill(name);
        await page.getByRole('button', {name: 'Rename', exact: true}).click();
        await page.getByRole('heading', {level: 1, name: heading, exact: true}).waitFor();
      };
      await rename('release 12 <b>', 'release 12 <b>');
      assert.equal((await ask(page, `/recordings/${id}`)).name, 'release 12 <b>');
      await page.getByRole('link', {name: /^← All recordings$/}).click();
      await page.getByLabel('Filter recordings', {exact: true}).fill('release 12');
      await page.waitForURL(/filter=release/);
      await rowOf(page, 'release 12 <b>').waitFor();
      await page.goto(`${world.server.url}/recordings?recording=${id}`);
      await page.getByRole('heading', {level: 1, name: 'release 12 <b>', exact: true}).waitFor();
      await rename('', 'named.nettrace');
      await visitor.leave();
    },
  },
  {
    name: 'a file that is no trace, or too large for the disk limit, is refused with the reason',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open('/recordings', {expected: [400]});
      await page.setInputFiles('input[type="file"]', {name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('not a trace')});
      const refused = page.locator('[data-upload="failed"]');
      await refused.waitFor();
      assert.match(await refused.innerText(), /the body is not a trace/);
      await refused.getByRole('button', {name: 'Close', exact: true}).click();
      assert.equal(await refused.count(), 0);
      await visitor.leave();

      const small = await kit.serve('--allow', String(world.idle.pid), '--disk-limit', '1MB');
      const guest = await Visitor.come(small);
      const other = await guest.open('/recordings', {expected: [413, 507]});
      await other.setInputFiles('input[type="file"]', onDisk('large.nettrace', Buffer.alloc(8 << 20)));
      await other.locator('[data-upload="failed"]').waitFor();
      assert.match(await other.locator('[data-upload="failed"]').innerText(), /limit/);
      guest.faults = guest.faults.filter((one) => !/\/recordings\?name=large/.test(one)); // the connection may end early
      await guest.leave();
      await kit.end(small.child);
    },
  },
  {
    name: 'a running session appears among the recordings, can be stopped, and is kept',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open('/recordings');
      const {id} = await page.evaluate(async (pid) => (await fetch(`/sessions?pid=${pid}&durationSeconds=600`, {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{}'})).json(), world.idle.pid);
      await page.locator(`[data-session="${id}"]`).waitFor();
      await page.click(`[data-stop-session="${id}"]`);
      await page.locator(`[data-table="recordings"] a[href*="${id}"]`).first().waitFor();
      assert.equal(await page.locator(`[data-session="${id}"]`).count(), 0);
      await page.goto(`${world.server.url}/recordings?recording=nobody`);
      await page.getByText('There is no recording nobody').waitFor();
      await visitor.leave();
    },
  },
  ...['light', 'dark'].map((colorScheme) => ({
    name: `recordings are accessible and fit a phone, ${colorScheme}`,
    async run(world) {
      const visitor = await Visitor.come(world.server, {colorScheme, viewport: {width: 360, height: 740}});
      const page = await visitor.open('/recordings');
      const {id} = await upload(page, `phone-${colorScheme}.nettrace`, await trace(visitor, world.sick.pid));
      await rowOf(page, `phone-${colorScheme}.nettrace`).waitFor();
      assert.deepEqual(await seriousFaults(page), []);
      assert.equal(await sideways(page), 0);
      await page.goto(`${world.server.url}/recordings?recording=${id}&report=exceptions`);
      await page.locator('[data-report="exceptions"] table').first().waitFor();
      assert.deepEqual(await seriousFaults(page), []);
      assert.equal(await sideways(page), 0);
      await visitor.leave();
    },
  })),
];
