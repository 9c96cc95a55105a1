// HTTP requests of a process: those that it serves right now, and a profile of those that it serves for some seconds.
import {useEffect, useState} from 'preact/hooks';
import {problemOf, useAnswer, useApi} from '../api/answer';
import type {Problem} from '../api/client';
import type {RequestsInFlight} from '../api/types';
import {useScope} from '../frame/processes';
import {addressOf, setQuery, useParam} from '../frame/router';
import type {PageProps} from '../page';
import {formatMs} from '../ui/format';
import {useOpenParam} from '../ui/fold';
import {Age, Ended, Loaded, Notice, Trouble, useNow} from '../ui/state';
import {findTrace} from '../views/requests/profile';
import {ProfileView} from '../views/requests/profile-view';
import type {RequestProfile} from '../views/requests/types';
import {RequestsView} from '../views/requests/view';
import {Filter} from '../views/stacks/bar';

const kMostSeconds = 600;
const kSamples: [string, string][] = [
  ['', 'automatic, within 1 % of its CPU time'],
  ['1', 'every request'],
  ['0.1', '10 %'],
  ['0.01', '1 %'],
];

export function Requests({pid, process}: PageProps) {
  const [tab] = useParam('tab');
  const isProfile = tab === 'profile';
  const whose = `${process ? ` of ${process.name}` : ''} (${pid})`;
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

interface Kept {
  profile: RequestProfile;
  at: number; // when it came
}

interface Run {
  began: number;
  seconds: number;
}

const kept = new Map<number, Kept>(); // the last profile of each process, for readers who come back to the page
const running = new Map<number, Run>();

function Profile({pid, isGone}: {pid: number; isGone: boolean}) {
  const isAllowed = useScope('trace');
  const api = useApi();
  const [include, setInclude] = useParam('include');
  const [exclude, setExclude] = useParam('exclude');
  const [sample, setSample] = useParam('sample');
  const [secondsText, setSeconds] = useParam('seconds', '10');
  const [last, setLast] = useState(kept.get(pid));
  const [run, setRun] = useState(running.get(pid));
  const [problem, setProblem] = useState<Problem>();
  const seconds = Math.min(Math.max(Math.round(Number(secondsText)) || 10, 1), kMostSeconds);
  useEffect(() => {
    if (!run) return undefined;
    // A run that another visit to this page began: its answer comes to `kept`.
    const timer = setInterval(() => {
      if (running.get(pid) === run) return;
      setRun(running.get(pid));
      setLast(kept.get(pid));
    }, 500);
    return () => clearInterval(timer);
  }, [run]);
  if (!isAllowed)
    return (
      <Notice kind="trouble" hint="Ask for a key with the scope trace: clrscope key create --scopes read,trace">
        Not permitted: profiling loads the agent into the process and measures its methods.
      </Notice>
    );
  const start = async () => {
    const began: Run = {began: Date.now(), seconds};
    running.set(pid, began);
    setRun(began);
    setProblem(undefined);
    setQuery({route: undefined, trace: undefined, range: undefined, span: undefined, folded: undefined, show: undefined});
    const words = new URLSearchParams({pid: String(pid), include, durationSeconds: String(seconds)});
    if (exclude) words.set('exclude', exclude);
    if (sample) words.set('sample', sample);
    try {
      kept.set(pid, {profile: await api.get<RequestProfile>(`requests?${words}`), at: Date.now()});
      setLast(kept.get(pid));
    } catch (error) {
      setProblem(problemOf(error));
    }
    running.delete(pid);
    setRun(undefined);
  };
  return (
    <>
      {isGone ? <Ended /> : null}
      <form
        class="bar profile-form"
        onSubmit={(event) => {
          event.preventDefault();
          void start();
        }}
      >
        <label>
          Methods
          <input class="mono" required aria-label="Methods to measure" placeholder="MyCompany.Shop.*" title="Patterns of Namespace.Type.Method, separated by commas; * stands for any text" value={include} onInput={(event) => setInclude(event.currentTarget.value)} />
        </label>
        <label>
          without
          <input class="mono" aria-label="Methods to leave out" placeholder="none" value={exclude} onInput={(event) => setExclude(event.currentTarget.value)} />
        </label>
        <label>
          sample
          <select aria-label="Requests to sample" value={sample} onChange={(event) => setSample(event.currentTarget.value)}>
            {kSamples.map(([value, title]) => (
              <option key={value} value={value}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <label>
          for
          <input type="number" aria-label="Seconds" min="1" max={kMostSeconds} value={secondsText} onInput={(event) => setSeconds(event.currentTarget.value)} /> s
        </label>
        <button class="main" disabled={isGone || !!run}>
          Profile requests
        </button>
        {run ? <Progress run={run} /> : last ? <Age at={last.at} /> : null}
      </form>
      {problem ? <Trouble problem={problem} /> : null}
      {last ? (
        <ProfileView profile={last.profile} />
      ) : run ? null : (
        <p class="dim">
          The agent is loaded into the process and measures the methods that the patterns select, while they serve requests. Nothing is restarted; the measured code is removed at the end. Choose your own namespaces, not the framework's.
        </p>
      )}
    </>
  );
}

function Progress({run}: {run: Run}) {
  const gone = useNow() - run.began;
  const left = run.seconds * 1000 - gone;
  return (
    <span class="dim" role="status" data-profiling>
      {left > 0 ? `Profiling: ${formatMs(Math.max(0, Math.round(gone / 1000) * 1000))} of ${run.seconds} s` : 'Waiting for the answer …'}
    </span>
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
        {(profile) => <ProfileView profile={profile} />}
      </Loaded>
    </>
  );
}
