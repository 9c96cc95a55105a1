// A worker of run.mjs: builds a world, then runs the groups of tests that it is sent.
import * as kit from './kit.mjs';
import {groups} from './tests.mjs';
import {build} from './world.mjs';

const kLimitMs = 150_000; // several waits on a busy machine

const at = process.argv.indexOf('--screenshots');
const world = await build(at < 0 ? undefined : process.argv[at + 1]);

async function run(one) {
  const began = Date.now();
  const late = new Promise((_, fail) => setTimeout(() => fail(new Error(`took longer than ${kLimitMs / 1000} s`)), kLimitMs).unref());
  try {
    await Promise.race([one.run(world), late]);
    process.send({name: one.name, seconds: (Date.now() - began) / 1000});
  } catch (error) {
    process.send({name: one.name, error: {message: String(error.message ?? error), stack: String(error.stack ?? error)}});
  }
}

async function end(code) {
  await kit.endAll();
  process.exit(code);
}

process.on('disconnect', () => end(1)); // run.mjs is gone
process.on('message', async ({group, names}) => {
  if (names === undefined) {
    process.send({measured: world.measured}, () => end(0));
    return;
  }
  for (const one of groups[group]) if (names.includes(one.name)) await run(one);
  process.send({ready: true});
});
process.send({ready: true});
