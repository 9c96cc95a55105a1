// Drives a report that clrscope doctor --format html wrote, with two visits before it: one that found nothing, one that found CS1501 too.
//   tests/web/open doctor_file.mjs FILE.html [SCREENSHOT.png]
import {pathToFileURL} from 'node:url';
import {Checks, openBrowser} from './chromium.mjs';

const [file, picture] = process.argv.slice(2);
const address = pathToFileURL(file).href;
const {page, troubles, close} = await openBrowser((url) => url.split(/[?#]/)[0] === address || url.startsWith('data:'));
const checks = new Checks();
const changes = () => page.locator('[data-changes]').getAttribute('data-changes'); // new, gone, still there, not checked

await page.goto(address);
await page.locator('[data-report]').waitFor();
checks.same('visits before', await page.locator('[data-earlier]').getAttribute('data-earlier'), '2');
checks.same('since the last visit', await changes(), '0,0,1,0');
await page.locator('[data-earlier] select').selectOption('1');
await page.waitForFunction(() => document.querySelector('[data-changes]').dataset.changes === '1,0,0,0');
checks.same('since the first visit', await changes(), '1,0,0,0');
checks.same('the history', await page.locator('[data-row="CS1501"] td').allInnerTexts(), [' warning', ' warning', '–']);
await page.reload();
await page.locator('[data-report]').waitFor();
checks.same('after a reload', await changes(), '1,0,0,0');
if (picture) await page.screenshot({path: picture});
checks.same('errors and requests', troubles, []);
await close();
checks.end();
