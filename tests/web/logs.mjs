// The page of log entries.
import assert from 'node:assert/strict';
import * as kit from './kit.mjs';

export const logsTests = [
  {
    name: 'log entries appear as they are written, and the filter is in the address',
    async run() {
      const app = await kit.patient('web');
      const server = await kit.serve('--allow', String(app.pid));
      const visitor = await kit.Visitor.come(server);
      const page = await visitor.open(`/logs?pid=${app.pid}`);
      await page.locator('main [role="status"]', {hasText: 'live'}).waitFor();
      // The stream tells what is written after it began: write until the first entry is there.
      const first = page.locator('.log-entry', {hasText: 'order-1-shipped'}).first();
      for (let i = 0; i < 60 && !(await first.isVisible()); ++i) {
        await fetch(`${app.truth.address}/log?text=order-1-shipped`);
        await page.waitForTimeout(250);
      }
      await first.waitFor();
      await fetch(`${app.truth.address}/log?text=order-2-lost`);
      await page.locator('.log-entry', {hasText: 'order-2-lost'}).first().waitFor();
      await page.getByLabel('Filter', {exact: true}).fill('order-2');
      await page.waitForURL(/q=order-2/);
      await first.waitFor({state: 'detached'});
      for (const entry of await page.locator('.log-entry').allInnerTexts()) assert.match(entry, /order-2-lost/);
      await visitor.leave();
      await kit.end(server.child);
      await kit.end(app.child);
    },
  },
];
