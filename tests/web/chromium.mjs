// A fresh headless Chromium, and everything it did that it should not have: console errors, exceptions, requests to anybody
// but whom the test allows.
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {chromium} from 'playwright-core';

const kArguments = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];

// `allowed` says of an address whether the page may ask for it.
export async function openBrowser(allowed, options = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'chromium-'));
  const context = await chromium.launchPersistentContext(folder, {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    viewport: {width: 1400, height: 800},
    args: kArguments,
    ...options,
  });
  const page = context.pages()[0] ?? (await context.newPage());
  const troubles = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) troubles.push(`console ${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => troubles.push(`exception: ${error.message}`));
  page.on('dialog', (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    if (!allowed(request.url())) troubles.push(`request: ${request.url()}`);
  });
  const close = async () => {
    await context.close();
    rmSync(folder, {recursive: true, force: true});
  };
  return {page, troubles, close};
}

// Collects what is not as it should be; the last lines say what.
export class Checks {
  failed = 0;
  same(what, got, wanted) {
    this.that(`${what}: ${JSON.stringify(got)}, wanted ${JSON.stringify(wanted)}`, JSON.stringify(got) === JSON.stringify(wanted));
  }
  that(what, holds) {
    if (!holds) ++this.failed;
    console.log(`${holds ? 'ok' : 'NOT OK'}  ${what}`);
  }
  end() {
    console.log(this.failed === 0 ? 'all as it should be' : `${this.failed} not as it should be`);
    process.exitCode = this.failed === 0 ? 0 : 1;
  }
}
