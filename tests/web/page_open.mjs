// What an open page costs the controller, and whether long stacks scroll smoothly; prints JSON.
//   tests/web/open page_open.mjs SECONDS
import {readFileSync} from 'node:fs';
import * as kit from './kit.mjs';
import {settled} from './shell.mjs';

const seconds = Number(process.argv[2] ?? 30);
const kTicksPerSecond = 100; // of /proc, on every Linux that .NET runs on

function usage(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  const rssKb = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);
  return {cpuS: (Number(fields[11]) + Number(fields[12])) / kTicksPerSecond, rssMb: rssKb / 1000};
}

// CPU in percent of a core and memory at the end, over the seconds.
async function cost(pid) {
  const before = usage(pid);
  await new Promise((done) => setTimeout(done, seconds * 1000));
  const after = usage(pid);
  return {cpuPercent: ((after.cpuS - before.cpuS) / seconds) * 100, rssMb: after.rssMb};
}

// Frames while the page is scrolled from top to bottom: how long each took.
const scrolled = (page) =>
  page.evaluate(
    () =>
      new Promise((done) => {
        const gaps = [];
        let last = performance.now();
        const step = (now) => {
          gaps.push(now - last);
          last = now;
          scrollBy(0, 120);
          if (gaps.length < 300 && scrollY + innerHeight < document.documentElement.scrollHeight - 1) requestAnimationFrame(step);
          else done(gaps.slice(1));
        };
        requestAnimationFrame(step);
      }),
  );

try {
  const [sick, threads] = await Promise.all([kit.patient('sick'), kit.patient('threads'), kit.openBrowser()]);
  const server = await kit.serve('--allow', `${sick.pid},${threads.pid}`);
  const idle = await cost(server.child.pid);
  const visitor = await kit.Visitor.come(server);
  const page = await visitor.open(`/overview?pid=${sick.pid}`);
  await settled(page);
  const open = await cost(server.child.pid);
  await page.goto(`${server.url}/stacks?pid=${threads.pid}&view=threads`);
  await page.waitForFunction(() => document.documentElement.scrollHeight > 10 * innerHeight);
  const gaps = (await scrolled(page)).sort((a, b) => a - b);
  console.log(JSON.stringify({idle, open, frames: gaps.length, medianMs: gaps[gaps.length >> 1], p95Ms: gaps[Math.floor(gaps.length * 0.95)]}));
} finally {
  await kit.endAll();
}
process.exit(0);
