// The app: all pages of a controller, or one page with its data inside (the single HTML files of flame, stacks, doctor).
import {render} from 'preact';
import {ApiContext} from './api/answer';
import {Api} from './api/client';
import {findPage, Frame} from './frame/frame';
import {basePath, startRouter} from './frame/router';
import {singles} from './pages/singles';
import {startThemeSwitch} from './ui/theme';

const root = document.getElementById('app');
const embedded = document.getElementById('data');
if (root && embedded) {
  document.body.classList.add('single');
  startRouter(() => false);
  render(singles[embedded.dataset.kind ?? ''](JSON.parse(embedded.textContent ?? '')), root);
} else if (root) {
  startRouter((path) => findPage(path) !== undefined);
  render(
    <ApiContext.Provider value={new Api(basePath())}>
      <Frame />
    </ApiContext.Provider>,
    root,
  );
}
startThemeSwitch();
