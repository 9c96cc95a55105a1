// What the tests of the pages share: real .NET processes, a real controller, a real Chromium.
//
// Every page that is opened is watched: an error on its console, an exception, a failed request or one that leaves this
// machine fails the test that opened it.
import {spawn, execFileSync} from 'node:child_process';
import {once} from 'node:events';
import {existsSync, mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {createInterface} from 'node:readline';
import {fileURLToPath} from 'node:url';
import {chromium} from 'playwright-core';

export const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
export const work = mkdtempSync(join(tmpdir(), 'clrscope-web-'));
export const clrscope = process.env.CLRSCOPE ?? join(root, 'build/release/bin/clrscope');
const axe = readFileSync(join(root, 'tests/web/node_modules/axe-core/axe.min.js'), 'utf8');
const kChromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((path) => existsSync(path));
const kPatienceMs = 60_000;

const children = [];

// Starts a program; gives its first line of output that `wanted` likes.
async function start(command, args, options, wanted) {
  const child = spawn(command, args, {stdio: ['ignore', 'pipe', 'pipe'], ...options});
  children.push(child);
  let said = '';
  child.stderr.on('data', (data) => (said += data));
  const ended = once(child, 'exit').then(() => {
    throw new Error(`${command} ${args.join(' ')} ended: ${said}`);
  });
  ended.catch(() => {}); // an end after the line is no failure
  const line = (async () => {
    for await (const text of createInterface({input: child.stdout})) if (wanted(text)) return text;
    return ended;
  })();
  const late = new Promise((_, fail) => setTimeout(() => fail(new Error(`${command} ${args.join(' ')} said nothing in time: ${said}`)), kPatienceMs).unref());
  const first = await Promise.race([line, ended, late]);
  return {child, line: first.startsWith('http') ? first : JSON.parse(first)};
}

export const samples = execFileSync(join(root, 'tools/publish_samples'), {encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit']}).trim();

const isReady = (line) => line.includes('"ready":true');

// A sample with that symptom: {pid, truth, child}.
export async function patient(symptom, ...args) {
  const {child, line} = await start(join(samples, 'net10.0/samples'), [symptom, ...args], {env: {...process.env, TMPDIR: work}, stdio: 'pipe'}, isReady);
  return {pid: child.pid, truth: line.truth, child};
}

// The sample `web`, which knows nothing of us, started with the controller inside.
export async function patientWithPagesInside() {
  const env = {...process.env, TMPDIR: work, DOTNET_STARTUP_HOOKS: join(root, 'build/hook/clrscope_hook.dll'), CLRSCOPE_BINARY: clrscope};
  const {child, line} = await start(join(samples, 'net10.0/samples'), ['web'], {env}, isReady);
  return {pid: child.pid, truth: line.truth, child};
}

// The sample under another name, which may be any file name.
export async function patientNamed(name, symptom, ...args) {
  const folder = join(samples, 'net10.0');
  const copy = mkdtempSync(join(work, 'named-'));
  execFileSync('cp', ['-r', `${folder}/.`, copy]);
  execFileSync('cp', [join(folder, 'samples.dll'), join(copy, `${name}.dll`)]);
  const how = ['exec', '--runtimeconfig', join(copy, 'samples.runtimeconfig.json'), join(copy, `${name}.dll`), symptom, ...args];
  const {child, line} = await start('dotnet', how, {env: {...process.env, TMPDIR: work}}, isReady);
  return {pid: child.pid, truth: line.truth, child};
}

// With CLRSCOPE_WEB_DEV=1 the app comes from source (web/dev.mjs) and the controller asks for no key: for work on pages.
//
// The controller: {url, open, address}, where `open` is the address that works once, `url` where its pages are then, and `address` the same for
// programs, which need not know names below localhost.
export const serve = (...args) => serveFrom(mkdtempSync(join(work, 'state-')), ...args);

// With what an earlier one left in its folder.
export async function serveFrom(folder, ...args) {
  const how = ['serve', '--urls', 'http://127.0.0.1:0', '--folder', folder, '--json', ...args];
  if (process.env.CLRSCOPE_WEB_DEV) how.push('--no-auth', '--metric-urls', '');
  const {child, line} = await start(clrscope, how, {env: {...process.env, TMPDIR: work}}, () => true);
  if (process.env.CLRSCOPE_WEB_DEV) {
    const {child: dev, line: url} = await start('node', [join(root, 'web/dev.mjs'), line.urls[0].url], {}, () => true);
    return {url, address: line.urls[0].url, child, dev, folder};
  }
  return {url: line.open ? new URL(line.open).origin : line.urls[0].url, open: line.open, address: line.urls[0].url, child, folder};
}

const fleetBinary = join(dirname(clrscope), 'clrscope-fleet');
export const hasFleet = () => existsSync(fleetBinary);

// A fleet server: like serve(), and `grpc` is where hosts send to. Without arguments nobody needs a token.
export async function serveFleet(...args) {
  const folder = mkdtempSync(join(work, 'fleet-'));
  const how = ['serve', '--store', `sqlite:${join(folder, 'fleet.db')}`, '--listen', '127.0.0.1:0', '--http', '127.0.0.1:0', '--json', ...(args.length ? args : ['--no-auth'])];
  const {child, line} = await start(fleetBinary, how, {env: {...process.env, TMPDIR: work}}, () => true);
  return {url: line.open ? new URL(line.open).origin : line.http, open: line.open, address: line.http, grpc: line.grpc, child, folder};
}

export const makeToken = (file, name, scope) => execFileSync(fleetBinary, ['token', '--token-file', file, '--name', name, '--scope', scope], {encoding: 'utf8'}).trim();

// Sends requests that a program invents: `batches` of `requests` with `spans` each.
export async function sendInvented(server, {host, service, version = '1.0', batches = 2, requests = 40, spans = 6}, ...relayArgs) {
  const relay = spawn(fleetBinary, ['relay', '--to', `grpc://${server.grpc}`, '--linger', '50s', ...relayArgs], {stdio: ['pipe', 'ignore', 'inherit']});
  const source = spawn(join(dirname(clrscope), 'fleet_source'), [host, service, String(batches), String(requests), String(spans), `version=${version}`], {stdio: ['ignore', 'pipe', 'ignore']});
  children.push(relay, source);
  source.stdout.pipe(relay.stdin);
  const [code] = await once(relay, 'exit');
  if (code !== 0) throw new Error(`the relay ended with ${code}`);
}

// Profiles a process and sends its requests until it is ended.
export async function sendRequests(server, pid, ...args) {
  const child = spawn(clrscope, ['requests', '-p', String(pid), '--include', 'Samples.Shop', '--to', `grpc://${server.grpc}`, '--json', ...args], {stdio: ['ignore', 'ignore', 'pipe'], env: {...process.env, TMPDIR: work}});
  children.push(child);
  for await (const line of createInterface({input: child.stderr})) if (line.includes('Profiling requests')) break;
  child.stderr.resume();
  return child;
}

export async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  const late = setTimeout(() => child.kill('SIGKILL'), 10_000);
  await gone;
  clearTimeout(late);
}

let browser;
export async function openBrowser() {
  browser ??= await chromium.launch({
    executablePath: kChromium,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE *.localhost'],
  });
}

// A visitor whom nobody knows, and whose faults nobody counts.
export function newContext() {
  return browser.newContext();
}

// A key that the server knows.
export async function makeKey(server, scopes) {
  const {key} = JSON.parse(execFileSync(clrscope, ['key', 'create', '--folder', server.folder, '--scopes', scopes, '--json'], {encoding: 'utf8'}));
  for (let i = 0; i < 100; ++i) {
    if ((await fetch(`${server.address}/processes`, {headers: {Authorization: `Bearer ${key}`}})).ok) return key;
    await new Promise((done) => setTimeout(done, 300)); // many wrong keys of one address are refused
  }
  throw new Error('the server does not take the new key');
}

export function hasBrowser() {
  return kChromium !== undefined;
}

// A run that fails outside of a test, or that is interrupted, leaves nothing running.
for (const name of ['uncaughtException', 'unhandledRejection', 'SIGINT', 'SIGTERM', 'SIGHUP'])
  process.once(name, (why) => {
    console.error(why?.stack ?? why);
    for (const child of children) if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    rmSync(work, {recursive: true, force: true});
    process.exit(1);
  });

export async function endAll() {
  await browser?.close();
  await Promise.all(children.map(end));
  rmSync(work, {recursive: true, force: true});
}

// The cookie for the address that works once.
async function signedIn(server) {
  if (!server.open) return undefined;
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(server.open);
  const storage = await context.storageState();
  await context.close();
  return storage;
}

// A browser of its own, signed in at `server`.
export class Visitor {
  static async come(server, options = {}) {
    server.storage ??= signedIn(server);
    const visitor = new Visitor();
    visitor.server = server;
    visitor.faults = [];
    visitor.context = await browser.newContext({viewport: {width: 1280, height: 800}, ...options, storageState: await server.storage});
    visitor.context.on('request', (request) => {
      const address = new URL(request.url());
      if (address.hostname !== '127.0.0.1' && !address.hostname.endsWith('.localhost') && !['data:', 'blob:'].includes(address.protocol)) visitor.faults.push(`a request that leaves this machine: ${address}`);
    });
    return visitor;
  }

  // Opens a path; `expected` are statuses of answers that are no faults.
  async open(path, {expected = []} = {}) {
    const page = await this.context.newPage();
    page.on('console', (message) => {
      const isExpected = expected.some((status) => message.text().includes(`status of ${status}`));
      if (message.type() === 'error' && !isExpected) this.faults.push(`${path}: console: ${message.text()}`);
    });
    page.on('pageerror', (error) => this.faults.push(`${path}: ${error.stack ?? error}`));
    page.on('requestfailed', (request) => {
      const why = request.failure()?.errorText ?? '';
      if (why !== 'net::ERR_ABORTED') this.faults.push(`${path}: ${request.url()}: ${why}`);
    });
    page.setDefaultTimeout(40_000); // a busy machine is slow
    await page.goto(this.server.url + path);
    return page;
  }

  // A request of the visitor beside its pages, which must succeed: by the address that needs no name below localhost.
  async ask(method, path, options = {}) {
    const {address, url} = this.server;
    const cookies = await this.context.cookies(url);
    const headers = {Host: new URL(url).host, Cookie: cookies.map((one) => `${one.name}=${one.value}`).join('; '), Origin: url, Accept: 'application/json', ...options.headers};
    const response = await this.context.request.fetch(address + path, {method, ...options, headers});
    if (!response.ok()) throw new Error(`${method} ${path}: ${response.status()} ${await response.text()}`);
    return response;
  }

  async leave() {
    await this.context.close();
    if (this.faults.length) throw new Error(this.faults.join('\n'));
  }
}

// Waits for what a page shows once it has asked again, as it does when its reader comes back to it: some questions are asked every 15 s only.
export async function cameBack(page, locator) {
  for (let tries = 0; tries < 40; ++tries) {
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    if (await locator.waitFor({timeout: 500}).then(() => true, () => false)) return;
  }
  await locator.waitFor();
}

// What axe-core calls serious or critical.
export async function seriousFaults(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run(document, {resultTypes: ['violations']}));
  return found.violations
    .filter((one) => ['serious', 'critical'].includes(one.impact))
    .map((one) => `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`);
}

export function firstPaintMs(page) {
  return page.evaluate(
    () =>
      new Promise((done) => {
        const seen = new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) if (entry.name === 'first-contentful-paint') done(entry.startTime);
        });
        seen.observe({type: 'paint', buffered: true});
        setTimeout(() => done(NaN), 5000);
      }),
  );
}

// How far the page can be moved sideways.
export function sideways(page) {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

// What a finger cannot reach: outside of the window sideways, and no container with it that can be scrolled and says so.
export function outOfReach(page) {
  return page.evaluate(() => {
    const isShown = (one) => one.checkVisibility({visibilityProperty: true}) && one.getClientRects().length > 0;
    const isOutside = ({left, right}) => left < -1 || right > document.documentElement.clientWidth + 1;
    const scroller = (one) => {
      for (let at = one.parentElement; at && at !== document.body; at = at.parentElement)
        if (at.scrollWidth > at.clientWidth + 1 && ['auto', 'scroll'].includes(getComputedStyle(at).overflowX)) return at;
      return null;
    };
    const isMarked = (box) => !isOutside(box.getBoundingClientRect()) && getComputedStyle(box).backgroundImage !== 'none';
    return [...document.querySelectorAll('a[href], button, input, select, textarea, summary')]
      .filter((one) => isShown(one) && !one.matches('.skip') && isOutside(one.getBoundingClientRect()))
      .filter((one) => {
        const box = scroller(one);
        return !box || !isMarked(box);
      })
      .map((one) => `${one.localName} “${(one.innerText || one.getAttribute('aria-label') || one.name || '').slice(0, 40)}” at ${Math.round(one.getBoundingClientRect().left)}–${Math.round(one.getBoundingClientRect().right)} px`);
  });
}
