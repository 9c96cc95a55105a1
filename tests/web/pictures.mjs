// Takes the pictures of the documentation, of what the tests look at.
//   node tests/web/pictures.mjs DIR [PAGE…]
import {join} from 'node:path';
import * as kit from './kit.mjs';
import {build} from './world.mjs';

const [folder, ...chosen] = process.argv.slice(2);
const pages = {
  overview: {path: '/', wait: 12_000},
  stacks: {path: '/stacks', wait: 300},
  counters: {path: '/counters', wait: 20_000},
  gc: {path: '/views/gc', wait: 12_000},
  exceptions: {path: '/views/exceptions', wait: 5_000},
  record: {path: '/record', wait: 300},
  doctor: {path: '/doctor', wait: 300, doctor: true},
  phone: {path: '/', wait: 12_000, viewport: {width: 390, height: 800}},
  dark: {path: '/counters', wait: 12_000, colorScheme: 'dark'},
};

try {
  const world = await build();
  await Promise.all(
    Object.entries(pages)
      .filter(([name]) => chosen.length === 0 || chosen.includes(name))
      .map(async ([name, one]) => {
        const visitor = await kit.Visitor.come(world.server, {viewport: one.viewport ?? {width: 1200, height: 760}, colorScheme: one.colorScheme ?? 'light'});
        const page = await visitor.open(`${one.path}?pid=${world.sick.pid}`);
        if (one.doctor) {
          await Promise.all([page.waitForURL(/\/doctor\/reports\//, {timeout: 60_000}), page.click('[data-refresh]')]);
        }
        await page.waitForTimeout(one.wait);
        await page.screenshot({path: join(folder, `${name}.png`)});
        await visitor.leave();
      }),
  );
} finally {
  await kit.endAll();
}
