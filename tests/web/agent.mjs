// The page of the agent: a real process into which it is loaded, and from which it leaves.
import assert from 'node:assert/strict';
import * as kit from './kit.mjs';

const statusOf = async (visitor, pid) => (await visitor.ask('GET', `/agent?pid=${pid}`)).json();

export const agentTests = [
  {
    name: 'the agent is attached, its sources are switched with their price, tables show stacks, and it leaves again',
    async run() {
      const app = await kit.patient('sick');
      const server = await kit.serve('--allow', String(app.pid));
      const visitor = await kit.Visitor.come(server);
      const page = await visitor.open(`/agent?pid=${app.pid}`);
      await page.locator('[data-agent]', {hasText: 'Not loaded'}).waitFor();
      await page.getByRole('button', {name: 'Attach', exact: true}).click();
      await page.locator('[data-agent]', {hasText: 'idle: it costs nothing'}).waitFor();
      for (const title of ['Exceptions', 'Lock waits', 'Allocations', 'Survivors']) {
        await page.getByLabel(title, {exact: true}).click();
        await page.waitForFunction((label) => document.querySelector(`input[aria-label="${label}"]`)?.checked, title);
      }
      await page.locator('[data-table="thrown"] tbody tr', {hasText: 'OrderRejectedException'}).waitFor();
      await page.locator('[data-table="allocated"] tbody tr', {hasText: 'Samples.Symptoms.Sick.Allocate'}).waitFor();
      await page.locator('[data-table="waits"] tbody tr').first().waitFor();
      await page.locator('[data-source="exceptions"] [data-price]', {hasText: 'of one processor'}).waitFor();
      // A stack that was opened stays open when data arrive and after a reload.
      await page.locator('[data-table="thrown"] summary', {hasText: 'Samples.Symptoms.OrderRejectedException'}).click();
      await page.locator('.frames', {hasText: 'Samples.Symptoms.Exceptions.RejectOrder'}).waitFor();
      await page.reload();
      await page.locator('.frames', {hasText: 'Samples.Symptoms.Exceptions.RejectOrder'}).waitFor();
      assert.deepEqual(await kit.seriousFaults(page), []);
      assert.deepEqual((await statusOf(visitor, app.pid)).agent.sources, ['exceptions', 'contention', 'allocations', 'survivors']);
      // Off again: what was seen stays.
      await page.getByLabel('Exceptions', {exact: true}).click();
      await page.waitForFunction(() => !document.querySelector('input[aria-label="Exceptions"]').checked);
      await page.locator('[data-table="thrown"] tbody tr').first().waitFor();
      await page.getByRole('button', {name: 'Detach', exact: true}).click();
      await page.locator('[data-agent]', {hasText: 'Not loaded'}).waitFor();
      assert.equal((await statusOf(visitor, app.pid)).agent.loaded, false);
      await visitor.leave();
      await kit.end(server.child);
      await kit.end(app.child);
    },
  },
  {
    name: 'the page of the agent measures the runtime, methods and the heap once, and says why it cannot',
    async run() {
      const app = await kit.patient('exceptions', '--rate', '200');
      const server = await kit.serve('--allow', String(app.pid));
      const visitor = await kit.Visitor.come(server);
      const page = await visitor.open(`/agent?pid=${app.pid}`);
      await page.getByRole('button', {name: 'Attach', exact: true}).click();
      const measures = page.locator('[data-measures]');
      await measures.getByRole('button', {name: 'Heap', exact: true}).click();
      await page.locator('[data-table="objects"] tbody tr', {hasText: 'System.String'}).first().waitFor();
      await measures.getByRole('button', {name: 'Runtime', exact: true}).click();
      await page.locator('[data-seen="runtime"]', {hasText: 'methods compiled in'}).waitFor();
      await page.getByLabel('Methods to measure').fill('Samples.Symptoms.Exceptions');
      await measures.getByRole('button', {name: 'Measure', exact: true}).click();
      await page.locator('[data-table="measured"] tbody tr', {hasText: 'Samples.Symptoms.Exceptions.HandleOrder'}).waitFor({timeout: 45_000});
      assert.deepEqual(await kit.seriousFaults(page), []);
      assert.equal((await statusOf(visitor, app.pid)).agent.resident, true);
      await assert.rejects(visitor.ask('POST', `/agent/methods?pid=${app.pid}`), /400.*include/s);
      await visitor.leave();
      await kit.end(server.child);
      await kit.end(app.child);
    },
  },
  {
    name: 'what the agent told stays when the process exits',
    async run() {
      const app = await kit.patient('exceptions', '--rate', '200');
      const server = await kit.serve('--allow', String(app.pid));
      const visitor = await kit.Visitor.come(server);
      const page = await visitor.open(`/agent?pid=${app.pid}`, {expected: [400, 404]});
      await page.getByRole('button', {name: 'Attach', exact: true}).click();
      await page.getByLabel('Exceptions', {exact: true}).click();
      await page.locator('[data-table="thrown"] tbody tr').first().waitFor();
      await kit.end(app.child);
      await kit.cameBack(page, page.getByText('The last data are kept').first());
      await page.locator('[data-table="thrown"] tbody tr').first().waitFor();
      await visitor.leave();
      await kit.end(server.child);
    },
  },
  {
    name: 'without the scope trace the agent page says what is missing',
    needsShell: true,
    async run() {
      const app = await kit.patient('exceptions');
      const server = await kit.serve('--allow', String(app.pid));
      const context = await kit.newContext();
      const page = await context.newPage();
      await page.goto(`${server.address}/agent?pid=${app.pid}`);
      await page.getByLabel('Key', {exact: true}).fill(await kit.makeKey(server, 'read'));
      await page.getByRole('button', {name: 'Sign in', exact: true}).click();
      await page.locator('main [role="alert"]', {hasText: /Not permitted.*trace/s}).first().waitFor();
      await context.close();
      await kit.end(server.child);
      await kit.end(app.child);
    },
  },
];
