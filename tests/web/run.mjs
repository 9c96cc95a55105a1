// Drives the pages of `clrscope serve` in Chromium, against real processes.
//   node tests/web/run.mjs [--filter TEXT] [--jobs N] [--screenshots DIR]
// Two workers (worker.mjs), each with processes, a controller and a browser of its own, take the groups of tests.mjs one by one.
// The last line is "N passed, N failed, N skipped".
import {fork} from 'node:child_process';
import {fileURLToPath} from 'node:url';
import * as kit from './kit.mjs';
import {groups} from './tests.mjs';

const argument = (name) => {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
};
const filter = argument('--filter') ?? '';
const isDev = Boolean(process.env.CLRSCOPE_WEB_DEV); // the app from source: no shell of the controller, no keys
const jobs = isDev ? 1 : Number(argument('--jobs') ?? 2);

// The names of the chosen tests, by group.
const chosen = groups.map((tests) => tests.filter((one) => one.name.includes(filter) && !(isDev && one.needsShell)).map((one) => one.name));
const wanted = chosen.flat().length;
const waiting = [...chosen.entries()].filter(([, names]) => names.length);

if (!kit.hasBrowser()) {
  console.log(`skipped: Chromium is not installed (apt-get install --no-install-recommends chromium fonts-dejavu-core)`);
  console.log(`0 passed, 0 failed, ${wanted} skipped`);
  process.exit(0);
}

let passed = 0;
const failed = [];
const measured = [];

function note({name, seconds, error, measured: lines}) {
  if (lines) return void measured.push(...lines);
  if (error === undefined) {
    ++passed;
    console.log(`ok      ${name}  ${seconds.toFixed(1)} s`);
  } else {
    failed.push(`${name}: ${error.message}`.split('\n')[0]);
    console.log(`FAILED  ${name}\n${error.stack.replace(/^/gm, '        ')}`);
  }
}

// One worker: gets groups until none is left, then ends. A group whose worker dies has failed.
function work() {
  return new Promise((done) => {
    const worker = fork(fileURLToPath(new URL('worker.mjs', import.meta.url)), process.argv.slice(2));
    let left = [];
    const next = () => {
      const group = waiting.shift();
      left = group ? [...group[1]] : [];
      worker.send(group ? {group: group[0], names: group[1]} : {end: true});
    };
    worker.on('message', (message) => {
      if (message.ready) return next();
      if (message.name) left = left.filter((name) => name !== message.name);
      note(message);
    });
    worker.on('exit', (code, signal) => {
      if (code !== 0) for (const name of left.length ? left : ['a worker']) note({name, error: {message: 'the worker ended', stack: `the worker ended with ${code ?? signal}`}});
      done();
    });
  });
}

await Promise.all(Array.from({length: Math.min(jobs, waiting.length)}, work));
for (const [, names] of waiting) for (const name of names) note({name, error: {message: 'was not run', stack: 'no worker was left'}});
for (const line of measured) console.log(line);
for (const line of failed) console.log(`failed: ${line}`);
console.log(`${passed} passed, ${failed.length} failed, 0 skipped`);
await kit.endAll();
process.exit(failed.length ? 1 : 0);
