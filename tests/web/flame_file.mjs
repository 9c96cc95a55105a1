// Drives the file that clrscope flame writes, in a browser.
//   tests/web/open flame_file.mjs FILE.html METHOD [SCREENSHOT.png]    METHOD: a part of the name of the hottest one
import {readFileSync} from 'node:fs';
import {pathToFileURL} from 'node:url';
import {Checks, openBrowser} from './chromium.mjs';

const [file, method, picture] = process.argv.slice(2);
const address = pathToFileURL(file).href;
const {page, troubles, close} = await openBrowser((url) => url.split('#')[0] === address || url.startsWith('data:'));
const checks = new Checks();
const percent = (text) => Number(/([\d.]+) %/.exec(text)?.[1] ?? NaN);
const settle = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const state = () => page.evaluate(() => ({...document.querySelector('main').dataset}));
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
checks.that('the call tree names the method', (await page.locator('.flame-table').textContent()).includes(method));

// Search.
const search = page.getByLabel('Search functions');
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
const zoomed = (await state()).zoom;
checks.that('Enter zooms', zoomed !== '0');
checks.that('what is zoomed into is all that is shown', (await page.locator('.flame-details').textContent()).includes('of shown'));
await page.keyboard.press('Escape');
await page.waitForFunction(() => document.querySelector('main').dataset.zoom === '0');
await page.keyboard.press('Enter');
checks.same('zoomed again', (await state()).zoom, zoomed);
await page.goBack();
await page.waitForFunction(() => document.querySelector('main').dataset.zoom === '0');
checks.same('Back zooms out', (await state()).zoom, '0');

// A click on the picture zooms; the tip shows the name.
const box = await page.locator('canvas').boundingBox();
await page.mouse.move(box.x + 30, box.y + 19 * 2 + 9);
await page.waitForSelector('.flame-tip:not([hidden])');
checks.that('the tip tells self, total and share', /total .* · self .* · .* of shown/.test(await page.locator('.flame-tip').textContent()));
await page.mouse.click(box.x + 30, box.y + 19 * 2 + 9);
await settle();
checks.that('a click zooms', (await state()).zoom !== '0');
await page.keyboard.press('Home');
await settle();
checks.same('Home shows everything', (await state()).zoom, '0');

// Inverted: the method is on top, with its own time.
await search.fill('');
await press('Invert');
const first = await page.locator('.flame-table tbody tr').nth(1).textContent();
checks.that(`inverted, the first row is the hottest: ${first}`, first.includes(method));
checks.that('the choice is in the address', page.url().includes('inverted=1'));
await press('Invert');

// Every function once.
await press('Functions');
const hottest = await page.locator('.flame-table tbody tr').first().textContent();
checks.that(`the first function is the hottest: ${hottest}`, hottest.includes(method));
await page.locator('.flame-function').first().click();
checks.that('pressed, it is searched for', (await search.inputValue()).includes(method) && percent(await result()) > 5);
await search.fill('');
await press('Call tree');

// Hidden kinds are gone from the tree, and no time with them.
const before = (await state()).nodes;
await press('Hide framework');
const after = (await state()).nodes;
checks.that(`without the framework there are fewer nodes: ${before}, ${after}`, Number(after) < Number(before));
checks.that('and all the time', (await page.locator('.flame-table tbody tr').first().textContent()).startsWith('100 %'));
checks.that('no frame of the framework is left', !(await page.locator('.flame-table').textContent()).includes('System.Threading.Thread.StartCallback'));
await press('Hide framework');

// Threads.
const select = page.getByLabel('Threads');
const threads = await select.locator('option').count();
checks.that(`threads to choose from: ${threads - 1}`, threads >= 2);
await select.selectOption({index: 1});
checks.that('one thread is in the address', page.url().includes('thread='));
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
