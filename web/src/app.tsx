// The one script of the pages: finds the views that a page names and starts them.
import {Api, messageOf} from './api/client';
import {startCopyButtons} from './ui/copy';
import {startForms, startKeys} from './ui/keys';
import {showTrouble} from './ui/trouble';
import {startThemeSwitch} from './ui/theme';
import {views} from './views';

function startViews(api: Api): void {
  for (const root of document.querySelectorAll<HTMLElement>('[data-view]')) {
    const view = views.find((one) => one.id === root.dataset.view);
    if (!view) continue; // the server's text is the page
    Promise.resolve()
      .then(() => view.start(root, api))
      .catch((error: unknown) => showTrouble(root, messageOf(error)));
  }
}

document.documentElement.dataset.scripts = ''; // what needs no script may hide, what needs one may show
startThemeSwitch();
startCopyButtons();
startKeys();
startForms();
startViews(new Api(document.documentElement.dataset.base ?? ''));
