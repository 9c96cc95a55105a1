// Drives the file that clrscope flame writes, in a browser.
//   tests/web/open flame_file.mjs FILE.html METHOD [SCREENSHOT.png]    METHOD: a part of the name of the hottest one
import {readFileSync} from 'node:fs';
import {pathToFileURL} from 'node:url';
import {Checks, openBrowser} from './chromium.mjs';

const [file, method, picture] = process.argv.slice(2);
const address = pathToFileURL(file).href;
const {page, troubles, close} = await openBrowser((url) => url.split(/[?#]/)[0] === address || url.startsWith('data:'));
const checks = new Checks();
const percent = (text) => Number(/([\d.]+) %/.exec(text)?.[1] ?? NaN);
const settle = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const short = method.split('.').slice(-2).join('.'); // as tables and boxes name it
const state = () => page.evaluate(() => ({...document.querySelector('.flame').dataset}));
const zoomIs = (zoom) => page.waitForFunction((wanted) => document.querySelector('.flame').dataset.zoom === wanted, zoom);
const chosen = () => new URL(page.url()).searchParams;
const press = (name) => page.getByRole('button', {name, exact: true}).click();
const result = () => page.locator('.flame-result').textContent();

await page.goto(address);
await page.waitForSelector('.flame-canvas');
await settle();
checks.that('the picture has colours', await page.evaluate(() => {
  const canvas = document.querySelector('canvas');
  const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, Math.min(canvas.height, 300));
  const seen = new Set();
  for (let i = 0; i < data.length; i += 4) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
  return seen.size > 5;
}));
checks.that('the call tree names the method', (await page.locator('.flame-table').textContent()).includes(short));

// Search.
const search = page.getByLabel('Search functions', {exact: true});
await search.fill(method);
const matched = await result();
checks.that(`a search says how much it matched: ${matched}`, percent(matched) > 5 && percent(matched) <= 100);
await search.fill('no such function anywhere');
checks.same('a search without a match', await result(), 'no match');
await search.fill(`/${method.replace(/[^\w]/g, '.')}$|${method.replace(/[^\w]/g, '.')}/`);
checks.that('a regular expression matches the same', percent(await result()) === percent(matched));
await search.fill('/(/');
checks.that('half a regular expression says so', (await result()).includes('not whole'));
await search.fill(method);

// Enter goes to the match; Enter on the picture zooms in; Esc goes back; the browser's Back too.
await search.press('Enter');
checks.that('the match is named whole below', (await page.locator('.flame-name').textContent()).includes(method));
await page.locator('canvas').focus();
await page.keyboard.press('Enter');
await page.waitForFunction(() => document.querySelector('.flame').dataset.zoom !== '0');
const zoomed = (await state()).zoom;
checks.that('what is zoomed into is all that is shown', (await page.locator('.flame-details').textContent()).includes('of shown'));
await page.keyboard.press('Escape');
await zoomIs('0');
await page.keyboard.press('Enter');
await zoomIs(zoomed);
await page.goBack();
await zoomIs('0');
await page.goForward();
await zoomIs(zoomed);

// The address is the state: a reload shows the same.
checks.that('zoom and search are in the address', chosen().get('zoom') && chosen().get('q') === method);
await page.reload();
await page.waitForSelector('.flame-canvas');
checks.same('zoom after a reload', (await state()).zoom, zoomed);
checks.same('search after a reload', await search.inputValue(), method);
await page.keyboard.press('Home');
await zoomIs('0');

// A click on the picture zooms; the tip shows the name.
const box = await page.locator('canvas').boundingBox();
await page.mouse.move(box.x + 30, box.y + 19 * 2 + 9);
await page.waitForSelector('.flame-tip:not([hidden])');
checks.that('the tip tells self, total and share', /total .* · self .* · .* of shown/.test(await page.locator('.flame-tip').textContent()));
await page.mouse.click(box.x + 30, box.y + 19 * 2 + 9);
await page.waitForFunction(() => document.querySelector('.flame').dataset.zoom !== '0');
await page.keyboard.press('Home');
await zoomIs('0');

// Inverted: the method is on top, with its own time.
await search.fill('');
await press('Invert');
const first = await page.locator('.flame-table tbody tr').nth(1).textContent();
checks.that(`inverted, the first row is the hottest: ${first}`, first.includes(short));
checks.that('the choice is in the address', chosen().get('inverted') === '1');
await press('Invert');

// Every function once, sorted and filtered; pressed, its callers and callees.
await press('Functions');
const rows = page.locator('.flame-table tbody tr');
const hottest = await rows.first().textContent();
checks.that(`the first function is the hottest: ${hottest}`, hottest.includes(short));
await page.getByLabel('Filter functions', {exact: true}).fill(short);
await page.waitForFunction((name) => [...document.querySelectorAll('.flame-function')].every((one) => one.textContent.includes(name)), short.split('.').at(-1));
checks.that('the filter leaves it', (await rows.count()) >= 1);
await page.getByLabel('Filter functions', {exact: true}).fill('');
await press('total');
await page.waitForFunction(() => document.querySelector('th[aria-sort="descending"]')?.textContent === 'total');
const totals = (await rows.locator('td:first-child').allTextContents()).map(percent);
checks.that('sorted by total', totals.every((one, i) => i === 0 || !(one > totals[i - 1])));
await press('self');
await page.locator('.flame-function', {hasText: short}).first().click();
await page.waitForSelector('.flame-sandwich .flame-canvas');
checks.same('a sandwich has two pictures', await page.locator('.flame-sandwich .flame-canvas').count(), 2);
checks.that('of the function that was pressed', chosen().get('fn').includes(method) && percent(await page.locator('.flame-sandwich p').textContent()) > 5);
await page.goBack();
await page.waitForFunction(() => !document.querySelector('.flame-sandwich'));
await press('Call tree');

// The menu, by keyboard.
await search.fill(method);
await search.press('Enter');
await page.locator('.flame-canvas').focus();
await page.keyboard.press('Shift+F10');
await page.waitForSelector('[role="menu"]');
await page.waitForFunction(() => document.activeElement?.closest('[role="menu"]')); // it gets it after it is drawn
checks.same('the first entry has the focus', await page.evaluate(() => document.activeElement.textContent), 'Zoom in');
await page.keyboard.press('ArrowDown');
await page.keyboard.press('Enter');
await page.waitForSelector('.flame-sandwich');
checks.that('an entry was taken', chosen().get('view') === 'sandwich');
await page.goBack();
await page.waitForFunction(() => !document.querySelector('.flame-sandwich'));
await page.locator('.flame-canvas').focus();
await page.keyboard.press('m');
await page.waitForSelector('[role="menu"]');
await page.waitForFunction(() => document.activeElement?.closest('[role="menu"]'));
await page.keyboard.press('Escape');
await page.waitForFunction(() => !document.querySelector('[role="menu"]')).catch(() => {});
checks.same('Escape closes the menu', await page.locator('[role="menu"]').count(), 0);
await search.fill('');

// Hidden kinds are gone from the tree, and no time with them.
const before = (await state()).nodes;
await press('Hide framework');
await page.waitForFunction((nodes) => document.querySelector('.flame').dataset.nodes !== nodes, before);
const after = (await state()).nodes;
checks.that(`without the framework there are fewer nodes: ${before}, ${after}`, Number(after) < Number(before));
checks.that('and all the time', (await page.locator('.flame-table tbody tr').first().textContent()).startsWith('100 %'));
checks.that('no frame of the framework is left', !(await page.locator('.flame-table').textContent()).includes('Thread.StartCallback'));
await press('Hide framework');

// Threads.
const select = page.getByLabel('Threads', {exact: true});
const threads = await select.locator('option').count();
checks.that(`threads to choose from: ${threads - 1}`, threads >= 2);
await select.selectOption({index: 1});
checks.that('one thread is in the address', chosen().has('thread'));
await select.selectOption('all');

// A narrow screen keeps the picture and lets the whole name be seen.
await page.setViewportSize({width: 390, height: 800});
await settle();
checks.that('nothing is wider than a phone', await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
await page.setViewportSize({width: 1400, height: 800});

// Both themes.
await page.emulateMedia({colorScheme: 'dark'});
await settle();
checks.that('dark', await page.evaluate(() => getComputedStyle(document.body).backgroundColor === 'rgb(22, 25, 29)'));
await page.emulateMedia({colorScheme: 'light'});
if (picture) await page.screenshot({path: picture});
checks.same('errors and requests', troubles, []);
await close();

// What people with a screen reader or weak eyes would miss, in both themes. Its script needs a page without a policy.
const axe = readFileSync(new URL('./node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
for (const colorScheme of ['light', 'dark']) {
  const looked = await openBrowser(() => true, {colorScheme, bypassCSP: true});
  await looked.page.goto(address);
  await looked.page.waitForSelector('.flame-canvas');
  await looked.page.addScriptTag({content: axe});
  const found = await looked.page.evaluate(async () => (await globalThis.axe.run()).violations.map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 100)}`));
  checks.same(`faults that axe finds, ${colorScheme}`, found, []);
  await looked.close();
}
checks.end();
