// HTTP requests of a process: those that it serves right now, and profiles of those that it serves for a while. A profile goes on
// when the reader leaves; its id is in the address.
import {useEffect, useRef, useState} from 'preact/hooks';
import {problemOf, useAnswer, useApi} from '../api/answer';
import type {Problem} from '../api/client';
import type {RequestProfile, RequestRun, RequestRunReport, RequestsInFlight} from '../api/types';
import {processLabel, useScope} from '../frame/processes';
import {addressOf, type Query, setQuery, useParam} from '../frame/router';
import type {PageProps} from '../page';
import {Fold, useOpenParam} from '../ui/fold';
import {Age, Ended, Loaded, Notice, Trouble} from '../ui/state';
import {kMostSeconds, ProfileForm} from '../views/requests/form';
import {findTrace} from '../views/requests/profile';
import {ProfileView} from '../views/requests/profile-view';
import {RunCard, RunTable} from '../views/requests/run';
import {RequestsView} from '../views/requests/view';
import {Filter} from '../views/stacks/bar';

export function Requests({pid, process}: PageProps) {
  const [tab] = useParam('tab');
  const isProfile = tab === 'profile';
  const whose = ` of ${process ? processLabel(process) : pid}`;
  const choice = (title: string, name: string, isShown: boolean) => (
    <a href={addressOf('/views/requests', {pid, tab: name})} aria-current={isShown ? 'page' : undefined}>
      {title}
    </a>
  );
  return (
    <>
      <h1>{isProfile ? `Request profile${whose}` : `Requests in flight${whose}`}</h1>
      <nav class="bar tabs" aria-label="Requests">
        {choice('In flight', '', !isProfile)}
        {choice('Profile', 'profile', isProfile)}
      </nav>
      {isProfile ? <Profile key={pid} pid={pid} isGone={!process} /> : <InFlight pid={pid} />}
    </>
  );
}

function InFlight({pid}: {pid: number}) {
  const [filter, setFilter] = useParam('filter');
  const answer = useAnswer<RequestsInFlight>(`views/requests?pid=${pid}`);
  const open = useOpenParam('open');
  return (
    <div class="stacks-view">
      <div class="bar stacks-bar">
        <Filter value={filter} onChange={setFilter} label="Filter requests" example="filter paths, methods, trace ids" />
        <button type="button" class="main" data-refresh aria-busy={answer.isLoading} onClick={answer.refresh}>
          Refresh
        </button>
        <Age at={answer.at} />
      </div>
      <Loaded answer={answer} waiting="Reading the requests of the process …">
        {(data) => <RequestsView data={data} filter={filter} open={open} />}
      </Loaded>
    </div>
  );
}

const kPollMs = 1000;
const kListMs = 3000;
// What belongs to what is shown of one profile.
const kOfOne: Query = {route: undefined, trace: undefined, range: undefined, span: undefined, folded: undefined, show: undefined, new: undefined};

// The profile in the address; without one, the one that runs, or the newest that is kept.
function useRun(runs: RequestRun[] | undefined): string {
  const [run] = useParam('run');
  const newest = runs?.find((one) => one.running) ?? runs?.[0];
  useEffect(() => {
    if (!run && newest) setQuery({run: newest.id});
  }, [run, newest?.id]);
  return run;
}

function Profile({pid, isGone}: {pid: number; isGone: boolean}) {
  const isAllowed = useScope('trace');
  const api = useApi();
  const list = useAnswer<RequestRun[]>(isAllowed ? 'requests/runs' : undefined, {everyMs: kListMs});
  const discarded = useRef(new Set<string>()); // the list may be older
  const runs = list.data?.filter((one) => one.process.pid === pid && !discarded.current.has(one.id));
  const shown = useRun(runs);
  const mine = runs?.find((one) => one.id === shown);
  const running = runs?.find((one) => one.running);
  const [include, setInclude] = useParam('include', mine?.include.join(', '));
  const [exclude, setExclude] = useParam('exclude', mine?.exclude?.join(', '));
  const [sample, setSample] = useParam('sample', mine?.probability === undefined ? '' : String(mine.probability));
  const [seconds, setSeconds] = useParam('seconds', mine ? String(mine.plannedMs / 1000) : '10');
  const open = useOpenParam('new', shown ? undefined : 'form');
  const [isStarting, setStarting] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  if (!isAllowed)
    return (
      <Notice kind="trouble" hint="Ask for a key with the scope trace: clrscope key create --scopes read,trace">
        Not permitted: profiling loads the agent into the process and measures its methods.
      </Notice>
    );
  const setters = {include: setInclude, exclude: setExclude, sample: setSample, seconds: setSeconds};
  const start = async () => {
    setStarting(true);
    setProblem(undefined);
    const planned = Math.min(Math.max(Math.round(Number(seconds)) || 10, 1), kMostSeconds);
    const words = new URLSearchParams({pid: String(pid), include, durationSeconds: String(planned)});
    if (exclude) words.set('exclude', exclude);
    if (sample) words.set('sample', sample);
    try {
      const made = await api.post<RequestRun>(`requests?${words}`);
      setQuery({...kOfOne, run: made.id}, 'push');
    } catch (error) {
      setProblem(problemOf(error));
      await showOther();
    }
    list.refresh();
    setStarting(false);
  };
  // Somebody else began meanwhile: that one is shown.
  const showOther = async () => {
    const all = await api.get<RequestRun[]>('requests/runs').catch(() => []);
    const other = all.find((one) => one.running && one.process.pid === pid);
    if (other) setQuery({...kOfOne, run: other.id}, 'push');
  };
  const others = running && running.id !== shown;
  return (
    <>
      <Fold id="form" open={open} summary={running ? 'Another profile, when this one has ended' : 'Profile requests for a while'}>
        <ProfileForm choice={{include, exclude, sample, seconds}} isDisabled={isGone || isStarting || !!running} onChange={(name, value) => setters[name](value)} onStart={() => void start()} />
      </Fold>
      {problem ? <Trouble problem={problem} /> : null}
      {others ? (
        <Notice>
          Another profile of this process is running. <a href={addressOf('/views/requests', {pid, tab: 'profile', run: running.id})}>Show it</a>
        </Notice>
      ) : null}
      {shown ? (
        <OneRun key={shown} id={shown} isGone={isGone} onEnd={list.refresh} onDiscard={() => discarded.current.add(shown)} />
      ) : list.data === undefined ? (
        <Loaded answer={list}>{() => null}</Loaded>
      ) : (
        <p class="dim">
          The agent is loaded into the process and measures the methods that the patterns select, while they serve requests. Nothing is restarted; the measured code is removed at the end. Choose your own namespaces, not the framework's.
        </p>
      )}
      {runs?.length ? <RunTable runs={runs} shown={shown} tab="profile" /> : null}
    </>
  );
}

// One profile of the controller: all who open its address see the same.
function OneRun({id, isGone, onEnd, onDiscard}: {id: string; isGone: boolean; onEnd: () => void; onDiscard: () => void}) {
  const api = useApi();
  const [route] = useParam('route');
  const [trace] = useParam('trace');
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const path = `requests/runs/${encodeURIComponent(id)}`;
  const words = new URLSearchParams({requests: 'true', traceId: trace});
  // Single requests cost the process a little while it is profiled; when it has ended, the answer has all.
  const asked = useRef({path, isLast: false});
  if (!asked.current.isLast) asked.current.path = route || trace ? `${path}?${words}` : path;
  const answer = useAnswer<RequestRunReport>(asked.current.path, {everyMs: kPollMs, isLast: (data) => !data.running});
  const isRunning = answer.data?.running;
  asked.current.isLast = isRunning === false;
  useEffect(() => {
    if (isRunning === false) onEnd();
  }, [isRunning]);
  const act = async (method: string, where: string) => {
    setBusy(true);
    setProblem(undefined);
    try {
      await api.send(method, where);
      if (method === 'DELETE') {
        onDiscard();
        setQuery({...kOfOne, run: undefined});
      } else {
        answer.refresh();
      }
    } catch (error) {
      setProblem(problemOf(error));
    }
    setBusy(false);
    onEnd();
  };
  return (
    <Loaded answer={answer} waiting="Asking for the profile …">
      {(data) => (
        <>
          {isGone || data.ending === 'exited' ? <Ended at={data.ending === 'exited' ? data.updated : undefined} /> : null}
          {problem ? <Trouble problem={problem} /> : null}
          <RunCard run={data} isBusy={isBusy} onStop={() => void act('POST', `${path}/stop`)} onDiscard={() => void act('DELETE', path)} />
          {data.error ? (
            <Notice kind="trouble" hint={data.hint}>
              {data.error}
            </Notice>
          ) : null}
          {data.profile ? <ProfileView profile={data.profile} isLive={data.running} /> : data.running ? <p role="status">Waiting for the first data …</p> : null}
        </>
      )}
    </Loaded>
  );
}

// The same views of a recording. A request that the controller left out of its list is asked for by its trace id.
export function RecordedRequests({values}: PageProps) {
  const [trace] = useParam('trace');
  const [wanted, setWanted] = useState(trace);
  const answer = useAnswer<RequestProfile>(`recordings/${encodeURIComponent(values.id)}/requests${wanted ? `?traceId=${encodeURIComponent(wanted)}` : ''}`);
  const isMissing = trace !== '' && trace !== wanted && answer.data !== undefined && findTrace(answer.data, trace).length === 0;
  useEffect(() => {
    if (isMissing) setWanted(trace);
  }, [isMissing, trace]);
  return (
    <>
      <h1>Requests of a recording</h1>
      <p class="bar">
        <a href={addressOf('/recordings', {recording: values.id})}>Formats and reports</a>
        <a href={addressOf('/flame', {recording: values.id})}>Flame graph of the whole recording</a>
      </p>
      <Loaded answer={answer} waiting="Reading the recording …">
        {(profile) => <ProfileView profile={profile} recording={values.id} />}
      </Loaded>
    </>
  );
}
