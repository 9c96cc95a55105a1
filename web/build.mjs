// Bundles the pages and makes them part of the binary.
//   node build.mjs OUT    writes OUT/site/… (what is served), OUT/assets.S and OUT/assets.inc (what the compiler takes)
//
// Everything in site/ is embedded, compressed where that makes it smaller. See src/http/assets.h.
import {createHash} from 'node:crypto';
import {cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {dirname, extname, join, relative} from 'node:path';
import {fileURLToPath} from 'node:url';
import {gzipSync} from 'node:zlib';
import {build} from 'esbuild';

const folder = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2];
if (!out) {
  console.error('usage: node build.mjs OUT');
  process.exit(3);
}
const site = join(out, 'site');

const mimes = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.wasm': 'application/wasm',
  '.txt': 'text/plain; charset=utf-8',
  '.md': 'text/plain; charset=utf-8',
};

rmSync(site, {recursive: true, force: true});
mkdirSync(site, {recursive: true});
await build({
  absWorkingDir: folder,
  entryPoints: {app: 'src/app.tsx', style: 'src/style.css', flame: 'src/flame.ts', 'flame-file': 'src/flame-file.css'},
  outdir: site,
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2021',
  charset: 'utf8',
  legalComments: 'none',
  logLevel: 'warning',
  jsx: 'automatic',
  jsxImportSource: 'preact',
});
makeFlameFile();
cpSync(join(folder, 'public'), site, {recursive: true});
cpSync(join(folder, 'node_modules/speedscope/dist/release'), join(site, 'speedscope'), {recursive: true});
cpSync(join(folder, 'node_modules/speedscope/LICENSE'), join(site, 'speedscope/LICENSE.txt'));

// The viewer in one file, for clrscope flame: its script and styles inside, allowed by their hashes; title, text and data
// are put in where the marks are (src/http/flame_file.cpp).
function makeFlameFile() {
  const [script, style] = ['flame.js', 'flame-file.css'].map((name) => {
    const text = readFileSync(join(site, name), 'utf8');
    rmSync(join(site, name));
    return text;
  });
  const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data:; base-uri 'none'; form-action 'none'`;
  const page = readFileSync(join(folder, 'src/flame-file.html'), 'utf8')
    .replace('@policy@', () => policy)
    .replace('@style@', () => style)
    .replace('@script@', () => script);
  writeFileSync(join(site, 'flame-file.html'), page);
}

const files = readdirSync(site, {recursive: true, withFileTypes: true})
  .filter((entry) => entry.isFile())
  .map((entry) => relative(site, join(entry.parentPath ?? entry.path, entry.name)))
  .sort();

let assembly = '.section .rodata, "a", @progbits\n';
let table = '';
for (const [number, path] of files.entries()) {
  const plain = readFileSync(join(site, path));
  const packed = gzipSync(plain, {level: 9});
  const isSmaller = packed.length < plain.length * 0.95;
  const blob = `asset_${number}.bin`;
  writeFileSync(join(out, blob), isSmaller ? packed : plain);
  const mime = mimes[extname(path)];
  if (!mime) throw new Error(`${path}: what type is it? Add its extension to build.mjs`);
  const etag = createHash('sha256').update(plain).digest('hex').slice(0, 16);
  assembly += `.global clrscope_asset_${number}\n.global clrscope_asset_${number}_end\n.balign 16\n` +
    `clrscope_asset_${number}:\n.incbin "${blob}"\nclrscope_asset_${number}_end:\n.byte 0\n`;
  table += `ASSET(${number}, "${path}", "${mime}", "${etag}", ${plain.length}, ${isSmaller})\n`;
}
assembly += '.section .note.GNU-stack, "", @progbits\n';
writeFileSync(join(out, 'assets.inc'), table);
writeFileSync(join(out, 'assets.S'), assembly);
