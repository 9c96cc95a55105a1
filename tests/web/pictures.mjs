// Takes pictures of the pages, for the documentation and to look at.
//   node tests/web/pictures.mjs DIR [NAME…]
// Without names: every page in light, dark and phone width. NAME: those whose file name contains it. All dark ones and all in phone width are on
// one sheet each, too: pages-dark.png, pages-phone.png.
import http from 'node:http';
import {readFileSync, readdirSync} from 'node:fs';
import {join} from 'node:path';
import * as kit from './kit.mjs';
import {settled} from './shell.mjs';

const [folder, ...chosen] = process.argv.slice(2);
const kStyles = {
  light: {viewport: {width: 1280, height: 800}, colorScheme: 'light'},
  dark: {viewport: {width: 1280, height: 800}, colorScheme: 'dark'},
  phone: {viewport: {width: 390, height: 800}, colorScheme: 'light'},
};

const kRequests = 6;

// Name → path and what must have come before the picture.
function pagesOf({pid, recording, report, leaking, heap, tasks, web, threads, starving, shop}) {
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
    threadpool: {path: `/views/threadpool?pid=${starving}`, wait: 8_000},
    'thread-starts': {path: `/views/thread-starts?pid=${threads}`, wait: 12_000},
    requests: {path: `/views/requests?pid=${web.pid}&open=${encodeURIComponent(web.open)}`},
    'requests-live': {path: `/views/requests?pid=${shop.pid}&tab=profile&run=${shop.run}`, wait: 3_000, phoneAt: '[data-run]'},
    'requests-route': {path: `/views/requests?pid=${shop.pid}&tab=profile&run=${shop.run}&route=${encodeURIComponent('GET /orders/{id}')}`, wait: 3_000},
    'requests-trace': {path: `/views/requests?pid=${shop.pid}&tab=profile&run=${shop.run}&trace=${shop.trace}`, wait: 3_000},
    async: {path: `/stacks?pid=${tasks}&view=async`, click: '[data-async] .fold > summary'},
    heap: {path: `/heap?pid=${leaking}&snapshot=${heap}`},
    'heap-types': {path: `/heap?pid=${leaking}&snapshot=${heap}&type=Samples.Symptoms.Order`},
    agent: {path: `/agent?pid=${pid}`, wait: 8_000, before: ['/agent/attach?', '/agent/sources?on=exceptions,contention,allocations,survivors&'].map((one) => `${one}pid=${pid}`)},
    logs: {path: `/logs?pid=${web.pid}`, wait: 4_000, during: () => logged(web)},
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

// A shop with customers whose requests are profiled, and one of these requests.
async function profiled(visitor, {pid, truth}) {
  await kit.patient('shop-load', '--address', truth.address, '--rate', '30', '--duration', '3600');
  const {id: run} = await (await visitor.ask('POST', `/requests?pid=${pid}&include=Samples.Shop&sample=1&durationSeconds=600`)).json();
  for (;;) {
    const {profile} = await (await visitor.ask('GET', `/requests/runs/${run}?requests=true`)).json();
    const [one] = (profile?.requests ?? []).filter((known) => known.route === '/orders/{id}' && known.spans.length > 5).sort((a, b) => b.durationMs - a.durationMs); // the slowest stay
    if (profile?.seen > 300 && one) return {pid, run, trace: one.traceId};
    await new Promise((done) => setTimeout(done, 200));
  }
}

// What an application writes to its log.
async function logged({address}) {
  await new Promise((done) => setTimeout(done, 1500)); // until the stream has begun
  for (const text of ['order 4711 placed', 'order 4712 placed', 'payment of order 4711 accepted', 'order 4713 rejected: no stock', 'order 4711 shipped']) await fetch(`${address}/log?text=${encodeURIComponent(text)}`);
}

const isChosen = (file) => !chosen.length || chosen.some((one) => file.includes(one));

async function take(server, style, name, {path, wait = 500, before = [], phoneAt, click, during = () => {}}) {
  const visitor = await kit.Visitor.come(server, kStyles[style]);
  for (const one of before) await visitor.ask('POST', one);
  const page = await visitor.open(path);
  await settled(page);
  during();
  await page.waitForTimeout(wait);
  if (click) await page.locator(click).first().click();
  if (phoneAt && style === 'phone') await page.locator(phoneAt).evaluate((part) => part.scrollIntoView());
  await page.screenshot({path: join(folder, `${name}-${style}.png`)});
  await visitor.leave();
}

async function ofController() {
  const [sick, ...healthy] = await Promise.all([kit.patient('sick'), kit.patient('idle'), kit.patient('exceptions', '--rate', '20'), kit.openBrowser()]);
  const {pid} = sick;
  const main = await kit.serve('--allow', [sick, ...healthy.filter(Boolean)].map((one) => one.pid).join(','));
  const others = await Promise.all([kit.patient('leak-list'), kit.patient('async-chains', '40'), kit.patient('web'), kit.patient('short-threads'), kit.patient('shop'), kit.patient('pool-starvation')]);
  const [leaking, tasks, , threads, , starving] = others.map((one) => one.pid);
  const second = await kit.serve('--allow', others.map((one) => one.pid).join(','));
  const beside = await kit.Visitor.come(second);
  const web = await busy(beside, others[2]);
  const shop = await profiled(beside, others[4]);
  const {recording: heap} = await (await beside.ask('GET', `/heap?pid=${leaking}`)).json();
  await beside.leave();
  const first = await kit.Visitor.come(main);
  const recording = await made(first, ['POST', '/sessions', {data: {pid, durationSeconds: 5}}], '/recordings', 'finished');
  const report = await made(first, ['POST', `/doctor?pid=${pid}&durationSeconds=5`], '/doctor/reports', 'finished');
  await first.leave();
  const pages = pagesOf({pid, recording, report, leaking, heap, tasks, web: {...web, ...others[2].truth}, threads, starving, shop});
  for (const style of Object.keys(kStyles))
    for (const [name, page] of Object.entries(pages)) {
      if (!isChosen(`${name}-${style}`)) continue;
      const isOfOthers = others.some((one) => page.path.includes(`pid=${one.pid}`));
      await take(isOfOthers ? second : main, style, name, page);
    }
}

const kFleet = ['fleet-services', 'fleet-routes', 'fleet-route', 'fleet-flame', 'fleet-request', 'fleet-hosts', 'fleet-compare', 'fleet-configurations'];

// Two versions of a shop on two hosts, as a host of each would send them, and another service.
async function ofFleet() {
  await kit.openBrowser();
  const server = await kit.serveFleet();
  const apps = await Promise.all([kit.patient('shop'), kit.patient('shop')]);
  await Promise.all(apps.map(({pid}, i) => kit.sendRequests(server, pid, '--sample', '0.5', '--service', 'shop', '--service-version', ['7.2', '7.3'][i])));
  await Promise.all(apps.map(({truth}) => kit.patient('shop-load', '--address', truth.address, '--rate', '25', '--duration', '600')));
  await kit.sendInvented(server, {host: 'web-1', service: 'stock', batches: 4, requests: 200});
  for (const [basedOn, percent, comment] of [[0, 10, 'Try it on a tenth of the hosts'], [1, 100, 'It costs little: everywhere']])
    await fetch(`${server.address}/fleet/configurations`, {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({service: 'shop', basedOn, percent, comment, include: ['Samples.Shop'], exclude: ['Samples.Shop.Health*'], sample: 0.5})});
  await new Promise((done) => setTimeout(done, 70_000)); // so that the charts have something to draw
  const route = encodeURIComponent('GET /orders/{id}');
  const {requests} = await (await fetch(`${server.address}/fleet/requests?service=shop&route=${route}&fromPercentile=50&toPercentile=90&limit=1`)).json();
  const paths = {
    'fleet-services': '/fleet/services?last=15m',
    'fleet-routes': '/fleet/routes?last=15m&service=shop',
    'fleet-route': `/fleet/routes?last=15m&service=shop&route=${route}&by=version`,
    'fleet-flame': `/fleet/flame?last=15m&service=shop&route=${route}&fromPercentile=50&toPercentile=90`,
    'fleet-request': `/fleet/requests/${requests[0].traceId}?last=15m`,
    'fleet-hosts': '/fleet/hosts?last=15m',
    'fleet-compare': '/fleet/compare?last=15m&service=shop&version=7.3&baseVersion=7.2',
    'fleet-configurations': '/fleet/configurations?last=15m&service=shop',
  };
  for (const style of Object.keys(kStyles))
    for (const name of kFleet) if (isChosen(`${name}-${style}`)) await take(server, style, name, {path: paths[name], wait: 1500});
}

// Small pictures of one style side by side.
async function sheet(style, columns, width) {
  const names = readdirSync(folder).filter((name) => name.endsWith(`-${style}.png`) && !name.startsWith('pages-'));
  if (!names.length) return;
  const pictures = names.map((name) => `<figure><img src="data:image/png;base64,${readFileSync(join(folder, name)).toString('base64')}"><figcaption>${name.replace(`-${style}.png`, '')}</figcaption></figure>`);
  const context = await kit.newContext();
  const page = await context.newPage();
  await page.setViewportSize({width: columns * width, height: 400});
  await page.setContent(`<style>body{margin:0;display:grid;grid-template-columns:repeat(${columns},1fr);background:#888;font:12px sans-serif}figure{margin:4px}img{width:100%}</style>${pictures.join('')}`);
  await page.screenshot({path: join(folder, `pages-${style}.png`), fullPage: true});
  await context.close();
}

try {
  const areFleet = chosen.map((one) => one.startsWith('fleet'));
  if (!chosen.length || areFleet.includes(false)) await ofController();
  if (!chosen.length || areFleet.includes(true)) await ofFleet();
  await sheet('dark', 4, 420);
  await sheet('phone', 8, 200);
} finally {
  await kit.endAll();
}
