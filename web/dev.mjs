// Serves the app from source, for work on pages: rebuilt on every reload, everything else is passed on to a controller.
//   clrscope serve --urls http://127.0.0.1:5001 --no-auth --metric-urls ""      in one terminal
//   node web/dev.mjs http://127.0.0.1:5001 [PORT]                                in another; prints its address
// The same with the address of a fleet server: open /fleet/services there.
import http from 'node:http';
import {readFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {build} from 'esbuild';
import {writeTypes} from './types.mjs';

const folder = dirname(fileURLToPath(import.meta.url));
const [controller, port = '0'] = process.argv.slice(2);
if (!controller) {
  console.error('usage: node dev.mjs CONTROLLER_URL [PORT]');
  process.exit(3);
}

async function bundle() {
  writeTypes();
  const made = await build({
    absWorkingDir: folder,
    entryPoints: {app: 'src/app.tsx', style: 'src/style.css'},
    outdir: '/',
    bundle: true,
    write: false,
    sourcemap: 'inline',
    format: 'iife',
    target: 'es2021',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    logLevel: 'warning',
  });
  return Object.fromEntries(made.outputFiles.map((file) => [file.path, file.text]));
}

let files = {};
// The pages of a fleet server are below /fleet.
const shellOf = (path) => `<!doctype html><html lang="en" data-base="" data-server="${path.startsWith('/fleet/') ? 'fleet' : 'controller'}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="/assets/icon.svg"><link rel="stylesheet" href="/assets/style.css"><script defer src="/assets/app.js"></script></head><body><div id="app"></div></body></html>`;

function passOn(request, answer) {
  const to = http.request(new URL(request.url, controller), {method: request.method, headers: {...request.headers, host: new URL(controller).host, origin: controller}}, (from) => {
    answer.writeHead(from.statusCode, from.headers);
    from.pipe(answer);
  });
  to.on('error', (error) => answer.writeHead(502).end(String(error)));
  answer.on('close', () => to.destroy());
  request.pipe(to);
}

const server = http.createServer(async (request, answer) => {
  const path = request.url.split('?')[0];
  if (path === '/assets/app.js') return answer.writeHead(200, {'Content-Type': 'text/javascript; charset=utf-8'}).end(files['/app.js']);
  if (path === '/assets/style.css') return answer.writeHead(200, {'Content-Type': 'text/css; charset=utf-8'}).end(files['/style.css']);
  if (path === '/assets/icon.svg') return answer.writeHead(200, {'Content-Type': 'image/svg+xml'}).end(readFileSync(join(folder, 'public/icon.svg')));
  const isPage = request.method === 'GET' && (request.headers.accept ?? '').startsWith('text/html') && !path.startsWith('/assets/');
  if (!isPage || /^\/recordings\/|^\/trace|^\/dump/.test(path)) return passOn(request, answer);
  try {
    files = await bundle();
    answer.writeHead(200, {'Content-Type': 'text/html; charset=utf-8'}).end(shellOf(path));
  } catch (error) {
    answer.writeHead(500, {'Content-Type': 'text/plain'}).end(String(error));
  }
});
server.listen(Number(port), '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
