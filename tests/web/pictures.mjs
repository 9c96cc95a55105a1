// Takes pictures of the pages, for the documentation and to look at.
//   node tests/web/pictures.mjs DIR [NAME…]
// Without names: every page in light, dark and phone width. NAME: those whose file name contains it.
import http from 'node:http';
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

const kRequests = 6;

// Name → path and what must have come before the picture.
function pagesOf({pid, recording, report, leaking, heap, tasks, web, threads}) {
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
    'thread-starts': {path: `/views/thread-starts?pid=${threads}`, wait: 12_000},
    requests: {path: `/views/requests?pid=${web.pid}&open=${encodeURIComponent(web.open)}`},
    async: {path: `/stacks?pid=${tasks}&view=async&open=a0`},
    heap: {path: `/heap?pid=${leaking}&snapshot=${heap}`},
    'heap-types': {path: `/heap?pid=${leaking}&snapshot=${heap}&type=Samples.Symptoms.Order`},
    agent: {path: `/agent?pid=${pid}`, wait: 8_000, before: ['/agent/attach?', '/agent/sources?on=exceptions,contention,allocations,survivors&'].map((one) => `${one}pid=${pid}`)},
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

// An application with requests in flight, and the id of the oldest.
async function busy(visitor, {pid, truth}) {
  for (let id = 1; id <= kRequests; ++id) http.get(`${truth.address}/orders/${id}`, {agent: false}).on('error', () => {});
  http.get(`${truth.address}/cpu?ms=600000`, {agent: false}).on('error', () => {});
  for (;;) {
    const seen = await (await visitor.ask('GET', `/views/requests?pid=${pid}`)).json();
    const oldest = seen.requests.find((one) => one.wait?.kind === 'TaskCompletionSource');
    if (seen.inFlight > kRequests && oldest) return {pid, open: oldest.requestId};
  }
}

try {
  const world = await build();
  const {pid} = world.sick;
  const others = await Promise.all([kit.patient('leak-list'), kit.patient('async-chains', '40'), kit.patient('web'), kit.patient('short-threads')]);
  const [leaking, tasks, , threads] = others.map((one) => one.pid);
  const second = await kit.serve('--allow', others.map((one) => one.pid).join(','));
  const beside = await kit.Visitor.come(second);
  const web = await busy(beside, others[2]);
  const {recording: heap} = await (await beside.ask('GET', `/heap?pid=${leaking}`)).json();
  await beside.leave();
  const first = await kit.Visitor.come(world.server);
  const recording = await made(first, ['POST', '/sessions', {data: {pid, durationSeconds: 5}}], '/recordings', 'finished');
  const report = await made(first, ['POST', `/doctor?pid=${pid}&durationSeconds=5`], '/doctor/reports', 'finished');
  await first.leave();
  for (const [style, options] of Object.entries(kStyles)) {
    for (const [name, {path, wait = 500, before = []}] of Object.entries(pagesOf({pid, recording, report, leaking, heap, tasks, web, threads}))) {
      const file = `${name}-${style}.png`;
      if (chosen.length && !chosen.some((one) => file.includes(one))) continue;
      const isOfOthers = others.some((one) => path.includes(`pid=${one.pid}`));
      const visitor = await kit.Visitor.come(isOfOthers ? second : world.server, options);
      for (const one of before) await visitor.ask('POST', one);
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
