// Takes pictures of the pages, for the documentation and to look at.
//   node tests/web/pictures.mjs DIR [NAME…]
// Without names: every page in light, dark and phone width. NAME: those whose file name contains it.
import {join} from 'node:path';
import * as kit from './kit.mjs';
import {settled} from './shell.mjs';
import {build} from './world.mjs';

const [folder, ...chosen] = process.argv.slice(2);
const kStyles = {
  light: {viewport: {width: 1280, height: 800}, colorScheme: 'light'},
  dark: {viewport: {width: 1280, height: 800}, colorScheme: 'dark'},
  phone: {viewport: {width: 390, height: 800}, colorScheme: 'light'},
};

// Name → path and what must have come before the picture.
function pagesOf(pid, recording, report) {
  return {
    processes: {path: '/', wait: 12_000},
    overview: {path: `/overview?pid=${pid}`, wait: 20_000},
    doctor: {path: `/doctor?pid=${pid}`},
    report: {path: `/doctor/reports/${report}?pid=${pid}`},
    stacks: {path: `/stacks?pid=${pid}`},
    record: {path: `/record?pid=${pid}`},
    flame: {path: `/flame?recording=${recording}&pid=${pid}`},
    counters: {path: `/counters?pid=${pid}`, wait: 20_000},
    gc: {path: `/views/gc?pid=${pid}`, wait: 12_000},
    jit: {path: `/views/jit?pid=${pid}`, wait: 5_000},
    exceptions: {path: `/views/exceptions?pid=${pid}`, wait: 5_000},
    locks: {path: `/views/contention?pid=${pid}`, wait: 5_000},
    threadpool: {path: `/views/threadpool?pid=${pid}`, wait: 5_000},
    logs: {path: `/logs?pid=${pid}`},
    recordings: {path: `/recordings?pid=${pid}`},
    sessions: {path: `/sessions?pid=${pid}`},
    check: {path: `/check?pid=${pid}`},
    audit: {path: `/audit?pid=${pid}`},
    api: {path: `/api?pid=${pid}`},
  };
}

async function made(visitor, start, list, state) {
  const {id, operationId} = await (await visitor.ask(...start)).json();
  for (;;) {
    const all = await (await visitor.ask('GET', list)).json();
    const one = all.find((known) => known.id === (id ?? operationId));
    if (one?.state === state) return one.id;
    await new Promise((done) => setTimeout(done, 200));
  }
}

try {
  const world = await build();
  const {pid} = world.sick;
  const first = await kit.Visitor.come(world.server);
  const recording = await made(first, ['POST', '/sessions', {data: {pid, durationSeconds: 5}}], '/recordings', 'finished');
  const report = await made(first, ['POST', `/doctor?pid=${pid}&durationSeconds=5`], '/doctor/reports', 'finished');
  await first.leave();
  for (const [style, options] of Object.entries(kStyles)) {
    for (const [name, {path, wait = 500}] of Object.entries(pagesOf(pid, recording, report))) {
      const file = `${name}-${style}.png`;
      if (chosen.length && !chosen.some((one) => file.includes(one))) continue;
      const visitor = await kit.Visitor.come(world.server, options);
      const page = await visitor.open(path);
      await settled(page);
      await page.waitForTimeout(wait);
      await page.screenshot({path: join(folder, file)});
      await visitor.leave();
    }
  }
} finally {
  await kit.endAll();
}
