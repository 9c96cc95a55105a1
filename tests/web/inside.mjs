// The pages inside an app, below a path of the app's: the same ones, forwarded.
import assert from 'node:assert/strict';
import * as kit from './kit.mjs';

export const insideTests = [
  {
    needsShell: true,
    name: 'inside an app every page works below the path of the app',
    run: async () => {
      const app = await kit.patientWithPagesInside();
      const server = {url: `${app.truth.address}/clrscope`, storage: Promise.resolve({cookies: [], origins: []})};
      const visitor = await kit.Visitor.come(server);
      const outside = [];
      visitor.context.on('request', (request) => {
        if (!request.url().startsWith(server.url)) outside.push(request.url());
      });
      visitor.context.on('response', (response) => {
        if (response.status() >= 400) outside.push(`${response.status()} ${response.url()}`);
      });
      const page = await visitor.open('/');
      const links = await page.$$eval('.rail a', (all) => all.map((link) => link.getAttribute('href')));
      assert.ok(links.length >= 4, 'the rail has pages');
      for (const link of links) {
        assert.ok(link.startsWith('/clrscope/'), `${link} leads out`);
        await page.goto(app.truth.address + link);
        assert.equal(await page.locator('h1').count(), 1, `${link} has one heading`);
      }
      await page.goto(`${server.url}/stacks`);
      await page.getByText('Samples.Symptoms.Web.Run').first().waitFor();
      await visitor.leave();
      assert.deepEqual(outside, []);
      await kit.end(app.child);
    },
  },
];
