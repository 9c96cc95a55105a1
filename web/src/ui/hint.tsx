// What a server advises to do after a refusal, for programs too: where it names a list, pages link to the page that has it.
import {addressOf, type Query, usePlace} from '../frame/router';

const kLists: Record<string, [path: string, words: string, query?: Query]> = {
  '/processes': ['/', 'All processes'],
  '/watch': ['/', 'All processes'],
  '/recordings': ['/recordings', 'All recordings'],
  '/sessions': ['/sessions', 'All sessions'],
  '/operations': ['/sessions', 'All operations'],
  '/doctor/reports': ['/doctor', 'All reports'],
  '/requests/runs': ['/views/requests', 'All profiles', {tab: 'profile'}],
};

// "GET /recordings lists the recordings; more words": the list and what else is said.
export function partsOf(hint: string): {list?: (typeof kLists)[string]; rest: string} {
  const found = /^GET (\/[a-z/]+) lists [^;]*(?:; (.*))?$/.exec(hint);
  const list = found ? kLists[found[1]] : undefined;
  return list ? {list, rest: found?.[2] ?? ''} : {rest: hint};
}

export function Hint({text}: {text: string}) {
  const pid = usePlace().query.get('pid') ?? undefined;
  const {list, rest} = partsOf(text);
  if (!list) return <>{rest}</>;
  const [path, words, query] = list;
  return (
    <>
      <a href={addressOf(path, {pid: path === '/' ? undefined : pid, ...query})}>{words}</a>
      {rest ? ` · ${rest}` : ''}
    </>
  );
}
