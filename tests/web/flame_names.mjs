// Names that try to be markup or script stay names; very long ones can be seen whole.
//   tests/web/open flame_names.mjs FILE.html    made of tests/data/flame/names.nettrace
import {pathToFileURL} from 'node:url';
import {Checks, openBrowser} from './chromium.mjs';

const address = pathToFileURL(process.argv[2]).href;
const {page, troubles, close} = await openBrowser((url) => url.split(/[?#]/)[0] === address || url.startsWith('data:'));
const checks = new Checks();
await page.goto(address);
await page.waitForSelector('.flame-canvas');
const search = page.getByLabel('Search functions', {exact: true});
const name = () => page.locator('.flame-name').textContent();
for (const part of ['</script><script>alert(1)', '<img src=x onerror=alert(2)>', '${alert(3)}']) {
  await search.fill(part);
  await search.press('Enter');
  checks.that(`${part} is shown as it is`, (await name()).includes(part));
}
await search.fill('xxxx');
await search.press('Enter');
checks.same('a name of 3000 letters is shown whole', (await name()).length, 'Lang.()'.length + 3000);
checks.that('and fits the window', await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
for (const weight of ['Waiting', 'Both', 'On CPU']) {
  await page.getByRole('button', {name: weight, exact: true}).click();
  checks.that(`${weight} has rows`, (await page.locator('.flame-table tbody tr').count()) >= 2);
}
await page.getByLabel('Threads', {exact: true}).selectOption({label: 'thread 1 · 50 ms'});
await page.getByRole('button', {name: 'Waiting', exact: true}).click();
checks.that('a thread that never waited says so', (await page.locator('.flame-empty').textContent()).includes('not seen waiting'));
checks.same('elements that names made', await page.locator('main img, main b, main script').count(), 0);
checks.same('errors and requests', troubles, []);
await close();
checks.end();
