// Installs the packages of package-lock.json, once per change of it. Run under a lock: several build trees share the folder.
import {spawnSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {existsSync, readFileSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

const folder = dirname(fileURLToPath(import.meta.url));
const stamp = join(folder, 'node_modules', '.installed');
const wanted = createHash('sha256').update(readFileSync(join(folder, 'package-lock.json'))).digest('hex');

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  const npm = process.argv[2] ?? 'npm';
  const done = spawnSync(npm, ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
    {cwd: folder, stdio: 'inherit'});
  if (done.status !== 0) {
    console.error(`web: ${npm} ci failed in ${folder}\n  hint: it needs the packages of web/package.json, from the registry that npm is set to`);
    process.exit(1);
  }
  writeFileSync(stamp, wanted);
}
