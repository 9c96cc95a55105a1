// Stacks: deadlocks first, groups of interest, jumps, filter, ages, old data, text.
import assert from 'node:assert/strict';
import * as kit from './kit.mjs';

const {seriousFaults, sideways, Visitor} = kit;

// What the API says as text, asked by the page itself.
const askText = (page, path) => page.evaluate(async (where) => (await fetch(where, {headers: {Accept: 'text/plain'}})).text(), path);

const number = (text) => Number(text.replace(/,/g, ''));

export const stacksTests = [
  {
    name: 'stacks begin with the deadlock, whose links lead to its threads, also in folded groups',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/stacks?pid=${world.sick.pid}`);
      const {cycle, lockType} = world.sick.truth.deadlock;
      const card = page.locator('.deadlock');
      await card.waitFor();
      const text = await card.innerText();
      assert.match(text, /Deadlock: 2 threads are waiting for each other/);
      for (const osId of cycle) assert.ok(text.includes(`thread ${osId} “transfer-`), text);
      assert.ok(text.includes(lockType));
      await page.getByRole('button', {name: 'Fold all', exact: true}).click();
      await page.locator(`.group:not(.open) #t${cycle[1]}`).waitFor();
      await card.locator(`a[href="#t${cycle[1]}"]`).first().click();
      await page.locator(`.group.target.open #t${cycle[1]}`).waitFor();
      assert.ok(page.url().endsWith(`#t${cycle[1]}`));
      const other = await visitor.open(`/stacks?pid=${world.sick.pid}&all=closed#t${cycle[0]}`);
      await other.locator(`.group.target.open #t${cycle[0]}`).waitFor();
      await visitor.leave();
    },
  },
  {
    name: 'threads in the same place are one group, and the counts add up to those of the API',
    async run() {
      const patient = await kit.patient('long-holder', '--threads', '19');
      const server = await kit.serve('--allow', String(patient.pid));
      const visitor = await Visitor.come(server);
      const page = await visitor.open(`/stacks?pid=${patient.pid}`);
      const {holder, lockType} = patient.truth;
      const group = page.locator('.group', {hasText: '19 ×'});
      await group.waitFor();
      assert.match(await group.locator('.head').innerText(), new RegExp(`19 × waiting for lock 0x[0-9a-f]+ \\(${lockType}\\) held by thread ${holder.osId} “${holder.name}”`));
      const [answer] = await Promise.all([page.waitForResponse((one) => one.url().includes('/stacks?')), page.click('[data-refresh]')]);
      const {threads} = await answer.json(); // of the same look: the runtime's own threads come and go
      await page.locator('.count', {hasText: new RegExp(`^${threads.length} threads`)}).waitFor();
      const words = await page.locator('.count').innerText();
      const [all, ...parts] = words.match(/[\d,]+(?= (?:threads?:|of the|pool))/g).map(number);
      assert.equal(all, threads.length);
      assert.equal(parts.reduce((sum, one) => sum + one, 0), all, words);
      const inGroups = await page.$$eval('.groups > .rank > .group', (groups) => groups.reduce((sum, one) => sum + Number(one.dataset.threads), 0));
      const idle = number((await page.locator('.idle > summary').innerText()).match(/^[\d,]+/)[0]);
      assert.equal(inGroups + idle, all);
      const ranks = await page.$$eval('.groups > .rank > .group', (groups) => groups.map((one) => one.querySelector('.head').textContent));
      assert.ok(ranks[0].includes(holder.name), `who holds the lock comes first: ${ranks[0]}`);
      await page.getByRole('button', {name: 'and 16 more threads', exact: true}).click();
      assert.equal(await group.locator('.members > li[id]').count(), 19);
      await group.locator('a[href^="#l0x"]').first().click();
      await page.locator('.locks[open] tr.target').waitFor();
      await visitor.leave();
      await kit.end(server.child);
      await kit.end(patient.child);
    },
  },
  {
    name: 'view, filter and folds of the stacks are in the address and survive reload and refresh',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/stacks?pid=${world.sick.pid}`);
      await page.locator('.group').first().waitFor();
      await page.keyboard.press('/');
      await page.keyboard.type('transfer-');
      const match = page.getByText(/2 of \d+ threads match/);
      await match.waitFor();
      await page.locator('.groups mark', {hasText: /^transfer-$/}).first().waitFor(); // when all that was typed has arrived
      await page.getByRole('button', {name: 'By thread', exact: true}).click();
      await page.waitForURL(/view=threads/);
      assert.match(page.url(), /filter=transfer-/);
      await page.locator('.group .fold').first().click();
      await page.locator('.group:not(.open)').waitFor();
      await page.reload();
      await match.waitFor();
      assert.equal(await page.locator('.group').count(), 2);
      assert.equal(await page.locator('.group:not(.open)').count(), 1);
      const [answer] = await Promise.all([page.waitForResponse((one) => one.url().includes('/stacks?')), page.click('[data-refresh]')]);
      await answer.finished();
      assert.equal(await page.locator('.group:not(.open)').count(), 1, 'what was folded stays folded');
      await page.goBack();
      await page.waitForFunction(() => !location.search.includes('view=threads'));
      await page.locator('button[aria-pressed="true"]', {hasText: 'Merged'}).waitFor();
      await visitor.leave();
    },
  },
  {
    name: 'native frames are shown when they are wanted',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/stacks?pid=${world.sick.pid}`);
      await page.getByText(/\[\d+ native frames\]/).first().waitFor();
      await page.getByLabel('native frames', {exact: true}).check();
      await page.getByText(/^libcoreclr\.so!/).first().waitFor();
      assert.match(page.url(), /native=true/);
      assert.equal(await page.getByText(/\[\d+ native frames\]/).count(), 0);
      await visitor.leave();
    },
  },
  {
    name: 'threads that do not move say so, and stacks of a process that ended stay, marked old',
    async run() {
      const patient = await kit.patient('deadlock-monitor');
      const server = await kit.serve('--allow', String(patient.pid));
      const visitor = await Visitor.come(server);
      const page = await visitor.open(`/stacks?pid=${patient.pid}&every=2`, {expected: [400, 404]});
      const [first] = patient.truth.cycle;
      await page.locator(`#t${first} .unchanged`, {hasText: /unchanged for \d+ s/}).waitFor();
      await kit.end(patient.child);
      await page.locator('.groups[data-old]').waitFor();
      assert.ok(await page.locator(`#t${first}`).isVisible(), 'the stacks are still there');
      await page.getByText(/Showing data from \d\d:\d\d:\d\d/).waitFor();
      await visitor.leave();
      await kit.end(server.child);
    },
  },
  {
    name: 'the copied text of the stacks is what is shown, in the words of the terminal, without another snapshot',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      await visitor.context.grantPermissions(['clipboard-read', 'clipboard-write']);
      const page = await visitor.open(`/stacks?pid=${world.idle.pid}`);
      await page.locator('.group').first().waitFor();
      const asked = [];
      page.on('request', (request) => request.url().includes('/stacks?') && asked.push(request.url()));
      const copy = async () => {
        await page.getByRole('button', {name: 'Copy as text', exact: true}).click();
        await page.getByRole('button', {name: 'Copied', exact: true}).waitFor();
        return page.evaluate(() => navigator.clipboard.readText());
      };
      const copied = await copy();
      assert.deepEqual(asked, []);
      const printed = await askText(page, `/stacks?pid=${world.idle.pid}&lines=true&merged=true`);
      const frames = (text) => text.split('\n').map((line) => line.trim()).filter((line) => line.includes('samples!')); // the runtime's own threads come and go
      assert.ok(frames(copied).length > 1, copied);
      assert.deepEqual(frames(copied), frames(printed));
      assert.match(await page.getByRole('link', {name: 'as text', exact: true}).getAttribute('href'), /merged=true&accept=text/);
      await page.getByLabel('Filter threads', {exact: true}).fill('nothing has this name');
      await page.getByText(/^0 of \d+ threads match/).waitFor();
      await page.getByRole('button', {name: 'Copy as text', exact: true}).waitFor();
      assert.deepEqual(frames(await copy()), []);
      await visitor.leave();
    },
  },
  {
    name: 'stacks of 200 threads: what is far below is not laid out until it comes near',
    async run() {
      const patient = await kit.patient('threads', '200', '--depth', '50');
      const server = await kit.serve('--allow', String(patient.pid));
      const visitor = await Visitor.come(server);
      const page = await visitor.open(`/stacks?pid=${patient.pid}&view=threads`);
      await page.locator('.group').first().waitFor();
      const lines = await page.locator('.stack li').count();
      assert.ok(lines > 10_000, `${lines} lines`);
      const last = page.locator('.rank > .group .stack').last();
      const isLaidOut = () => last.evaluate((stack) => stack.checkVisibility({contentVisibilityAuto: true}));
      assert.equal(await isLaidOut(), false);
      await last.evaluate((stack) => stack.scrollIntoView());
      await page.waitForFunction(() => [...document.querySelectorAll('.rank > .group .stack')].at(-1).checkVisibility({contentVisibilityAuto: true}));
      const name = patient.truth.threads[150];
      await page.fill('main input[type="search"]', name.name);
      await page.getByText(/^1 of \d+ threads match/).waitFor();
      assert.ok(await page.locator(`#t${name.osId}`).isVisible());
      await page.fill('main input[type="search"]', 'BlockOnMonitor');
      await page.getByText(/^50 of \d+ threads match/).waitFor();
      await visitor.leave();
      await kit.end(server.child);
      await kit.end(patient.child);
    },
  },
  {
    name: 'the async view shows what async methods wait for, in the groups and numbers of the answer',
    async run() {
      const patient = await kit.patient('async-chains', '40');
      const server = await kit.serve('--allow', String(patient.pid));
      const visitor = await Visitor.come(server);
      const page = await visitor.open(`/stacks?pid=${patient.pid}`);
      await page.getByRole('button', {name: 'Async', exact: true}).click();
      await page.waitForURL(/view=async/);
      await page.locator('[data-async]').waitFor();
      const [answer] = await Promise.all([page.waitForResponse((one) => one.url().includes('async=true')), page.click('[data-refresh]')]);
      const data = await answer.json();
      await page.getByText(`${data.pending} async methods have not finished, in ${data.stacks} stacks and ${data.groups.length} groups.`, {exact: true}).waitFor();
      const lines = await page.locator('[data-async] .fold > summary').allInnerTexts();
      assert.equal(lines.length, data.groups.length);
      data.groups.forEach((group, i) => assert.ok(lines[i].startsWith(`${group.count} × ${group.wait.text}`), lines[i]));
      const opened = page.locator('[data-async] .fold[open]');
      await page.locator('[data-async] .fold > summary').first().click();
      await opened.locator('[data-async-frames] li').first().waitFor();
      const frames = await opened.locator('[data-async-frames] li').allInnerTexts();
      assert.deepEqual(
        frames.map((line) => line.replace(/ at its await number \d+$/, '')),
        data.groups[0].frames.map((frame) => frame.method),
      );
      // What was opened is the same group after a refresh, and when a filter leaves others before it out.
      const openStacks = () => opened.locator('[data-async-frames]').allInnerTexts();
      await page.locator('[data-async] .fold > summary').last().click();
      await opened.nth(1).locator('[data-async-frames]').waitFor();
      const before = await openStacks();
      await Promise.all([page.waitForResponse((one) => one.url().includes('async=true')), page.click('[data-refresh]')]);
      await page.locator('[data-refresh][aria-busy="false"]').waitFor();
      assert.deepEqual(await openStacks(), before);
      await page.getByLabel('Filter async stacks', {exact: true}).fill(data.groups.at(-1).frames[0].method);
      await page.getByText(/ groups? match(es)?\.$/).waitFor();
      assert.ok((await openStacks()).includes(before.at(-1)), 'another group is open');
      await page.getByLabel('Filter async stacks', {exact: true}).fill('SemaphoreSlim');
      const matching = data.groups.filter((group) => JSON.stringify(group).includes('SemaphoreSlim')).length;
      assert.ok(matching > 0 && matching < data.groups.length);
      await page.getByText(new RegExp(` ${matching} ${matching === 1 ? 'group matches' : 'groups match'}\\.$`)).waitFor();
      assert.equal(await page.locator('[data-async] .fold').count(), matching);
      assert.deepEqual(await seriousFaults(page), []);
      await page.setViewportSize({width: 360, height: 740});
      assert.ok((await sideways(page)) <= 0, 'it fits a phone');
      await visitor.leave();
      await kit.end(server.child);
      await kit.end(patient.child);
    },
  },
  ...['light', 'dark'].map((colorScheme) => ({
    name: `stacks are accessible and fit a phone, ${colorScheme}`,
    async run(world) {
      const visitor = await Visitor.come(world.server, {colorScheme, viewport: {width: 360, height: 740}});
      const page = await visitor.open(`/stacks?pid=${world.sick.pid}&open=locks&filter=transfer`);
      await page.locator('.locks[open] table').waitFor();
      assert.deepEqual(await seriousFaults(page), []);
      assert.equal(await sideways(page), 0);
      await visitor.leave();
    },
  })),
];
