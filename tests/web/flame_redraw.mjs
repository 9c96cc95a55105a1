// What drawing a large flame graph costs in a browser without a graphics card; prints JSON.
//   tests/web/open flame_redraw.mjs FILE.html COUNT
//
// A redraw is our drawing and the browser's painting of it: the reading of one pixel waits for that.
import {pathToFileURL} from 'node:url';
import {openBrowser} from './chromium.mjs';

const [file, count] = process.argv.slice(2);
const {page, troubles, close} = await openBrowser(() => true, {viewport: {width: 1600, height: 900}});
const began = Date.now();
await page.goto(pathToFileURL(file).href);
await page.waitForSelector('.flame-canvas');
await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const openMs = Date.now() - began;

const redraws = (times) => page.evaluate(async (times) => {
  const canvas = document.querySelector('.flame-canvas');
  const box = canvas.parentElement;
  const context = canvas.getContext('2d');
  const took = [];
  for (let i = 0; i < times; ++i) {
    delete canvas.dataset.drawMs;
    box.dispatchEvent(new Event('scroll')); // draws everything again
    while (canvas.dataset.drawMs === undefined) await new Promise((done) => requestAnimationFrame(done));
    const painting = performance.now();
    context.getImageData(0, 0, 1, 1);
    took.push(Number(canvas.dataset.drawMs) + performance.now() - painting);
  }
  took.sort((a, b) => a - b);
  return {median: took[took.length >> 1], p90: took[Math.floor(took.length * 0.9)], rects: Number(canvas.dataset.rects)};
}, times);

// How long a press of a button keeps the page busy.
const press = (name) => page.evaluate(async (name) => {
  const button = [...document.querySelectorAll('button')].find((one) => one.textContent === name);
  const pressed = performance.now();
  button.click();
  await new Promise((done) => setTimeout(done)); // the page draws what it was told
  return performance.now() - pressed;
}, name);

const whole = await redraws(Number(count));
const search = await page.evaluate(async () => {
  const box = document.querySelector('input[type=search]');
  box.value = 'Method1';
  const typed = performance.now();
  box.dispatchEvent(new Event('input', {bubbles: true}));
  await new Promise((done) => setTimeout(done));
  return performance.now() - typed;
});
const matched = await redraws(Number(count));
const invert = await press('Invert');
const inverted = await redraws(Number(count));
await press('Invert');
const hide = await press('Hide framework');
console.log(JSON.stringify({openMs, whole, matched, inverted, searchMs: search, invertMs: invert, hideMs: hide, troubles: troubles.filter((one) => !one.includes('willReadFrequently'))}));
await close();
