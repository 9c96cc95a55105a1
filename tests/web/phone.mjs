// Phone width: every link and button is in view, or in a container that shows that it scrolls; the pages of the rail: shell.mjs.
import assert from 'node:assert/strict';
import * as kit from './kit.mjs';
import {settled} from './shell.mjs';

const kPhone = {viewport: {width: 390, height: 800}};

// The id of what was asked for, once it is there.
async function made(visitor, start, list) {
  const {id, operationId} = await (await visitor.ask(...start)).json();
  for (;;) {
    const all = await (await visitor.ask('GET', list)).json();
    const one = all.find((known) => known.id === (id ?? operationId));
    if (one?.state === 'finished') return one.id;
    await new Promise((done) => setTimeout(done, 200));
  }
}

async function inReach(visitor, paths, look = async () => {}) {
  const wrong = [];
  for (const path of paths) {
    const page = await visitor.open(path);
    await settled(page);
    for (const fault of await kit.outOfReach(page)) wrong.push(`${path}: ${fault}`);
    if ((await kit.sideways(page)) > 0) wrong.push(`${path}: it moves sideways`);
    await look(page, path);
    await page.close();
  }
  assert.deepEqual(wrong, []);
}

export const phoneTests = [
  {
    name: 'on a phone every link and button of recordings, their pages and reports is in reach',
    async run(world) {
      const visitor = await kit.Visitor.come(world.server, kPhone);
      const {pid} = world.sick;
      const recording = await made(visitor, ['POST', '/sessions', {data: {pid, durationSeconds: 2}}], '/recordings');
      const report = await made(visitor, ['POST', `/doctor?pid=${pid}&durationSeconds=1`], '/doctor/reports');
      const paths = [`/recordings?pid=${pid}`, `/recordings?pid=${pid}&recording=${recording}`, `/flame?recording=${recording}&pid=${pid}`, `/doctor/reports/${report}?pid=${pid}`];
      await inReach(visitor, paths, async (page, path) => {
        if (path !== paths[0]) return;
        const link = page.locator('[data-table="recordings"]').getByRole('link', {name: 'Flame graph', exact: true}).first();
        const {x, width} = await link.boundingBox();
        assert.ok(x >= 0 && x + width <= kPhone.viewport.width, `the link to the flame graph is at ${x}`);
      });
      await visitor.leave();
    },
  },
  {
    name: 'on a phone what is out of reach would be found',
    async run(world) {
      const visitor = await kit.Visitor.come(world.server, kPhone);
      const page = await visitor.open('/api');
      await settled(page);
      await page.evaluate(() => {
        const box = document.createElement('div');
        const far = Object.assign(document.createElement('button'), {textContent: 'far'});
        box.style.overflow = 'hidden';
        far.style.marginLeft = '500px';
        box.append(far);
        document.querySelector('main').append(box);
      });
      assert.match((await kit.outOfReach(page)).join(), /far/);
      await visitor.leave();
    },
  },
];
