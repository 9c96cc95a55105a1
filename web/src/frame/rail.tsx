// The rail: all pages in groups. On a phone it opens as a menu.
import {useEffect, useState} from 'preact/hooks';
import type {Group, Page} from '../page';
import {basePath, type Place} from './router';

interface RailProps {
  place: Place;
  pages: Page[];
  groups: [Group, string][];
  page?: Page;
  hrefOf: (page: Page) => string;
  isAllowed?: (page: Page) => boolean;
  isSignedIn: boolean;
}

export function Rail({place, pages, groups, page, hrefOf, isAllowed = () => true, isSignedIn}: RailProps) {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [place.path, place.query.get('pid')]);
  return (
    <nav class={isOpen ? 'rail open' : 'rail'} aria-label="Pages">
      <button type="button" class="menu" aria-expanded={isOpen} aria-controls="rail-list" onClick={() => setOpen(!isOpen)}>
        {page?.title ?? 'Pages'} ▾
      </button>
      <div id="rail-list">
        {groups.map(([group, title]) => (
          <section key={group} aria-label={title}>
            <ul>
              {pages
                .filter((one) => one.group === group && !one.isHidden)
                .map((one) => (
                  <li key={one.path}>
                    <a href={hrefOf(one)} aria-current={one === page ? 'page' : one.path === page?.parent ? 'true' : undefined} data-key={one.key} class={isAllowed(one) ? '' : 'refused'} title={isAllowed(one) ? undefined : `needs the scope ${one.scope}`}>
                      {one.title}
                    </a>
                  </li>
                ))}
            </ul>
          </section>
        ))}
        {isSignedIn ? (
          <form class="sign-out" method="post" action={`${basePath()}/sign-out`}>
            <button type="submit">Sign out</button>
          </form>
        ) : null}
      </div>
    </nav>
  );
}
