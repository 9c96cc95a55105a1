// What a view is: it takes over an element that the server has already filled with text, and makes it richer.
//
// A page names its view: <main data-view="counters" data-source="counters?pid=7">. The text inside stays until the
// view has something better to show, so that a page without scripts or without data still says something.
import type {Api} from './api/client';

export interface View {
  id: string; // as in data-view
  title: string;
  start(root: HTMLElement, api: Api): Promise<void> | void;
}

// Most views ask once and draw: the data comes in, DOM goes out.
export function loadedView<Data>(parts: {
  id: string;
  title: string;
  load(root: HTMLElement, api: Api): Promise<Data>;
  render(root: HTMLElement, data: Data): void;
}): View {
  return {
    id: parts.id,
    title: parts.title,
    async start(root, api) {
      parts.render(root, await parts.load(root, api));
    },
  };
}
