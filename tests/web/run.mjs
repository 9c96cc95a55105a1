// Drives the pages of `clrscope serve` in Chromium, against real processes.
//   node tests/web/run.mjs [--filter TEXT] [--screenshots DIR]
// The last line is "N passed, N failed, N skipped".
import * as kit from './kit.mjs';
import {tests} from './tests.mjs';

const argument = (name) => {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
};
const filter = argument('--filter') ?? '';
const isDev = Boolean(process.env.CLRSCOPE_WEB_DEV); // the app from source: no shell of the controller, no keys
const chosen = tests.filter((one) => one.name.includes(filter) && !(isDev && one.needsShell));

if (!kit.hasBrowser()) {
  console.log(`skipped: Chromium is not installed (apt-get install --no-install-recommends chromium fonts-dejavu-core)`);
  console.log(`0 passed, 0 failed, ${chosen.length} skipped`);
  process.exit(0);
}

let passed = 0;
const failed = [];
try {
  if (chosen.length) {
    const world = await (await import('./world.mjs')).build(argument('--screenshots'));
    for (const one of chosen) {
      const began = Date.now();
      const late = new Promise((_, fail) => setTimeout(() => fail(new Error('took longer than 60 s')), 60_000).unref());
      try {
        await Promise.race([one.run(world), late]);
        ++passed;
        console.log(`ok      ${one.name}  ${((Date.now() - began) / 1000).toFixed(1)} s`);
      } catch (error) {
        failed.push(`${one.name}: ${error.message ?? error}`.split('\n')[0]);
        console.log(`FAILED  ${one.name}\n${String(error.stack ?? error).replace(/^/gm, '        ')}`);
      }
    }
    for (const line of world.measured) console.log(line);
  }
} finally {
  await kit.endAll();
}
for (const line of failed) console.log(`failed: ${line}`);
console.log(`${passed} passed, ${failed.length} failed, 0 skipped`);
process.exit(failed.length ? 1 : 0);
