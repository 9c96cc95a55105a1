// The app: all pages of a controller or of a fleet server, or one page with its data inside (the single HTML files of flame, stacks, doctor).
import {render} from 'preact';
import {ApiContext} from './api/answer';
import {Api} from './api/client';
import {FleetFrame} from './frame/fleet-frame';
import {Frame} from './frame/frame';
import {findPage} from './frame/layout';
import {basePath, startRouter} from './frame/router';
import {fleetPages, pages} from './pages';
import {startScrollMemory} from './frame/scroll';
import {isFleet} from './server';
import {singles} from './pages/singles';
import {startThemeSwitch} from './ui/theme';

const root = document.getElementById('app');
const embedded = document.getElementById('data');
if (root && embedded) {
  document.body.classList.add('single');
  startRouter(() => false);
  render(singles[embedded.dataset.kind ?? ''](JSON.parse(embedded.textContent ?? '')), root);
} else if (root) {
  startScrollMemory();
  startRouter((path) => findPage(isFleet() ? fleetPages : pages, path) !== undefined);
  render(
    <ApiContext.Provider value={new Api(basePath())}>
      {isFleet() ? <FleetFrame /> : <Frame />}
    </ApiContext.Provider>,
    root,
  );
}
startThemeSwitch();
