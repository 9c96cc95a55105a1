// The routes, for people who write programs: made from the description that programs read.
import {useAnswer, useApi} from '../api/answer';
import {useParam} from '../frame/router';
import type {PageProps} from '../page';
import {useOpenParam} from '../ui/fold';
import {Loaded} from '../ui/state';
import {type Description, Routes, routesOf} from '../views/check/routes';

export function Api({pid}: PageProps) {
  const api = useApi();
  const answer = useAnswer<Description>('openapi.json');
  const [filter, setFilter] = useParam('q');
  const open = useOpenParam('open');
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return (
    <>
      <h1>API</h1>
      <p>
        Every page is a route: asked with <code>Accept: application/json</code> or <code>?accept=application/json</code> it answers with its data.{' '}
        <a href={api.address('openapi.json')} target="_blank" rel="noreferrer" data-outside>
          openapi.json
        </a>{' '}
        describes all of them. Programs send <code>Authorization: Bearer KEY</code>; <code>clrscope key create</code> makes a key.
      </p>
      <Loaded answer={answer}>
        {(description) => {
          const routes = routesOf(description);
          const shown = routes.filter(({id, operation}) => words.every((word) => `${id} ${operation.summary ?? ''} ${operation['x-scope'] ?? ''}`.toLowerCase().includes(word)));
          return (
            <>
              <p class="bar">
                <label>
                  Filter <input type="search" value={filter} placeholder="path, word, scope" onInput={(event) => setFilter(event.currentTarget.value)} />
                </label>
                <span class="dim" role="status">
                  {shown.length} of {routes.length} routes, version {description.info.version}
                </span>
              </p>
              <Routes routes={shown} open={open} origin={`${location.origin}${api.base}`} pid={pid} />
            </>
          );
        }}
      </Loaded>
    </>
  );
}
