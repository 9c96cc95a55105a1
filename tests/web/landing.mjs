// The first pages: all processes, one process, what works, who used it, what runs, the routes.
import assert from 'node:assert/strict';
import * as kit from './kit.mjs';
import {kEvilName} from './world.mjs';

const {Visitor} = kit;

// What the API answers to the same visitor.
export const ask = (page, path) => page.evaluate((address) => fetch(address, {headers: {Accept: 'application/json'}}).then((answer) => answer.json()), path);

const row = (page, pid) => page.locator('[data-table="processes"] tbody tr', {has: page.locator(`a[href$="pid=${pid}"]`)});

const kFirstCheckMs = 45_000;

async function overviewOf(visitor, pid, more = '') {
  const page = await visitor.open(`/overview?pid=${pid}${more}`);
  await page.waitForSelector('[data-verdict="found"], [data-verdict="nothing"]', {timeout: kFirstCheckMs});
  return page;
}

async function looksRight(page) {
  assert.deepEqual(await kit.seriousFaults(page), []);
  assert.equal(await page.locator('h1').count(), 1);
}

export const landingTests = [
  {
    name: 'the first page lists every process with arguments, and leads to its overview and back',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open('/');
      await row(page, world.sick.pid).waitFor();
      const all = await ask(page, 'watch');
      assert.deepEqual(new Set(all.map((one) => one.pid)), new Set([world.sick.pid, world.idle.pid, world.evil.pid]));
      assert.match(await row(page, world.sick.pid).innerText(), new RegExp(`samples sick \\(${world.sick.pid}\\)`));
      assert.match(await row(page, world.evil.pid).innerText(), /exceptions --rate 20/);
      assert.ok((await row(page, world.evil.pid).innerText()).includes(kEvilName), 'a hostile name is shown as it is');
      await looksRight(page);
      await row(page, world.sick.pid).locator('a').click();
      await page.waitForURL(new RegExp(`/overview\\?pid=${world.sick.pid}`));
      assert.equal(await page.locator('#picker').inputValue(), String(world.sick.pid));
      await page.goBack();
      await row(page, world.idle.pid).waitFor();
      await visitor.leave();
    },
  },
  {
    name: 'the first page says in words which process is in trouble, worst first',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await overviewOf(visitor, world.sick.pid); // it has been checked then
      await page.goto(`${world.server.url}/`);
      const first = page.locator('[data-table="processes"] tbody tr').first();
      await first.getByText('Deadlock: 2 threads are waiting for each other').waitFor();
      assert.ok((await first.innerText()).includes(`(${world.sick.pid})`));
      assert.match(await page.locator('main .lead').innerText(), /3 processes, [12] in trouble/);
      await visitor.leave();
    },
  },
  {
    name: 'the first page shows requests per second where counters are read, and says why where they are not',
    async run() {
      const app = await kit.patient('shop');
      const load = await kit.patient('shop-load', '--address', app.truth.address, '--rate', '20', '--duration', '300');
      const server = await kit.serve('--allow', String(app.pid));
      const visitor = await Visitor.come(server);
      const page = await visitor.open('/');
      const cell = async () => {
        const titles = await page.locator('[data-table="processes"] thead th').allInnerTexts();
        return row(page, app.pid).locator('td').nth(titles.indexOf('Requests/s'));
      };
      await row(page, app.pid).waitFor();
      assert.equal(await (await cell()).innerText(), '–');
      assert.match(await (await cell()).locator('[title]').getAttribute('title'), /no counters of this process are being read/);
      assert.equal((await ask(page, 'watch'))[0].requestsPerSecond, null);
      const overview = await overviewOf(visitor, app.pid); // reads counters
      await overview.locator('[data-tile="requests"]').waitFor();
      const answers = [];
      page.on('response', async (answer) => {
        if (new URL(answer.url()).pathname === '/watch') answers.push((await answer.json())[0].requestsPerSecond);
      });
      const words = (value) => value?.toLocaleString('en-US', {maximumFractionDigits: Number.isInteger(value) || value >= 100 ? 0 : value >= 10 ? 1 : 2});
      for (;;) {
        const shown = await (await cell()).innerText();
        if (answers.some((one) => one > 0 && words(one) === shown)) break; // the number is that of the JSON
        await page.waitForTimeout(200);
      }
      assert.deepEqual(await kit.seriousFaults(page), []);
      await visitor.leave();
      await Promise.all([load, server, app].map((one) => kit.end(one.child)));
    },
  },
  {
    name: 'the order of processes is in the address',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open('/');
      await page.getByRole('button', {name: 'Memory', exact: true}).click();
      await page.waitForURL(/sort-processes=-memory/);
      await page.reload();
      const header = page.locator('th', {hasText: 'Memory'});
      await header.waitFor();
      assert.equal(await header.getAttribute('aria-sort'), 'descending');
      await visitor.leave();
    },
  },
  {
    name: 'the overview shows every finding of the watch, and what was checked',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await overviewOf(visitor, world.sick.pid);
      await page.locator('[data-finding="CS1001"]').waitFor();
      await page.evaluate(() => document.querySelector('[data-pause]').click()); // what is shown is compared with what was told
      const watch = await ask(page, `watch/${world.sick.pid}`);
      for (const one of watch.findings.filter((finding) => !finding.becauseOf && !finding.partOf)) assert.equal(await page.locator(`[data-finding="${one.id}"]`).count(), 1, one.id);
      const ran = watch.examined.filter((one) => one.outcome !== 'notRun').length;
      const words = ran === watch.examined.length ? `all ${ran} checks` : `${ran} of ${watch.examined.length} checks`;
      assert.ok((await page.locator('main .lead').first().innerText()).includes(words));
      assert.match(await page.locator('main .lead').first().innerText(), /\d+ s ago/);
      await looksRight(page);
      await visitor.leave();
    },
  },
  {
    name: 'each finding of the overview has a button that leads to its evidence',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await overviewOf(visitor, world.sick.pid);
      await page.locator('[data-evidence="CS1001"]').waitFor();
      const cards = await page.locator('[data-finding]').evaluateAll((all) => all.map((one) => ({id: one.dataset.finding, buttons: one.querySelectorAll(`:scope > .places [data-evidence="${one.dataset.finding}"]`).length})));
      for (const {id, buttons} of cards) assert.equal(buttons, 1, `${id} has its button`);
      await page.locator('[data-evidence="CS1001"]').first().click();
      await page.waitForURL(/\/stacks\?pid=\d+#t\d+$/);
      const thread = new URL(page.url()).hash;
      await page.locator(thread).waitFor();
      assert.ok(await page.locator(thread).evaluate((one) => one.getBoundingClientRect().top < innerHeight), 'its thread is in view');
      await page.goBack();
      await page.locator('[data-evidence="CS1001"]').waitFor();
      await visitor.leave();
    },
  },
  {
    name: 'a finding opens its evidence in place, which stays open through updates and reload',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await overviewOf(visitor, world.sick.pid);
      const card = page.locator('[data-finding="CS1001"]');
      const {history} = await ask(page, `watch/${world.sick.pid}`);
      const began = new Date(history.find((one) => one.id === 'CS1001').began).toTimeString().slice(0, 8);
      assert.match(await card.locator('[data-since]').first().innerText(), new RegExp(`^Since ${began}( or earlier)?, .+ ago\\.$`));
      await card.getByText(/^Evidence: 2 threads/).click();
      const [first] = world.sick.truth.deadlock.cycle;
      const link = card.locator(`.evidence-thread a[href$="#t${first}"]`);
      await link.waitFor();
      assert.match(page.url(), /open=CS1001/);
      const before = await page.locator('.age').first().innerText();
      await page.waitForFunction((words) => document.querySelector('.age').textContent !== words, before);
      await page.waitForResponse((answer) => answer.url().includes(`/watch/${world.sick.pid}`));
      assert.ok(await link.isVisible(), 'it folded itself');
      await page.reload();
      await link.waitFor();
      assert.match(await card.innerText(), /Transfer/);
      await link.click();
      await page.waitForURL(new RegExp(`/stacks\\?pid=${world.sick.pid}#t${first}`));
      await visitor.leave();
    },
  },
  {
    name: 'the overview never calls a process good when checks did not run',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await overviewOf(visitor, world.idle.pid);
      const {examined, findings} = await ask(page, `watch/${world.idle.pid}`);
      assert.deepEqual(findings.filter((one) => one.severity === 'error'), []);
      const notRun = examined.filter((one) => one.outcome === 'notRun');
      if (!findings.length) {
        assert.match(await page.locator('.verdict .lead').innerText(), /^No problems found in (all )?\d+/);
        if (notRun.length) assert.equal(await page.locator('.verdict.good').count(), 0);
        else await page.locator('.verdict.good').waitFor();
      }
      for (const one of notRun) assert.ok((await page.locator('.not-checked').innerText()).includes(one.name), one.name);
      await visitor.leave();
    },
  },
  {
    name: 'a verdict that is no longer renewed is not good any more',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const {pid} = world.idle;
      const {examined, ...watch} = await (await visitor.ask('GET', `/watch/${pid}`)).json();
      const good = {...watch, findings: [], everyMs: 500, checkedAgoMs: 0, ended: undefined, examined: examined.map((one) => ({...one, outcome: 'nothing'}))};
      let isGone = false;
      await visitor.context.route(`**/watch/${pid}`, (route) => (isGone ? route.fulfill({status: 503, json: {title: 'busy'}}) : route.fulfill({json: good})));
      const page = await visitor.open(`/overview?pid=${pid}`, {expected: [503]});
      await page.locator('.verdict.good').waitFor();
      isGone = true;
      await page.locator('[data-verdict="nothing"][data-old]').waitFor();
      assert.equal(await page.locator('.verdict.good').count(), 0);
      await page.getByText('The last check is older than it should be').waitFor();
      await visitor.leave();
    },
  },
  {
    name: 'the tiles show the last values of the counters, and a table of them',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await overviewOf(visitor, world.sick.pid, '&open=values');
      await page.waitForSelector('[data-tile="cpu"] canvas');
      await page.waitForFunction(() => /^\d/.test(document.querySelector('[data-tile="cpu"] .big').textContent));
      const cpu = parseFloat(await page.locator('[data-tile="cpu"] .big').innerText());
      assert.ok(cpu > 0 && cpu < 800, `CPU is said to be ${cpu} %`);
      assert.match(await page.locator('[data-tile="memory"] .big').innerText(), /^\d+(\.\d)? MB$/);
      // The sick process always computes: a drawn zero would be one that the data do not have.
      await page.waitForFunction(() => document.querySelectorAll('main [aria-label="Values of the charts"] tbody tr').length >= 5);
      const values = await page.locator('main [aria-label="Values of the charts"] tbody tr td:nth-child(2)').allInnerTexts();
      assert.ok(values.filter(Boolean).every((one) => parseFloat(one) > 0), `${values}`);
      await visitor.leave();
    },
  },
  {
    name: 'a deadlock that begins while the overview is open appears there, and what is selected stays so',
    async run(world) {
      const app = await kit.patient('deadlock-monitor', '--wait-line');
      const server = await kit.serve('--allow', String(app.pid));
      const visitor = await Visitor.come(server);
      const page = await overviewOf(visitor, app.pid);
      assert.equal(await page.locator('[data-finding]').count(), 0);
      const began = Date.now();
      app.child.stdin.write('\n');
      const finding = page.locator('[data-finding="CS1001"]');
      await finding.waitFor({timeout: 60_000});
      world.measured.push(`a deadlock is on the open overview after ${((Date.now() - began) / 1000).toFixed(1)} s`);
      assert.equal(await page.locator('.verdict.good').count(), 0);
      const title = finding.locator('h2').first();
      await title.evaluate((one) => getSelection().selectAllChildren(one));
      const selected = await page.evaluate(() => getSelection().toString());
      assert.match(selected, /Deadlock: 2 threads/);
      const looks = async () => (await ask(page, `watch/${app.pid}`)).looks;
      for (const first = await looks(); (await looks()) < first + 2;) await page.waitForTimeout(500);
      await page.waitForResponse(/\/watch\//);
      await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
      assert.equal(await page.evaluate(() => getSelection().toString()), selected);
      await visitor.leave();
      await kit.end(server.child);
      await kit.end(app.child);
    },
  },
  {
    name: 'the overview says when the process has exited, and keeps what it showed',
    async run() {
      const short = await kit.patient('sick');
      const server = await kit.serve('--allow', String(short.pid));
      const visitor = await Visitor.come(server);
      const page = await visitor.open(`/overview?pid=${short.pid}`, {expected: [404, 400]});
      await page.locator('[data-finding="CS1001"]').waitFor({timeout: 40_000});
      await page.waitForFunction(() => /^\d/.test(document.querySelector('[data-tile="cpu"] .big').textContent));
      await kit.end(short.child);
      await page.getByText(/has exited/).first().waitFor();
      assert.equal(await page.locator('[data-finding="CS1001"]').count(), 1);
      assert.match(await page.locator('[data-tile="cpu"] .big').innerText(), /^\d/);
      assert.equal(await page.locator('.verdict.good').count(), 0);
      await visitor.leave();
      await kit.end(server.child);
    },
  },
  {
    name: 'the check page says for the machine and for a process what works',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open('/check');
      await page.waitForSelector('.check tbody tr');
      const machine = await ask(page, 'check');
      assert.deepEqual(await page.locator('.check').first().locator('tbody th').allInnerTexts(), machine.sources.map((one) => one.source));
      await page.getByLabel(/^For\b/).selectOption(String(world.sick.pid));
      await page.waitForURL(new RegExp(`/check\\?pid=${world.sick.pid}`));
      await page.getByRole('heading', {name: 'What each verb can use'}).waitFor();
      const check = await ask(page, `check?pid=${world.sick.pid}`);
      const shown = await page.locator('.check tbody tr').evaluateAll((rows) => rows.map((one) => one.dataset.works));
      assert.deepEqual(shown, [...check.sources, ...check.verbs].map((one) => one.works));
      await looksRight(page);
      await visitor.leave();
    },
  },
  {
    name: 'the audit lists requests, filters and sorts them',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open('/audit?q=doctor/findings');
      await page.waitForSelector('[data-table="audit"]');
      await ask(page, 'doctor/findings');
      await page.keyboard.press('r');
      await page.locator('[data-table="audit"] td.code', {hasText: '/doctor/findings'}).first().waitFor();
      const targets = await page.locator('[data-table="audit"] td.code').allInnerTexts();
      assert.ok(targets.every((one) => one.includes('doctor/findings')), `${targets}`);
      await visitor.ask('GET', `/stacks?pid=${world.idle.pid}`);
      const stacks = await visitor.open('/audit?q=/stacks');
      await stacks.locator('[data-table="audit"] td', {hasText: `samples (${world.idle.pid})`}).first().waitFor(); // "25337 samples" would read as a count
      await page.getByRole('button', {name: 'Took', exact: true}).click();
      await page.waitForURL(/q=doctor.*&sort-audit=-took/);
      await looksRight(page);
      await visitor.leave();
    },
  },
  {
    name: 'a session is shown with its lease, stopped and kept',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open('/sessions');
      const {id} = await page.evaluate(
        (pid) => fetch('sessions', {method: 'POST', headers: {Accept: 'application/json', 'Content-Type': 'application/json'}, body: JSON.stringify({pid, durationSeconds: 600, leaseSeconds: 300})}).then((answer) => answer.json()),
        world.idle.pid,
      );
      const card = page.locator(`[data-session="${id}"]`);
      await card.waitFor();
      assert.match(await card.innerText(), /if nobody asks about it/);
      await card.locator(`[data-stop-session="${id}"]`).click();
      await page.locator('[data-table="sessions"]').waitFor({timeout: 40_000});
      await card.waitFor({state: 'detached'});
      assert.equal((await ask(page, `sessions/${id}`)).running, false);
      await looksRight(page);
      await visitor.leave();
    },
  },
  {
    name: 'the API page lists every route of openapi.json, with parameters and a command',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/api?pid=${world.sick.pid}`);
      await page.waitForSelector('.routes');
      const {paths} = await ask(page, 'openapi.json');
      const routes = Object.values(paths).reduce((sum, methods) => sum + Object.keys(methods).length, 0);
      assert.equal(await page.locator('.routes > details').count(), routes);
      await page.locator('[data-fold="GET /stacks"] > summary').click();
      await page.locator('[data-fold="GET /stacks"]').getByText(`/stacks?pid=${world.sick.pid}'`).waitFor();
      await page.getByLabel('Filter', {exact: true}).fill('doctor/reports');
      await page.waitForFunction(() => document.querySelectorAll('.routes > details').length < 8);
      await page.reload();
      await page.waitForSelector('.routes');
      assert.ok((await page.locator('.routes > details').count()) < 8);
      await looksRight(page);
      await visitor.leave();
    },
  },
  ...[
    ['the first page', () => '/', '[data-table="processes"]'],
    ['the overview', (world) => `/overview?pid=${world.evil.pid}`, '.tile'],
    ['the check page', (world) => `/check?pid=${world.sick.pid}`, '.check'],
    ['the audit', () => '/audit', '[data-table="audit"]'],
    ['the page of sessions', () => '/sessions', 'h2'],
    ['the API page', () => '/api', '.routes'],
  ].map(([name, path, wanted]) => ({
    name: `${name} fits a phone, in the dark`,
    async run(world) {
      const visitor = await Visitor.come(world.server, {viewport: {width: 360, height: 740}, colorScheme: 'dark'});
      const page = await visitor.open(path(world));
      await page.waitForSelector(wanted);
      assert.equal(await kit.sideways(page), 0);
      assert.deepEqual(await kit.seriousFaults(page), []);
      await visitor.leave();
    },
  })),
];
