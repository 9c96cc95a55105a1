// The pages of a controller. Finds the page of the address and the process it is about.
import {useEffect} from 'preact/hooks';
import {useAnswer} from '../api/answer';
import type {ProcessInfo, Status} from '../api/types';
import type {Group, Page, PageProps} from '../page';
import {pages} from '../pages';
import {Notice, Trouble} from '../ui/state';
import {findPage, Layout, NotFound} from './layout';
import {Picker} from './picker';
import {FrameContext, processLabel, useProcesses} from './processes';
import {addressOf, open, usePlace} from './router';
import {Strip} from './strip';

const kProcessesMs = 5000;
const kUnsureMs = 15_000; // while one is chosen of which it is not known whether it runs
const kOthersMs = 60_000; // while one is chosen that runs: the others change the picker only, which asks when it is opened
const kStatusMs = 5000;

const kGroups: [Group, string][] = [
  ['process', 'Process'],
  ['views', 'Views'],
  ['server', 'Server'],
];
const kKeys: [string, string][] = [['c', 'choose the process']];

export function Frame() {
  const place = usePlace();
  const pid = Number(place.query.get('pid')) || 0;
  const status = useAnswer<Status>(`status${pid ? `?pid=${pid}` : ''}`, {everyMs: kStatusMs});
  const processes = useAnswer<ProcessInfo[]>('processes', {everyMs: !pid ? kProcessesMs : status.data?.running ? kOthersMs : kUnsureMs}); // at once when that changes
  const found = findPage(pages, place.path);
  const chosen = processes.data?.find((one) => one.pid === pid);
  const scopes = status.data?.caller?.scopes;
  return (
    <FrameContext.Provider value={{processes, status}}>
      <Layout
        place={place}
        pages={pages}
        groups={kGroups}
        found={found}
        home={addressOf('/')}
        hrefOf={(page) => addressOf(page.path, page.path === '/' ? {} : {pid: pid || undefined})}
        isAllowed={(page) => !page.scope || !scopes || scopes.includes(page.scope)}
        isSignedIn={status.data?.caller?.signedIn ?? false}
        about={found?.page.path === '/' ? undefined : chosen ? processLabel(chosen) : pid ? String(pid) : undefined}
        keys={kKeys}
        top={<Picker page={found?.page} pid={pid} />}
        strip={<Strip />}
      >
        {found ? (
          <Body page={found.page} values={found.values} pid={pid} />
        ) : (
          <NotFound path={place.path}>
            <a class="button" href={addressOf('/')}>
              All processes
            </a>{' '}
            <a class="button" href={addressOf('/api')}>
              API
            </a>
          </NotFound>
        )}
      </Layout>
    </FrameContext.Provider>
  );
}

// The page, or the question which process it is about.
function Body({page, values, pid}: {page: Page} & Pick<PageProps, 'values' | 'pid'>) {
  const {data, problem} = useProcesses();
  const {Content} = page;
  const only = data?.find((one) => one.isDefault) ?? (data?.length === 1 ? data[0] : undefined);
  const isAsking = page.about === 'process' && !pid;
  useEffect(() => {
    if (isAsking && only) open(addressOf(page.path, {pid: only.pid}), 'replace');
  }, [isAsking, only?.pid]);
  if (!isAsking) {
    const process = data?.find((one) => one.pid === pid);
    return (
      <>
        {pid && data && !process ? <Notice kind="trouble">Process {pid} has exited or is not visible here. Data that were loaded before stay.</Notice> : null}
        {process && !process.reachable ? (
          <Notice kind="trouble" hint={process.hint}>
            {process.name} ({process.pid}) does not answer on its diagnostic port: {process.reason}
          </Notice>
        ) : null}
        <Content key={`${page.path} ${pid}`} pid={pid} process={process} values={values} />
      </>
    );
  }
  return (
    <>
      <h1>{page.title}</h1>
      {!data && problem ? <Trouble problem={problem} /> : null}
      {data?.length === 0 ? (
        <Notice hint="Processes of other users are visible to root, those of other containers from the host.">No .NET process is running here, or none is visible to clrscope.</Notice>
      ) : null}
      {data && data.length > 1 ? (
        <>
          <p>Choose a process:</p>
          <ul class="choices">
            {data.map((one) => (
              <li key={one.pid}>
                <a href={addressOf(page.path, {pid: one.pid})}>{processLabel(one)}</a>
                {one.reachable ? null : <span class="dim"> not reachable</span>}
              </li>
            ))}
          </ul>
        </>
      ) : null}
    </>
  );
}
