// The flame graph of a trace, for pages: <main data-view="flame" data-source="flame?recording=7">.
import {loadedView} from '../../view';
import type {FlameJson} from './data';
import {Viewer} from './viewer';

export const flame = loadedView<FlameJson>({
  id: 'flame',
  title: 'Flame graph',
  load: (root, api) => api.get<FlameJson>(root.dataset.source ?? ''),
  render: (root, data) => void new Viewer(root, data),
});
