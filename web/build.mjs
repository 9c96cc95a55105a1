// Bundles the web app and makes it part of the binary.
//   node build.mjs OUT    writes OUT/site/… (the files), and for the compiler OUT/assets.S, OUT/assets.inc and OUT/pages.inc
//
// Everything in site/ is embedded, compressed where that makes it smaller. See src/site/assets.h. site/templates/ holds the
// documents around the app (src/site/template.h); pages.inc lists the addresses that the app answers.
import {createHash} from 'node:crypto';
import {cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {dirname, extname, join, relative} from 'node:path';
import {fileURLToPath} from 'node:url';
import {gzipSync} from 'node:zlib';
import {build} from 'esbuild';
import {writeTypes} from './types.mjs';

const folder = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2];
if (!out) {
  console.error('usage: node build.mjs OUT');
  process.exit(3);
}
const site = join(out, 'site');
const kMostBytes = 150 * 1024; // the same as in bench/web_bench.py

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
mkdirSync(join(site, 'templates'), {recursive: true});
writeTypes();
const settings = {absWorkingDir: folder, bundle: true, target: 'es2021', charset: 'utf8', logLevel: 'warning', jsx: 'automatic', jsxImportSource: 'preact'};
await build({
  ...settings,
  entryPoints: {app: 'src/app.tsx', style: 'src/style.css'},
  outdir: site,
  minify: true,
  format: 'iife',
  legalComments: 'none',
});
cpSync(join(folder, 'public'), site, {recursive: true});
checkSize();
cpSync(join(folder, 'node_modules/speedscope/dist/release'), join(site, 'speedscope'), {recursive: true});
cpSync(join(folder, 'node_modules/speedscope/LICENSE'), join(site, 'speedscope/LICENSE.txt'));
makeTemplates();
const {pages, fleetPages} = await pagePaths();
const inc = (macro, paths) => paths.map((path) => `${macro}(${JSON.stringify(path)})\n`).join('');
writeFileSync(join(out, 'pages.inc'), inc('PAGE', pages) + inc('FLEET_PAGE', fleetPages));

function etagOf(content) {
  return createHash('sha256').update(content).digest('hex').slice(0, 16);
}

// What a page loads, compressed as it is sent. A limit that is raised by nobody's decision is no limit: fail.
function checkSize() {
  const loaded = ['app.js', 'style.css', 'icon.svg'];
  const bytes = loaded.reduce((sum, name) => sum + gzipSync(readFileSync(join(site, name)), {level: 9}).length, 0);
  if (bytes <= kMostBytes) return;
  console.error(`${loaded.join(', ')}: ${(bytes / 1024).toFixed(1)} KB gzipped, ${kMostBytes / 1024} KB are allowed\n  hint: remove code, or load it only where it is needed`);
  process.exit(1);
}

// What is the same for every request is put in here: etags, and the app itself into the single-file page, where a policy
// allows it by its hash. The marks that are left are filled in by src/site/template.cpp.
function makeTemplates() {
  for (const name of readdirSync(join(folder, 'templates'))) {
    const page = readFileSync(join(folder, 'templates', name), 'utf8')
      .replace(/@etag:([^@]+)@/g, (_, file) => etagOf(readFileSync(join(site, file))));
    writeFileSync(join(site, 'templates', name), page.includes('@script@') ? withApp(page) : page);
  }
}

function withApp(page) {
  const [script, style] = ['app.js', 'style.css'].map((name) => readFileSync(join(site, name), 'utf8'));
  for (const mark of page.match(/@[a-z]+@/g) ?? [])
    if (script.includes(mark) || style.includes(mark)) throw new Error(`the app contains ${mark}, which is a mark of the single-file page`);
  if (/<\/script/i.test(script) || /<\/style/i.test(style)) throw new Error('the app contains an end tag and cannot be put into a page');
  const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data:; base-uri 'none'; form-action 'none'`;
  return page
    .replace('@policy@', () => policy)
    .replace('@style@', () => style)
    .replace('@script@', () => script);
}

// The addresses of the app's pages, from its own list. Only the list is evaluated: whatever it imports is replaced by a
// value that answers every call and every member with itself.
async function pagePaths() {
  const stub = `const any = new Proxy(function () {}, {
    get: (_, key) => key === Symbol.toPrimitive ? () => '' : any,
    getPrototypeOf: () => any, // esbuild copies a module's own members and inherits the others
    apply: () => any,
    construct: () => any,
  });
  module.exports = any;`;
  const {outputFiles} = await build({
    ...settings,
    entryPoints: ['src/pages/index.ts'],
    write: false,
    format: 'cjs',
    plugins: [{
      name: 'stub-imports',
      setup(bundle) {
        bundle.onResolve({filter: /.*/}, ({kind, path}) => kind === 'entry-point' ? undefined : {path, namespace: 'stub'});
        bundle.onLoad({filter: /.*/, namespace: 'stub'}, () => ({contents: stub, loader: 'js'}));
      },
    }],
  });
  const module = {exports: {}};
  new Function('module', 'exports', outputFiles[0].text)(module, module.exports);
  const pathsOf = (pages) => pages.map((page) => page.path);
  const found = {pages: pathsOf(module.exports.pages), fleetPages: pathsOf(module.exports.fleetPages)};
  for (const path of [...found.pages, ...found.fleetPages])
    if (!/^\/[a-zA-Z{}/-]*$/.test(path)) throw new Error(`src/pages/index.ts: ${path} is not the path of a page`);
  return found;
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
  const etag = etagOf(plain);
  assembly += `.global clrscope_asset_${number}\n.global clrscope_asset_${number}_end\n.balign 16\n` +
    `clrscope_asset_${number}:\n.incbin "${blob}"\nclrscope_asset_${number}_end:\n.byte 0\n`;
  table += `ASSET(${number}, "${path}", "${mime}", "${etag}", ${plain.length}, ${isSmaller})\n`;
}
assembly += '.section .note.GNU-stack, "", @progbits\n';
writeFileSync(join(out, 'assets.inc'), table);
writeFileSync(join(out, 'assets.S'), assembly);
