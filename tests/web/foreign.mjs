// A browser and those it must not trust: other ports of this machine, pages of other sites.
import assert from 'node:assert/strict';
import {createServer} from 'node:http';
import {once} from 'node:events';
import * as kit from './kit.mjs';

// Somebody else's server on another port; `page` is what it answers, `cookies` what browsers sent it.
async function stranger(page = 'hello') {
  const cookies = [];
  const server = createServer((request, response) => {
    cookies.push(request.headers.cookie ?? '');
    response.setHeader('Content-Type', 'text/html');
    response.end(page);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {url: `http://127.0.0.1:${server.address().port}`, cookies, close: () => server.close()};
}

export const foreignTests = [
  {
    needsShell: true,
    name: 'a key given at 127.0.0.1 signs in where no other port gets the cookie',
    run: async (world) => {
      const other = await stranger();
      const context = await kit.newContext();
      const page = await context.newPage();
      page.setDefaultTimeout(20_000);
      await page.goto(`${world.server.address}/stacks?pid=${world.idle.pid}`);
      await page.getByLabel('Key', {exact: true}).fill(await kit.makeKey(world.server, 'read'));
      await page.getByRole('button', {name: 'Sign in', exact: true}).click();
      await page.getByRole('heading', {name: /^Stacks of/}).waitFor();
      assert.ok(page.url().startsWith(`${world.server.url}/stacks`), page.url());
      assert.ok((await context.cookies()).every((one) => one.domain.endsWith('.localhost')), 'no cookie of 127.0.0.1');
      await page.reload();
      await page.getByRole('heading', {name: /^Stacks of/}).waitFor();
      await page.goto(other.url);
      assert.deepEqual(other.cookies.filter(Boolean), []);
      await context.close();
      other.close();
    },
  },
  {
    needsShell: true,
    name: 'a page of another site starts nothing on a server without keys, and may link to it',
    run: async (world) => {
      const server = await kit.serve('--no-auth', '--allow', `${world.idle.pid}`);
      const target = `${server.address}/stacks?pid=${world.idle.pid}`;
      const other = await stranger(`<a href="${target}">look</a><img src="${server.address}/trace?pid=${world.idle.pid}&durationSeconds=1">`);
      const context = await kit.newContext();
      const page = await context.newPage();
      page.setDefaultTimeout(20_000);
      await page.goto(other.url); // is loaded when the image has failed
      let refused = [];
      for (let i = 0; i < 100 && refused.length === 0; ++i) {
        const {uses} = await (await fetch(`${server.address}/audit`)).json();
        refused = uses.filter((one) => one.target.startsWith('/trace')).map((one) => one.status);
        if (!refused.length) await page.waitForTimeout(100); // the browser asks for the image when it likes
      }
      assert.deepEqual(refused, [403]);
      await page.getByText('look', {exact: true}).click();
      await page.getByRole('heading', {name: /^Stacks of/}).waitFor();
      await context.close();
      other.close();
      await kit.end(server.child);
    },
  },
];
