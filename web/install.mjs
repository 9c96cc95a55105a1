// Installs the packages of a folder's package-lock.json, once per change of it.
//   node install.mjs [NPM [FOLDER]]    unless told: npm, and the folder of this file
// Run under a lock: several build trees and tests share the folder.
import {spawnSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {existsSync, readFileSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

const npm = process.argv[2] ?? 'npm';
const folder = process.argv[3] ?? dirname(fileURLToPath(import.meta.url));
const stamp = join(folder, 'node_modules', '.installed');
const wanted = createHash('sha256').update(readFileSync(join(folder, 'package-lock.json'))).digest('hex');

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  const done = spawnSync(npm, ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
    {cwd: folder, stdio: 'inherit'});
  if (done.status !== 0) {
    console.error(`${npm} ci failed in ${folder}\n  hint: it needs the packages of its package.json, from the registry that npm is set to`);
    process.exit(1);
  }
  writeFileSync(stamp, wanted);
}
