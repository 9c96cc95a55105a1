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
  {
    name: 'a log entry stays where its reader is when the list is full and others come',
    async run(world) {
      const visitor = await kit.Visitor.come(world.server);
      let sent = 0;
      const entries = (count) => Array.from({length: count}, () => `event: logs\ndata: ${JSON.stringify({Timestamp: '2026-01-01T00:00:00Z', LogLevel: 'Information', Category: 'Shop', Message: `order-${++sent}`})}\n\n`);
      await visitor.context.route('**/live?*topics=logs*', (route) => route.fulfill({contentType: 'text/event-stream', body: `retry: 300\n\n${entries(sent ? 3 : 1000).join('')}`}));
      const page = await visitor.open(`/logs?pid=${world.idle.pid}`);
      const entry = page.locator('.log-entry', {hasText: /order-990$/});
      await entry.scrollIntoViewIfNeeded();
      await entry.evaluate((one) => {
        getSelection().selectAllChildren(one);
        globalThis.selectedEntry = one;
      });
      const newest = () => page.locator('.log-entry').first().innerText();
      const first = await newest();
      await page.waitForFunction((text) => document.querySelector('.log-entry').innerText !== text, first);
      assert.equal(await page.locator('.log-entry').count(), 1000);
      assert.match(await page.evaluate(() => globalThis.selectedEntry.innerText), /order-990$/);
      assert.match(await page.evaluate(() => getSelection().toString()), /order-990$/);
      await visitor.leave();
    },
  },
  {
    name: 'a refused stream of log entries says why, and is tried again',
    async run(world) {
      const visitor = await kit.Visitor.come(world.server);
      await visitor.context.route('**/live?*topics=logs*', (route) => route.fulfill({status: 429, contentType: 'application/problem+json', json: {title: 'too many streams', hint: 'close other pages'}}));
      const page = await visitor.open(`/logs?pid=${world.evil.pid}`, {expected: [429]});
      await page.locator('main [role="alert"]', {hasText: /too many streams.*close other pages/s}).waitFor();
      assert.equal(await page.getByText('connecting …').count(), 0);
      await visitor.context.unroute('**/live?*topics=logs*');
      await page.locator('main [role="status"]', {hasText: 'live'}).waitFor();
      assert.equal(await page.locator('main [role="alert"]').count(), 0);
      await visitor.leave();
    },
  },
];
