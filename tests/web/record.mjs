// Recording from the page: two clicks, progress that survives navigation, nothing that an address alone could start.
import assert from 'node:assert/strict';
import * as kit from './kit.mjs';

const {Visitor} = kit;

const sessions = (visitor) => visitor.ask('GET', '/sessions').then((answer) => answer.json());
const button = (page) => page.locator('[data-record]');
const card = (page, id) => page.locator(id ? `[data-session="${id}"]` : '[data-recording]');
const sessionOf = (page) => new URL(page.url()).searchParams.get('session');

async function started(page) {
  await button(page).click();
  await card(page).first().waitFor();
  await page.waitForURL(/[?&]session=/);
  return sessionOf(page);
}

export const recordTests = [
  {
    name: 'two clicks to a flame graph',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/record?pid=${world.sick.pid}&seconds=2`);
      await page.getByRole('button', {name: 'Record 2 s of CPU', exact: true}).waitFor();
      assert.deepEqual(await kit.seriousFaults(page), []);
      if (world.screenshots) await page.screenshot({path: `${world.screenshots}/record.png`});
      const id = await started(page);
      await page.waitForURL(/\/flame\?/);
      await page.waitForSelector('.flame-canvas');
      assert.equal(new URL(page.url()).searchParams.get('recording'), id);
      // Back: what was recorded is told, and not opened again.
      await page.goBack();
      const made = (await sessions(visitor)).find((one) => one.id === id);
      const text = await page.locator(`[data-result="${id}"]`).innerText();
      assert.ok(text.includes(`${made.samples.toLocaleString('en-US')} samples`), text);
      assert.ok(text.includes(`lost ${made.lost.toLocaleString('en-US')}`), text);
      const links = await page.locator(`[data-result="${id}"] a`).evaluateAll((all) => all.map((one) => one.getAttribute('href')));
      assert.ok(links.some((one) => one.includes('/flame?') && one.includes(id)) && links.some((one) => one.includes('/recordings?') && one.includes(id)), links.join(' '));
      await visitor.leave();
    },
  },
  {
    name: 'an address fills the form in and starts nothing',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const before = (await sessions(visitor)).length;
      const page = await visitor.context.newPage();
      const posts = [];
      page.on('request', (request) => request.method() !== 'GET' && posts.push(request.url()));
      await page.goto(`${world.server.url}/record?pid=${world.idle.pid}&profile=thread-time&seconds=7&start=1&providers=System.Net.Http%3A0x3%3A5`);
      await page.getByRole('button', {name: 'Record 7 s of CPU and waits', exact: true}).waitFor();
      assert.equal(await page.locator('input[name="profile"]:checked').getAttribute('value'), 'thread-time');
      assert.equal(await page.getByLabel('Name', {exact: true}).inputValue(), 'System.Net.Http');
      assert.equal(await page.getByLabel('Keywords', {exact: true}).inputValue(), '0x3');
      await page.waitForResponse((one) => new URL(one.url()).pathname === '/sessions');
      assert.deepEqual(posts, []);
      assert.equal((await sessions(visitor)).length, before);
      await visitor.leave();
    },
  },
  {
    name: 'a recording survives navigation and reload, is seen by others, and can be stopped from there',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/record?pid=${world.sick.pid}&seconds=600`);
      const id = await started(page);
      const {leaseSeconds, plannedMs} = (await sessions(visitor)).find((one) => one.id === id);
      assert.equal(leaseSeconds, undefined, 'a lease would end it early');
      assert.equal(plannedMs, 600_000);
      await page.reload();
      await card(page, id).waitFor();
      assert.match(await card(page, id).innerText(), / of 10 min/);
      await page.locator('.rail').getByRole('link', {name: 'Stacks', exact: true}).click();
      await page.waitForURL(/\/stacks/);
      await page.locator('.rail').getByRole('link', {name: 'Record', exact: true}).click();
      await card(page, id).waitFor();
      const other = await Visitor.come(world.server, {viewport: {width: 360, height: 740}});
      const phone = await other.open(`/record?pid=${world.sick.pid}`);
      await card(phone, id).waitFor();
      assert.ok((await kit.sideways(phone)) <= 0, 'it moves sideways');
      await card(phone, id).getByRole('button', {name: 'Stop and keep', exact: true}).click();
      await phone.locator(`[data-result="${id}"]`).waitFor();
      assert.match(phone.url(), /\/record/, 'it was not started here: a link is enough');
      await page.locator(`[data-result="${id}"]`).getByRole('link', {name: 'Flame graph', exact: true}).click();
      await page.waitForSelector('.flame-canvas');
      await other.leave();
      await visitor.leave();
    },
  },
  {
    name: 'providers of one’s own are recorded, and a discarded recording leaves nothing',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open(`/record?pid=${world.idle.pid}&seconds=300`);
      await page.getByText('Providers of your own choice').click();
      await page.getByRole('button', {name: 'Add a provider', exact: true}).click();
      await page.getByRole('checkbox', {name: 'exception', exact: true}).check();
      assert.equal(await page.getByLabel('Keywords', {exact: true}).inputValue(), '0x8001');
      const id = await started(page);
      const {providers} = (await sessions(visitor)).find((one) => one.id === id);
      assert.ok(providers.some((one) => one.toLowerCase().includes('microsoft-windows-dotnetruntime:0x')), providers.join(' '));
      const discard = card(page, id).getByRole('button', {name: 'Discard', exact: true});
      await discard.click();
      await card(page, id).getByRole('button', {name: 'Keep', exact: true}).click();
      assert.ok((await sessions(visitor)).some((one) => one.id === id), 'it was discarded without being asked about');
      await discard.click();
      await card(page, id).getByRole('group', {name: /^Discard/}).getByRole('button', {name: 'Discard', exact: true}).click();
      await card(page, id).waitFor({state: 'detached'});
      await page.waitForFunction(() => !new URL(location.href).searchParams.has('session'));
      assert.ok(!(await sessions(visitor)).some((one) => one.id === id));
      await visitor.leave();
    },
  },
  {
    name: 'a process that is gone cannot be recorded, and the page says why',
    async run(world) {
      const visitor = await Visitor.come(world.server);
      const page = await visitor.open('/record?pid=999999', {expected: [400, 403, 404]});
      await button(page).click();
      await page.locator('.record .trouble').waitFor();
      assert.match(await page.locator('.record .trouble').innerText(), /no such process/);
      assert.ok(await button(page).isEnabled(), 'it can be tried again');
      await visitor.leave();
    },
  },
];
