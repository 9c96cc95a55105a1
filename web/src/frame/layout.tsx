// What is around every page of a server: top bar, rail, status strip, keys.
import type {ComponentChildren} from 'preact';
import {useEffect, useErrorBoundary} from 'preact/hooks';
import type {Group, Page} from '../page';
import {Notice} from '../ui/state';
import {Keys} from './keys';
import {Rail} from './rail';
import {matchPath, type Place} from './router';

export interface Found {
  page: Page;
  values: Record<string, string>; // of the {braces} in its path
}

export function findPage(pages: Page[], path: string): Found | undefined {
  for (const page of pages) {
    const values = matchPath(page.path, path);
    if (values) return {page, values};
  }
  return undefined;
}

interface LayoutProps {
  place: Place;
  pages: Page[];
  groups: [Group, string][];
  found?: Found;
  home: string; // address behind the name
  hrefOf: (page: Page) => string;
  isAllowed?: (page: Page) => boolean;
  isSignedIn: boolean;
  about?: string; // the process, for the title of the window
  keys: [string, string][]; // beside those of the pages
  top: ComponentChildren;
  strip: ComponentChildren;
  children: ComponentChildren;
}

export function Layout({place, pages, groups, found, home, hrefOf, isAllowed, isSignedIn, about, keys, top, strip, children}: LayoutProps) {
  const page = found?.page;
  useEffect(() => {
    document.title = [page?.title ?? 'Not found', about, 'clrscope'].filter(Boolean).join(' · ');
  }, [page, about]);
  useEffect(() => {
    document.getElementById('main')?.focus({preventScroll: true});
  }, [place.path]);
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href={home}>
          clrscope
        </a>
        {top}
        <span class="tools">
          <button type="button" data-theme-switch>
            theme
          </button>{' '}
          <button type="button" data-keys aria-label="Keyboard help">
            ?
          </button>
        </span>
      </header>
      <div class="frame">
        <Rail place={place} pages={pages} groups={groups} page={page} hrefOf={hrefOf} isAllowed={isAllowed} isSignedIn={isSignedIn} />
        <main id="main" tabIndex={-1} data-page={page?.path ?? ''}>
          <Guarded key={`${place.path} ${place.query.get('pid') ?? ''}`}>{children}</Guarded>
        </main>
      </div>
      {strip}
      <Keys pages={pages} hrefOf={hrefOf} others={keys} />
    </>
  );
}

// What a page throws while it is drawn does not take the frame with it.
export function Guarded({children}: {children: ComponentChildren}) {
  const [error, reset] = useErrorBoundary();
  if (!error) return <>{children}</>;
  return (
    <>
      <h1>This page failed</h1>
      <Notice kind="trouble" hint="Reload it. If it fails again, please report it with these words and the address.">
        {error instanceof Error ? error.message : String(error)}
      </Notice>
      <p class="bar">
        <button type="button" class="main" onClick={reset}>
          Try again
        </button>
        <a class="button" href={location.href} data-outside>
          Reload
        </a>
      </p>
    </>
  );
}

export function NotFound({path, children}: {path: string; children: ComponentChildren}) {
  return (
    <>
      <h1>Not found</h1>
      <p>
        There is no page <code>{path}</code>.
      </p>
      <p>{children}</p>
    </>
  );
}
