// The page of the requests in flight: a real ASP.NET application with requests that wait for a gate.
import assert from 'node:assert/strict';
import http from 'node:http';
import * as kit from './kit.mjs';

const number = (value) => value.toLocaleString('en-US');
const traceOf = (id) => String(id).padStart(32, 'a');

// The status of the answer, which comes when the gate opens.
function send(address, path, id) {
  const headers = {traceparent: `00-${traceOf(id)}-00f067aa0ba902b7-01`};
  return new Promise((done, fail) => {
    const request = http.get(`${address}${path}`, {agent: false, headers}, (response) => {
      response.resume();
      response.on('end', () => done(response.statusCode));
    });
    request.on('error', fail);
  });
}

const lookUntil = async (visitor, pid, isWanted) => {
  for (;;) {
    const seen = await (await visitor.ask('GET', `/views/requests?pid=${pid}`)).json();
    if (isWanted(seen)) return seen;
  }
};

// What the page shows and the answer that it shows.
async function refreshed(page) {
  const [answer] = await Promise.all([page.waitForResponse((one) => one.url().includes('/views/requests')), page.click('[data-refresh]')]);
  const data = await answer.json();
  await page.locator(`[data-requests="${data.inFlight}"]`).waitFor();
  return data;
}

export const requestsTests = [
  {
    name: 'requests in flight are listed with age, path, trace id and stack, and none when they have been answered',
    async run() {
      const app = await kit.patient('web');
      const server = await kit.serve('--allow', String(app.pid));
      const visitor = await kit.Visitor.come(server);
      const answers = [1, 2, 3].map((id) => send(app.truth.address, `/orders/${id}`, id));
      await lookUntil(visitor, app.pid, (seen) => seen.inFlight === 3 && seen.requests.every((one) => one.wait));
      const page = await visitor.open(`/views/requests?pid=${app.pid}`);
      await page.locator('[data-requests="3"]').waitFor();
      const data = await refreshed(page);
      await page.getByText(/^3 requests in flight; the oldest began .+ ago\.$/).waitFor();
      assert.deepEqual(data.requests.map((one) => one.traceId).sort(), [1, 2, 3].map(traceOf));
      const lines = await page.locator('.request > summary').allInnerTexts();
      assert.equal(lines.length, data.requests.length);
      data.requests.forEach((one, i) => assert.ok(lines[i].includes(`GET ${one.path} ${one.wait.text}`), lines[i]));
      // One of them: its facts and its stack, which stay open when the data are read again.
      const chosen = data.requests.find((one) => one.path === '/orders/2');
      const request = page.locator(`[data-fold="${chosen.requestId}"]`);
      await request.locator('summary').click();
      await request.locator('[data-async-frames] li').first().waitFor();
      const facts = await request.locator('dd').allInnerTexts();
      for (const fact of [chosen.endpoint, chosen.route, chosen.traceId, chosen.requestId, chosen.protocol]) assert.ok(facts.includes(fact), `${fact} in ${facts}`);
      await refreshed(page);
      const frames = await request.locator('[data-async-frames] li').allInnerTexts();
      assert.deepEqual(
        frames.map((line) => line.replace(/ at its await number \d+$/, '')),
        chosen.frames.map((frame) => frame.method),
      );
      assert.equal(frames[0], `Samples.Symptoms.Web.ReserveStock at its await number ${chosen.frames[0].await + 1}`);
      assert.deepEqual(await kit.seriousFaults(page), []);
      await page.getByLabel('Filter requests', {exact: true}).fill(traceOf(3));
      await page.getByText(/1 of 3 match/).waitFor();
      assert.ok((await page.locator('.request > summary').innerText()).includes('/orders/3'));
      await page.setViewportSize({width: 390, height: 800});
      assert.ok((await kit.sideways(page)) <= 0, 'it fits a phone');
      assert.deepEqual(await kit.outOfReach(page), []);
      assert.deepEqual(await Promise.all([send(app.truth.address, '/open', 9), ...answers]), [200, 200, 200, 200]);
      const idle = await lookUntil(visitor, app.pid, (seen) => seen.inFlight === 0);
      await refreshed(page);
      await page.getByText(`No request is in flight. None of the ${number(idle.contexts)} HttpContexts in its heap is in use.`, {exact: true}).waitFor();
      await visitor.leave();
      await kit.end(server.child);
      await kit.end(app.child);
    },
  },
  {
    name: 'a process without ASP.NET has no requests, and the page says what was looked for',
    async run(world) {
      const visitor = await kit.Visitor.come(world.server);
      const page = await visitor.open(`/views/requests?pid=${world.idle.pid}`);
      await page.locator('[data-requests="0"]').waitFor();
      await page.getByText('No request is in flight.', {exact: true}).waitFor();
      await page.getByText(/^no HttpContext of ASP\.NET Core in the heap/).waitFor();
      assert.equal(await page.locator('.request').count(), 0);
      await visitor.leave();
    },
  },
];
