// The address is the state: path, process, filters, zoom. Everything a page remembers across reload, back and forward
// is a query parameter, read and written here.
import {useEffect, useState} from 'preact/hooks';
import {rememberScroll} from './scroll';

export interface Place {
  path: string; // without the base path: "/stacks"
  query: URLSearchParams;
  hash: string;
}

// Query parameters by name; empty or undefined ones are left out.
export type Query = Record<string, string | number | undefined>;

const listeners = new Set<() => void>();
let held: string | undefined; // where the address may not be changed, as of some files opened from disk: what it would be

export function basePath(): string {
  return document.documentElement.dataset.base ?? '';
}

export function currentPlace(): Place {
  const base = basePath();
  const {pathname, searchParams, hash} = new URL(held ?? location.href, location.href);
  const path = pathname.startsWith(base) ? pathname.slice(base.length) : pathname;
  return {path: path.replace(/(.)\/$/, '$1') || '/', query: searchParams, hash};
}

// The address of a page, as an href.
export function addressOf(path: string, query: Query = {}): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== '') words.set(name, String(value));
  const text = words.toString();
  return `${basePath()}${path}${text ? `?${text}` : ''}`;
}

function changed(): void {
  for (const listener of [...listeners]) listener();
}

// Opens an address of the app: a new entry in the history, or in place of the current one.
export function open(address: string, how: 'push' | 'replace' = 'push'): void {
  if (address === location.pathname + location.search + location.hash) return;
  try {
    if (how === 'push') {
      rememberScroll();
      history.pushState(null, '', address);
    } else history.replaceState(history.state, '', address);
  } catch {
    held = address; // holds until reload
  }
  changed();
}

// Changes query parameters of the current address. `undefined` and '' remove one.
export function setQuery(changes: Query, how: 'push' | 'replace' = 'replace'): void {
  const {query} = currentPlace();
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') query.delete(name);
    else query.set(name, String(value));
  }
  const text = query.toString();
  open(`${location.pathname}${text ? `?${text}` : ''}${location.hash}`, how);
}

export function usePlace(): Place {
  const [place, setPlace] = useState(currentPlace);
  useEffect(() => {
    const update = () => setPlace(currentPlace());
    listeners.add(update);
    update(); // it may have changed between the first render and now
    return () => void listeners.delete(update);
  }, []);
  return place;
}

// One query parameter as state: [value, setValue]. The fallback is not written to the address.
export function useParam(name: string, fallback = ''): [string, (value: string, how?: 'push' | 'replace') => void] {
  const {query} = usePlace();
  return [query.get(name) ?? fallback, (value, how = 'replace') => setQuery({[name]: value === fallback ? undefined : value}, how)];
}

// undefined: "%E0" and the like are no text.
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

// Values of the {braces} if `path` fits the pattern; undefined if it does not.
export function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const [wanted, given] = [pattern.split('/'), path.split('/')];
  if (wanted.length !== given.length) return undefined;
  const values: Record<string, string> = {};
  for (const [i, part] of wanted.entries()) {
    if (part.startsWith('{') && given[i]) {
      const value = decoded(given[i]);
      if (value === undefined) return undefined;
      values[part.slice(1, -1)] = value;
    } else if (part !== given[i]) return undefined;
  }
  return values;
}

function isOwnLink(link: HTMLAnchorElement): boolean {
  if (link.target || link.hasAttribute('download') || link.dataset.outside !== undefined) return false;
  return link.origin === location.origin && link.pathname.startsWith(`${basePath()}/`);
}

// Links between pages change the address without loading the document again; `isPage` tells which paths are pages.
export function startRouter(isPage: (path: string) => boolean): void {
  window.addEventListener('popstate', changed);
  window.addEventListener('hashchange', changed);
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!link || !link.getAttribute('href') || !isOwnLink(link)) return;
    if (link.hash && link.pathname === location.pathname && link.search === location.search) return; // within the page
    if (!isPage(link.pathname.slice(basePath().length) || '/')) return;
    event.preventDefault();
    open(link.pathname + link.search + link.hash);
    window.scrollTo(0, 0);
  });
}
