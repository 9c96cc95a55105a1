// How soon the pages of a real controller show something, over loopback; prints JSON: milliseconds by path, median.
//   tests/web/open first_paint.mjs TIMES
import * as kit from './kit.mjs';

const times = Number(process.argv[2] ?? 5);
try {
  const [sick] = await Promise.all([kit.patient('sick'), kit.openBrowser()]);
  const server = await kit.serve('--allow', String(sick.pid));
  const visitor = await kit.Visitor.come(server);
  const first = await visitor.open('/');
  await first.locator('.rail a').first().waitFor();
  const paths = await first.$$eval('.rail a', (all) => all.map((link) => link.getAttribute('href')));
  const medians = {};
  for (const path of paths) {
    const took = [];
    for (let i = 0; i < times; ++i) {
      const page = await visitor.open(path);
      took.push(await kit.firstPaintMs(page));
      await page.close();
    }
    took.sort((a, b) => a - b);
    medians[new URL(path, server.url).pathname] = took[took.length >> 1];
  }
  console.log(JSON.stringify(medians));
} finally {
  await kit.endAll();
}
process.exit(0); // what still waits for the controller's last words does not matter
