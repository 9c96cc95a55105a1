// The doctor: examinations that survive navigation, reports to read, to share and to compare.
import assert from 'node:assert/strict';
import {seriousFaults, sideways, Visitor} from './kit.mjs';
import {ask} from './landing.mjs';

const reportId = (page) => decodeURIComponent(new URL(page.url()).pathname.split('/').pop());

// Examines through the API; gives the finished report's id.
async function examined(page, pid, query) {
  return page.evaluate(
    async ([process, more]) => {
      const get = (path, method = 'GET') => fetch(path, {method, headers: {Accept: 'application/json'}}).then((answer) => answer.json());
      const {id} = await get(`/doctor?pid=${process}&${more}`, 'POST');
      for (;;) {
        const {state} = await get(`/doctor/reports/${id}`);
        if (state === 'finished') return id;
        if (state !== 'running') throw new Error(state);
        await new Promise((done) => setTimeout(done, 200)); // between questions
      }
    },
    [pid, query],
  );
}

export const doctorTests = [
  {
    name: 'an examination survives reload, becomes a report with every finding, and is compared when looking again',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/doctor?pid=${world.sick.pid}&seconds=3`);
      await page.click('[data-start]');
      await page.waitForURL(/\/doctor\/reports\/.*seconds=3/);
      const id = reportId(page);
      await page.reload();
      await page.locator('[data-report]').waitFor({timeout: 40_000});
      const {report} = await ask(page, `/doctor/reports/${id}`);
      const titles = await page.locator('.report > .finding > h2').allInnerTexts();
      assert.match(titles[0], /Deadlock: 2 threads are waiting for each other/);
      const roots = report.findings.filter((one) => !one.becauseOf && !one.partOf);
      assert.deepEqual(await page.locator('.report > .finding').evaluateAll((cards) => cards.map((one) => one.dataset.finding)), roots.map((one) => one.id));
      assert.ok((await page.locator('[data-finding="CS1001"]').innerText()).includes(report.findings[0].advice));
      await page.locator('[data-finding="CS1001"] .frames').first().waitFor(); // the diagnosis is open at once
      assert.deepEqual(await seriousFaults(page), []);
      await page.click('[data-again]');
      await page.waitForFunction((old) => !location.pathname.endsWith(old), id);
      await page.locator(`[data-since="${id}"] [data-changes]`).waitFor({timeout: 40_000});
      assert.match(await page.locator(`[data-since="${id}"]`).innerText(), /Still there: [1-9]/);
      await page.goBack();
      await page.waitForURL(new RegExp(id));
      await visitor.leave();
    },
  },
  {
    name: 'an examination that runs is found again from the doctor page',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/doctor?pid=${world.idle.pid}&seconds=8`);
      await page.click('[data-start]');
      await page.locator('[data-running]').waitFor();
      const id = reportId(page);
      await page.locator('.rail a', {hasText: 'Doctor'}).click();
      await page.getByRole('link', {name: 'See how far it is', exact: true}).click();
      await page.waitForURL(new RegExp(id));
      await page.locator('[data-report]').waitFor({timeout: 50_000});
      await visitor.leave();
    },
  },
  {
    name: 'examinations and thresholds are chosen in the address',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/doctor?pid=${world.sick.pid}&seconds=2&only=CS1001,CS1501`);
      await page.getByText('Examinations: 2 of').click();
      await page.locator('input[name="CS1501.perSecond"]').fill('100000');
      await page.locator('input[name="CS1501.perSecond"]').blur();
      await page.waitForURL(/set=CS1501.perSecond/);
      await page.reload();
      await page.locator('input[name="CS1501.perSecond"]').waitFor();
      assert.equal(await page.locator('input[name="CS1501.perSecond"]').inputValue(), '100000');
      assert.equal(await page.locator('.examinations input[type="checkbox"]:checked').count(), 2);
      assert.deepEqual(await seriousFaults(page), []);
      await page.click('[data-start]');
      await page.waitForURL(/\/doctor\/reports\//);
      await page.locator('[data-report]').waitFor({timeout: 40_000});
      const {report} = await ask(page, `/doctor/reports/${reportId(page)}`);
      assert.deepEqual(report.examined.map((one) => [one.id, one.outcome]).sort(), [['CS1001', 'found'], ['CS1501', 'nothing']]);
      await visitor.leave();
    },
  },
  {
    name: 'two reports are compared: new, gone, still there; Back ends it',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/doctor?pid=${world.sick.pid}`);
      const first = await examined(page, world.sick.pid, 'durationSeconds=1&only=CS1001');
      const second = await examined(page, world.sick.pid, 'durationSeconds=2&only=CS1001,CS1501');
      await page.locator(`[data-compare="${second}"]`).check();
      await page.locator(`[data-compare="${first}"]`).check();
      await page.locator('.comparison [data-changes="1,0,1,0"]').waitFor();
      assert.match(await page.locator('.comparison').innerText(), /Exception storm.*not checked before/s);
      await page.reload();
      await page.locator('.comparison [data-changes="1,0,1,0"]').waitFor();
      await page.goBack();
      await page.locator('.comparison').waitFor({state: 'detached'});
      await visitor.leave();
    },
  },
  {
    name: 'a report is removed from the list, and a report that is not there says so',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/doctor?pid=${world.idle.pid}`, {expected: [404]});
      const id = await examined(page, world.idle.pid, 'durationSeconds=1&only=CS1001');
      const line = page.locator('[data-table="reports"] tbody tr', {has: page.locator(`[data-compare="${id}"]`)});
      await line.getByRole('button', {name: 'Remove', exact: true}).click();
      await line.getByRole('group').getByRole('button', {name: 'Remove', exact: true}).click();
      await line.waitFor({state: 'detached'});
      await page.goto(`${world.server.url}/doctor/reports/${id}?pid=${world.idle.pid}`);
      await page.locator('main .trouble').waitFor();
      assert.ok((await page.locator('main .trouble').innerText()).includes(id));
      await page.getByRole('heading', {level: 1, name: 'Report', exact: true}).waitFor();
      await page.locator('main .trouble').getByRole('link', {name: 'All reports', exact: true}).click();
      await page.waitForURL(new RegExp(`/doctor\\?pid=${world.idle.pid}$`));
      await visitor.leave();
    },
  },
  {
    name: 'what a reader unfolds in a report is in its link; it fits a phone',
    async run(world) {
      const visitor = await Visitor.come(world.server, {viewport: {width: 360, height: 740}, colorScheme: 'dark'});
      const page = await visitor.open(`/doctor?pid=${world.evil.pid}`);
      const id = await examined(page, world.evil.pid, 'durationSeconds=2&only=CS1001,CS1501&set=CS1501.perSecond=1');
      await page.goto(`${world.server.url}/doctor/reports/${id}?pid=${world.evil.pid}&open=examined`);
      await page.getByRole('region', {name: 'Checks', exact: true}).waitFor();
      const card = page.locator('[data-finding="CS1501"]');
      assert.equal(await card.locator('.fold-body').count(), 0);
      await card.getByText(/^Evidence/).click();
      await card.locator('.fold-body').waitFor();
      await page.reload();
      await card.locator('.fold-body').waitFor();
      assert.equal(await sideways(page), 0);
      assert.deepEqual(await seriousFaults(page), []);
      await visitor.leave();
    },
  },
];
