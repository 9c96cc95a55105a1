// Without JavaScript: every page links to its data as plain text.
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import * as kit from './kit.mjs';

// The pages of a controller, as the app lists them.
function paths() {
  const text = readFileSync(join(kit.root, 'web/src/pages/index.ts'), 'utf8');
  const all = [...text.matchAll(/\{path: '([^']+)'/g)].map((match) => match[1]).filter((path) => !path.startsWith('/fleet/'));
  assert.ok(all.length > 20);
  return all;
}

async function sessionOf(address, headers, pid) {
  const {id} = await (await fetch(`${address}/sessions?pid=${pid}`, {method: 'POST', headers, body: '{"profile":"gc-collect","durationSeconds":1}'})).json();
  const late = Date.now() + 60_000;
  for (;;) {
    if ((await (await fetch(`${address}/recordings`, {headers})).json()).some((one) => one.id === id && one.state === 'finished')) return id;
    if (Date.now() > late) throw new Error('the recording does not end');
    await new Promise((done) => setTimeout(done, 200));
  }
}

export const noScriptTests = [
  {
    name: 'without JavaScript every page links to its data as plain text',
    needsShell: true,
    async run(world) {
      const {address} = world.server;
      const key = await kit.makeKey(world.server, 'admin');
      const headers = {Authorization: `Bearer ${key}`};
      const {pid} = world.idle;
      const recording = await sessionOf(address, headers, pid);
      const report = (await (await fetch(`${address}/doctor?pid=${pid}&durationSeconds=1`, {headers})).json(), (await (await fetch(`${address}/doctor/reports`, {headers})).json())[0].id);
      // Queries that the page itself may have: streams and examinations end soon.
      const query = {'/doctor': `?pid=${pid}&durationSeconds=1`, '/logs': `?pid=${pid}&durationSeconds=1`, '/flame': `?recording=${recording}`};
      for (const path of paths()) {
        const place = path.replace('{id}', path.startsWith('/doctor/') ? report : recording) + (query[path] ?? `?pid=${pid}`);
        const shell = await fetch(address + place, {headers: {...headers, Accept: 'text/html'}});
        const link = /<noscript>[^]*?href="([^"]+)"[^]*?<\/noscript>/.exec(await shell.text())?.[1].replaceAll('&amp;', '&');
        assert.ok(link, `${place} has no link`);
        const answer = await fetch(address + link, {headers: {...headers, Accept: 'text/html'}});
        const text = await answer.text();
        assert.equal(answer.status, 200, `${place} links to ${link}: ${answer.status} ${text.slice(0, 300)}`);
        assert.match(answer.headers.get('content-type'), /^text\/plain/, `${place} links to ${link}`);
        assert.ok(path === '/logs' || text.trim(), `${place} links to ${link}, which is empty`);
      }
    },
  },
];
