// Runs the tests beside the code, src/**/*_test.ts, with node's own runner: what needs no page.
import {spawnSync} from 'node:child_process';
import {mkdtempSync, readdirSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {build} from 'esbuild';

const folder = dirname(fileURLToPath(import.meta.url));
const tests = readdirSync(join(folder, 'src'), {recursive: true}).filter((name) => name.endsWith('_test.ts'));
const out = mkdtempSync(join(tmpdir(), 'clrscope-web-'));
await build({
  absWorkingDir: folder,
  entryPoints: tests.map((name) => join('src', name)),
  outdir: out,
  outExtension: {'.js': '.mjs'},
  outbase: 'src',
  bundle: true,
  format: 'esm',
  platform: 'node',
  logLevel: 'warning',
});
const done = spawnSync(process.execPath, ['--test', ...tests.map((name) => join(out, name.replace(/\.ts$/, '.mjs')))], {stdio: 'inherit'});
rmSync(out, {recursive: true, force: true});
process.exit(done.status ?? 1);
