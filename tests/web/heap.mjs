// The page of the managed heap: snapshots of a real process that leaks.
import assert from 'node:assert/strict';
import * as kit from './kit.mjs';

const kOrder = 'Samples.Symptoms.Order';
const number = (value) => value.toLocaleString('en-US');

// A process whose list of orders grows, and a controller that sees only it.
async function leaking() {
  const app = await kit.patient('leak-list');
  const server = await kit.serve('--allow', String(app.pid));
  const visitor = await kit.Visitor.come(server);
  const end = async () => {
    await visitor.leave();
    await kit.end(server.child);
    await kit.end(app.child);
  };
  return {app, visitor, end};
}

const takeOne = async (page) => {
  const before = new URL(page.url()).searchParams.get('snapshot');
  await page.getByRole('button', {name: 'Take a snapshot', exact: true}).click();
  await page.waitForFunction((old) => ![null, old].includes(new URL(location.href).searchParams.get('snapshot')), before);
  await page.locator('[data-heap]').waitFor();
  return new URL(page.url()).searchParams.get('snapshot');
};

const heapOf = async (visitor, id, question = '') => (await visitor.ask('GET', `/recordings/${id}/heap${question}`)).json();

export const heapTests = [
  {
    name: 'a heap snapshot says its price first, then what keeps the memory alive, from a type to an object to its root',
    async run() {
      const {app, visitor, end} = await leaking();
      const page = await visitor.open(`/heap?pid=${app.pid}`);
      await page.locator('[data-price]', {hasText: /expected pause .+ to .+ more memory/}).waitFor();
      const id = await takeOne(page);
      const heap = await heapOf(visitor, id);
      const lead = await page.locator('[data-heap]').innerText();
      assert.ok(lead.includes(`${number(heap.objects)} objects of ${number(heap.allTypes)} types`), lead);
      // The treemap and its table say the same, and the keyboard goes in and out.
      const boxes = page.locator('.heap-box');
      await boxes.first().waitFor();
      const tops = heap.dominators.filter((one, i) => i > 0 && one.parent === 0);
      assert.equal(await page.locator('[data-table="retained"] tbody tr').count(), Math.min(200, tops.length));
      const root = tops.findIndex((one) => /s_orders$/.test(one.name));
      assert.ok(root >= 0, 'the list of orders is a root of its own');
      await boxes.first().focus();
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('Home');
      await page.keyboard.press('Enter');
      await page.waitForURL(/at=/);
      await page.reload();
      await page.locator('.heap-way b').waitFor();
      await page.goBack();
      await page.waitForURL((url) => !url.searchParams.has('at'));
      assert.deepEqual(await kit.seriousFaults(page), []);
      // By type to its objects, to one object, to its path.
      await page.getByRole('button', {name: 'Types', exact: true}).click();
      await page.getByLabel('Search types', {exact: true}).fill(kOrder);
      const row = page.locator('[data-table="types"] tbody tr', {has: page.getByRole('link', {name: kOrder, exact: true})});
      const order = heap.types.find((one) => one.type === kOrder);
      assert.ok((await row.innerText()).includes(number(order.count)));
      await row.getByRole('link', {name: kOrder, exact: true}).click();
      const instances = page.locator(`[data-instances="${kOrder}"]`);
      await instances.waitFor();
      const type = await heapOf(visitor, id, `?type=${kOrder}`);
      assert.equal(type.count, order.count);
      assert.ok((await instances.locator('.lead').innerText()).startsWith(`${number(type.count)} objects`));
      assert.match(await instances.locator('[data-path]').first().innerText(), /static field.*s_orders[\s\S]*Samples\.Symptoms\.Order/);
      await instances.locator('[data-table="instances"] tbody a').first().click();
      const object = page.locator(`[data-object="${type.instances[0].address}"]`);
      await object.waitFor();
      assert.match(await object.locator('[data-path]').innerText(), /s_orders/);
      await page.reload();
      await object.waitFor();
      await page.goBack();
      await instances.waitFor();
      assert.ok((await kit.sideways(page)) <= 0);
      await end();
    },
  },
  {
    name: 'two heap snapshots are compared, other views are links that last, and a snapshot outlives its process',
    async run() {
      const {app, visitor, end} = await leaking();
      const page = await visitor.open(`/heap?pid=${app.pid}`, {expected: [400]}); // asked of a process that has just ended
      const first = await takeOne(page);
      const count = async (id) => (await heapOf(visitor, id)).types.find((one) => one.type === kOrder).count;
      const before = await count(first);
      let second = await takeOne(page);
      while ((await count(second)) <= before) second = await takeOne(page); // it grows in its own time
      await page.getByLabel(/^Compare with/).selectOption(first);
      await page.locator('[data-diff]').waitFor();
      const diff = await heapOf(visitor, second, `?diff=${first}`);
      const change = diff.types.find((one) => one.type === kOrder).countChange;
      const row = page.locator('[data-table="changes"] tbody tr', {has: page.getByRole('link', {name: kOrder, exact: true})});
      assert.ok((await row.innerText()).includes(`+${number(change)}`));
      await page.goBack();
      await page.locator('[data-diff]').waitFor({state: 'detached'});
      for (const [button, table] of [['Roots', 'roots'], ['Generations', 'generations']]) {
        await page.getByRole('button', {name: button, exact: true}).click();
        await page.locator(`[data-table="${table}"] tbody tr`).first().waitFor();
      }
      await page.reload();
      await page.locator('[data-table="generations"] tbody tr').first().waitFor();
      await page.setViewportSize({width: 390, height: 800});
      assert.ok((await kit.sideways(page)) <= 0, 'it fits a phone');
      assert.deepEqual(await kit.outOfReach(page), []);
      await kit.end(app.child);
      await page.reload();
      await page.getByText('The process has exited: only kept snapshots can be seen.', {exact: true}).waitFor();
      await page.locator('[data-table="generations"] tbody tr').first().waitFor();
      await end();
    },
  },
];
