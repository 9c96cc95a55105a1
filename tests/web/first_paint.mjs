// How soon the pages of a real controller show something, and what they are about, over loopback; prints JSON: milliseconds by path, medians.
//   tests/web/open first_paint.mjs TIMES
import * as kit from './kit.mjs';
import {settled} from './shell.mjs';

const times = Number(process.argv[2] ?? 5);
try {
  const [sick] = await Promise.all([kit.patient('sick'), kit.openBrowser()]);
  const server = await kit.serve('--allow', String(sick.pid));
  const visitor = await kit.Visitor.come(server);
  const first = await visitor.open('/');
  await first.locator('.rail a').first().waitFor();
  const paths = await first.$$eval('.rail a', (all) => all.map((link) => link.getAttribute('href')));
  const median = (took) => took.sort((a, b) => a - b)[took.length >> 1];
  const medians = {};
  for (const path of paths) {
    const [paints, contents] = [[], []];
    for (let i = 0; i < times; ++i) {
      const page = await visitor.open(path);
      await settled(page);
      contents.push(await page.evaluate(() => performance.now())); // since the address was opened
      paints.push(await kit.firstPaintMs(page));
      await page.close();
    }
    medians[new URL(path, server.url).pathname] = {paintMs: median(paints), contentMs: median(contents)};
  }
  console.log(JSON.stringify(medians));
} finally {
  await kit.endAll();
}
process.exit(0); // what still waits for the controller's last words does not matter
