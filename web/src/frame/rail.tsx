// The rail: all pages in groups. On a phone it opens as a menu.
import {useEffect, useState} from 'preact/hooks';
import type {Group, Page} from '../page';
import {pages} from '../pages';
import {useStatus} from './processes';
import {addressOf, basePath, type Place} from './router';

const kGroups: [Group, string][] = [
  ['process', 'Process'],
  ['views', 'Views'],
  ['server', 'Server'],
];

export function Rail({place, page, pid}: {place: Place; page?: Page; pid: number}) {
  const [isOpen, setOpen] = useState(false);
  const {data: status} = useStatus();
  useEffect(() => setOpen(false), [place.path, place.query.get('pid')]);
  const isAllowed = (one: Page) => !one.scope || !status?.caller || status.caller.scopes.includes(one.scope);
  return (
    <nav class={isOpen ? 'rail open' : 'rail'} aria-label="Pages">
      <button type="button" class="menu" aria-expanded={isOpen} aria-controls="rail-list" onClick={() => setOpen(!isOpen)}>
        {page && !page.isHidden ? page.title : 'Pages'} ▾
      </button>
      <div id="rail-list">
        {kGroups.map(([group, title]) => (
          <section key={group} aria-label={title}>
            <ul>
              {pages
                .filter((one) => one.group === group && !one.isHidden)
                .map((one) => (
                  <li key={one.path}>
                    <a href={addressOf(one.path, one.path === '/' ? {} : {pid: pid || undefined})} aria-current={one === page ? 'page' : undefined} data-key={one.key} class={isAllowed(one) ? '' : 'refused'} title={isAllowed(one) ? undefined : `needs the scope ${one.scope}`}>
                      {one.title}
                    </a>
                  </li>
                ))}
            </ul>
          </section>
        ))}
        {status?.caller?.signedIn ? (
          <form class="sign-out" method="post" action={`${basePath()}/sign-out`}>
            <button type="submit">Sign out</button>
          </form>
        ) : null}
      </div>
    </nav>
  );
}
