// GC, JIT, exceptions, locks, thread pool: sentence, totals, chart and tables say what the API says.
import assert from 'node:assert/strict';
import * as kit from './kit.mjs';

const {Visitor} = kit;

// The page of a topic, paused, and the answer of the API that it shows.
async function paused(visitor, topic, query, isReady = () => true) {
  let last;
  const page = await visitor.open('/api');
  page.on('response', async (response) => {
    if (new URL(response.url()).pathname.endsWith(`/views/${topic}`) && response.request().resourceType() === 'fetch') last = await response.json().catch(() => last);
  });
  await page.goto(`${visitor.server.url}/views/${topic}?${query}`);
  await page.locator('[data-summary]').waitFor();
  await waitUntil(() => last && isReady(last), `${topic} has data`);
  await page.click('.strip [data-pause]');
  await waitUntil(async () => (await page.locator('[data-span] time').nth(1).getAttribute('datetime')) === new Date(Date.parse(last.from) + last.durationMs).toISOString(), `the page shows the last answer of ${topic}`);
  return {page, view: last};
}

async function waitUntil(isTrue, what) {
  const late = Date.now() + 30_000;
  while (!(await isTrue())) {
    if (Date.now() > late) throw new Error(`not in time: ${what}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}

const fact = async (page, id) => (await page.locator(`[data-fact="${id}"] .big`).innerText()).replace(/,/g, '');
const rows = (page, table) => page.locator(`table[data-table="${table}"] tbody tr`);
const cells = (page, table, column) => page.locator(`table[data-table="${table}"] tbody tr td:nth-child(${column})`).allInnerTexts();

const kViews = ['gc', 'jit', 'exceptions', 'contention', 'threadpool', 'thread-starts'];

export const viewsTests = [
  {
    name: 'the GC page agrees with the API in sentence, totals and table',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const {page, view} = await paused(visitor, 'gc', `pid=${world.sick.pid}`, (answer) => answer.collections.length > 0);
      assert.equal(await page.locator('[data-summary]').innerText(), view.summary);
      assert.equal(await fact(page, 'count'), String(view.collections.length));
      assert.equal(await rows(page, 'gc').count(), Math.min(200, view.collections.length));
      const counts = (await cells(page, 'generation', 2)).map((text) => Number(text.replace(/,/g, '')));
      assert.equal(counts.reduce((sum, one) => sum + one, 0), view.collections.length);
      assert.ok(await page.locator('[data-chart="pauses"] canvas').isVisible());
      assert.ok(await page.locator('[data-chart="heap"] canvas').isVisible());
      await visitor.leave();
    },
  },
  {
    name: 'bars of the JIT page add up to the methods of its sentence; its table is sorted by the address',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const {page, view} = await paused(visitor, 'jit', `pid=${world.sick.pid}&tables=rate&sort-jit=method`);
      assert.equal(await fact(page, 'methods'), String(view.jitted));
      const bars = await page.locator('[data-chart="rate"] tbody td:nth-child(2)').allInnerTexts();
      assert.equal(bars.reduce((sum, text) => sum + parseInt(text.replace(/,/g, ''), 10), 0), view.methods.length);
      assert.equal(await rows(page, 'jit').count(), Math.min(200, view.methods.length));
      if (view.methods.length) assert.equal(await page.locator('table[data-table="jit"] th').nth(1).getAttribute('aria-sort'), 'ascending');
      await visitor.leave();
    },
  },
  {
    name: 'exceptions are grouped by type and stack, and an opened stack stays open',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/views/exceptions?pid=${world.evil.pid}`);
      const group = page.locator('.thrown').first();
      await group.locator('summary').click();
      await group.locator('.frames li').first().waitFor();
      const said = await page.locator('[data-span]').innerText();
      await waitUntil(async () => (await page.locator('[data-span]').innerText()) !== said, 'a new answer');
      assert.ok(await group.locator('.frames li').first().isVisible(), 'it folded');
      await page.reload();
      await page.locator('.thrown .frames li').first().waitFor();
      assert.match(await page.locator('.thrown .frames').first().innerText(), /Samples\.Symptoms\.Exceptions/);
      await page.locator('.thrown .frames', {hasText: /Exceptions\.cs:\d+/}).first().waitFor();
      await page.locator('table[data-table="type"] .sites', {hasText: /Exceptions\.cs:\d+/}).first().waitFor();
      await visitor.leave();

      const again = await Visitor.come(world.server);
      const {page: still, view} = await paused(again, 'exceptions', `pid=${world.evil.pid}`, (answer) => answer.grouped > 60);
      assert.equal(await fact(still, 'thrown'), String(view.exceptions));
      assert.equal(await still.locator('.thrown').count(), view.groups.length);
      const counts = await still.locator('.thrown .count').allInnerTexts();
      assert.equal(counts.reduce((sum, text) => sum + parseInt(text.replace(/,/g, ''), 10), 0), view.grouped);
      await still.locator('[data-chart="rate"] canvas').waitFor();
      await again.leave();
    },
  },
  {
    name: 'an opened group of a rare exception stays, and says that none came lately',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const key = await kit.makeKey(world.server, 'read,trace');
      const page = await visitor.open('/api');
      let isRare = true;
      let answers = 0;
      await page.route('**/views/exceptions?*', async (route) => {
        if (route.request().resourceType() !== 'fetch') return route.continue();
        const view = await (await fetch(`${world.server.address}/views/exceptions?pid=${world.evil.pid}`, {headers: {Authorization: `Bearer ${key}`}})).json();
        const rare = {id: 'rare', type: 'Shop.RareException', count: 1, last: view.from, osId: 7, stack: [{method: 'Shop.Rare.Throw()', module: 'Shop', kind: 'managed', file: '/src/Rare.cs', line: 12}], messages: [{text: 'once', count: 1}], moreMessages: 0};
        if (isRare) view.groups = [rare, ...(view.groups ?? [])];
        else ++answers;
        return route.fulfill({json: view});
      });
      await page.goto(`${world.server.url}/views/exceptions?pid=${world.evil.pid}`);
      const group = page.locator('.thrown', {hasText: 'Shop.RareException'});
      await group.locator('summary').click();
      await group.locator('.frames', {hasText: 'Rare.cs:12'}).waitFor();
      isRare = false;
      await group.getByText('none lately').waitFor();
      const late = answers;
      await waitUntil(() => answers > late + 1, 'two more answers');
      assert.match(await group.locator('.fold-body').innerText(), /once[^]*Shop\.Rare\.Throw/);
      await group.locator('summary').click();
      await waitUntil(async () => (await group.count()) === 0, 'a folded group without exceptions goes');
      await visitor.leave();
    },
  },
  {
    name: 'the page of locks tells of a deadlock that began before anybody watched',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/views/contention?pid=${world.sick.pid}`);
      const now = page.locator('[data-now]');
      await now.waitFor();
      assert.match(await now.innerText(), /^Deadlock: .*transfer-0.* wait for each other/);
      assert.doesNotMatch(await page.locator('main').innerText(), /No thread waited/);
      assert.match((await cells(page, 'now', 6)).join('\n'), /\.cs:\d+/);
      const owners = await cells(page, 'now', 3);
      for (const osId of world.sick.truth.deadlock.cycle) assert.ok(owners.some((text) => text.includes(String(osId))), `${osId} is not among ${owners}`);
      await visitor.leave();
    },
  },
  {
    name: 'the strip shows what the sessions cost the process, or why that is unknown',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const key = await kit.makeKey(world.server, 'read,trace');
      const page = await visitor.open(`/views/exceptions?pid=${world.evil.pid}`);
      await kit.cameBack(page, page.locator('[data-cost]', {hasText: /cost to the app: at least \d+\.\d % CPU/}));
      assert.match(await page.locator('[data-cost]').getAttribute('title'), /measured/);
      await page.route('**/status?*', async (route) => {
        const status = await (await fetch(`${world.server.address}/status?pid=${world.evil.pid}`, {headers: {Authorization: `Bearer ${key}`}})).json();
        return route.fulfill({json: {...status, live: {...status.live, appCpuMs: undefined, appCpuUnknown: 'it lives elsewhere'}}});
      });
      await kit.cameBack(page, page.locator('[data-cost]', {hasText: 'cost to the app: unknown'}));
      assert.equal(await page.locator('[data-cost]').getAttribute('title'), 'Unknown: it lives elsewhere.');
      await visitor.leave();
    },
  },
  {
    name: 'the thread pool page shows the queue and the threads of a starving pool',
    async run() {
      const starving = await kit.patient('pool-starvation');
      const server = await kit.serve('--allow', String(starving.pid));
      const visitor = await Visitor.come(server);
      const page = await visitor.open(`/views/threadpool?pid=${starving.pid}`);
      await waitUntil(async () => Number(await fact(page, 'queue')) > 0, 'the queue');
      assert.match(await page.locator('[data-summary]').innerText(), /work items wait in the queue/);
      await waitUntil(async () => Number(await fact(page, 'threads')) > 0, 'the threads');
      for (const chart of ['workers', 'queue', 'completed']) await page.locator(`[data-chart="${chart}"]`).waitFor();
      await visitor.leave();
      await Promise.all([server.child, server.dev, starving.child].filter(Boolean).map(kit.end));
    },
  },
  {
    name: 'a view says that its process has exited and that events were lost, and keeps its data',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const key = await kit.makeKey(world.server, 'read,trace');
      const page = await visitor.open('/api');
      await page.route('**/views/exceptions?*', async (route) => {
        if (route.request().resourceType() !== 'fetch') return route.continue();
        const view = await (await fetch(`${world.server.address}/views/exceptions?pid=${world.evil.pid}`, {headers: {Authorization: `Bearer ${key}`}})).json();
        const long = `<img src=x onerror=document.title=1> ${'x'.repeat(3000)}`;
        view.byType = view.byType.map((one) => ({...one, message: long}));
        view.groups = view.groups.map((one) => ({...one, messages: [{text: long, count: one.count}]}));
        return route.fulfill({json: {...view, live: false, ended: 'it exited', endedAt: view.from, lost: 1219, leftOut: 3}});
      });
      await page.setViewportSize({width: 360, height: 740});
      await page.goto(`${world.server.url}/views/exceptions?pid=${world.evil.pid}`);
      await page.getByText(/The process has exited at .*it exited/).waitFor();
      await page.getByText(/1,219 events were lost by the runtime; 3 were left out/).waitFor();
      await page.locator('.thrown summary').first().click();
      await page.locator('.thrown .fold-body .message').first().waitFor();
      assert.ok((await kit.sideways(page)) <= 0, 'a long message widens the page');
      assert.equal(await page.locator('main img').count(), 0);
      assert.match(await page.locator('.thrown .fold-body .message').first().innerText(), /x{3000}/);
      await visitor.leave();
    },
  },
  {
    name: 'the range of a view is in the address and asks for less',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/views/gc?pid=${world.sick.pid}`);
      await page.locator('[data-summary]').waitFor();
      const asked = page.waitForRequest((request) => request.url().includes('/views/gc') && request.url().includes('seconds=60'));
      await page.selectOption('[data-range]', '1');
      await asked;
      assert.match(page.url(), /minutes=1/);
      await page.reload();
      await page.locator('[data-summary]').waitFor();
      assert.equal(await page.inputValue('[data-range]'), '1');
      await visitor.leave();
    },
  },
  ...kViews.flatMap((topic) =>
    ['light', 'dark'].map((colorScheme) => ({
      name: `the view of ${topic} has no serious fault of accessibility (${colorScheme}) and fits a phone`,
      async run(world) {
        const visitor = await Visitor.come(world.server, {colorScheme, viewport: {width: 360, height: 740}});
        const page = await visitor.open(`/views/${topic}?pid=${world.sick.pid}`);
        await page.locator('[data-summary]').waitFor();
        await page.locator('.over-time').first().waitFor();
        assert.deepEqual(await kit.seriousFaults(page), []);
        assert.ok((await kit.sideways(page)) <= 0, 'it moves sideways');
        await visitor.leave();
      },
    })),
  ),
];
