// Two clicks to a flame graph. A recording goes on when the reader leaves; its id is in the address.
import {useEffect, useRef, useState} from 'preact/hooks';
import {problemOf, useAnswer, useApi} from '../api/answer';
import type {Problem} from '../api/client';
import type {Provider, Session, TraceProfile, TraceRequest} from '../api/types';
import {processLabel, useProcesses, useScope, useStatus} from '../frame/processes';
import {addressOf, open, setQuery, useParam} from '../frame/router';
import type {PageProps} from '../page';
import {Loaded, Notice, Trouble} from '../ui/state';
import {hasFlameGraph, Profiles, subjectOf} from '../views/record/profiles';
import {ProviderEditor, readRows, toProviders, writeRows} from '../views/record/providers';
import {Ended, Running} from '../views/record/sessions';

const kPollMs = 500;
const kDefaultSeconds = 5;
const kMostSeconds = 3600;

export function Record({pid, process}: PageProps) {
  const {data: status} = useStatus();
  const [wantsMachine] = useParam('machine');
  const isMachine = !pid || wantsMachine === '1';
  if (!pid && status && !status.machine) return <Which />;
  const title = isMachine ? 'Record the whole machine' : `Record ${process ? processLabel(process) : pid}`;
  return (
    <>
      <h1>{title}</h1>
      <p class="dim">Nothing is restarted. Lost events are counted and shown at the end.</p>
      <Recorder pid={pid} isMachine={isMachine} mayChooseMachine={pid > 0 && status?.machine === true} />
    </>
  );
}

// No process, and the whole machine is not allowed.
function Which() {
  const {data = []} = useProcesses();
  return (
    <>
      <h1>Record</h1>
      <Notice hint="clrscope serve needs CAP_PERFMON, and may not be limited to some processes, to record the whole machine.">The whole machine cannot be recorded here. Choose a process:</Notice>
      <ul class="choices">
        {data.map((one) => (
          <li key={one.pid}>
            <a href={addressOf('/record', {pid: one.pid})}>{processLabel(one)}</a>
          </li>
        ))}
      </ul>
    </>
  );
}

function useSeconds(): [number, (value: string) => void] {
  const [text, setText] = useParam('seconds', String(kDefaultSeconds));
  const number = Math.round(Number(text));
  return [Number.isFinite(number) ? Math.min(Math.max(number, 1), kMostSeconds) : kDefaultSeconds, setText];
}

function Recorder({pid, isMachine, mayChooseMachine}: {pid: number; isMachine: boolean; mayChooseMachine: boolean}) {
  const api = useApi();
  const mayRecord = useScope('trace');
  const [profile, setProfile] = useParam('profile');
  const [seconds, setSeconds] = useSeconds();
  const [providerText, setProviders] = useParam('providers');
  const [isEditing, setEditing] = useParam('edit', providerText ? '1' : '');
  const [current] = useParam('session');
  const [stays, setStays] = useParam('stay');
  const [isStarting, setStarting] = useState(false);
  const [busy, setBusy] = useState('');
  const [problem, setProblem] = useState<Problem>();
  const profiles = useAnswer<TraceProfile[]>('profiles');
  const providers = useAnswer<Provider[]>('providers');
  const sessions = useAnswer<Session[]>('sessions', {everyMs: kPollMs});
  const target = isMachine ? 0 : pid;
  const running = sessions.data?.filter((one) => one.running && (one.process.pid === target || one.id === current)) ?? [];
  const seen = useRef(new Set<string>()); // those that ran while this page was open: their ends are shown
  for (const one of running) seen.current.add(one.id);
  const ended = sessions.data?.filter((one) => !one.running && (one.id === current || seen.current.has(one.id))) ?? [];
  const mineEnded = ended.some((one) => one.id === current);
  const rows = readRows(providerText);

  // The reader who waited for it sees it at once; one who comes back has the link.
  useEffect(() => {
    const mine = ended.find((one) => one.id === current);
    if (!mine || !seen.current.has(mine.id)) return;
    if (!stays && mine.samples > 0) open(addressOf('/flame', {pid: pid || undefined, recording: mine.id}));
  }, [mineEnded]);

  const start = async () => {
    setProblem(undefined);
    setStarting(true);
    try {
      const chosen = toProviders(rows);
      const body: TraceRequest = {durationSeconds: seconds};
      if (isMachine) body.all = true;
      else body.pid = pid;
      if (profile) body.profile = profile;
      if (chosen.length) body.providers = chosen;
      const made = await api.post<Session>('sessions', body);
      seen.current.add(made.id);
      setQuery({session: made.id});
      sessions.refresh();
    } catch (error) {
      setProblem(problemOf(error));
    }
    setStarting(false);
  };
  const act = async (id: string, method: string, path: string) => {
    setBusy(id);
    setProblem(undefined);
    try {
      const answer = await api.send(method, path, undefined, '*/*'); // a stop answers with the file
      await answer.body?.cancel();
    } catch (error) {
      setProblem(problemOf(error));
    }
    setBusy('');
    sessions.refresh();
  };
  const stop = (id: string) => act(id, 'POST', `sessions/${encodeURIComponent(id)}/stop`);
  const discard = (id: string) => {
    if (id === current) setQuery({session: undefined});
    return act(id, 'DELETE', `sessions/${encodeURIComponent(id)}`);
  };
  const known = profiles.data ?? [];
  const subject = rows.length && !profile ? 'CPU and events' : subjectOf(profile);
  const mine = running.some((one) => one.id === current);
  return (
    <div class="record">
      {problem ? <Trouble problem={problem} /> : null}
      {mayRecord ? null : (
        <Notice kind="trouble" hint="Ask whoever runs clrscope for a key with the scope trace.">
          You may not record here: your key lacks the scope trace.
        </Notice>
      )}
      <div class="bar">
        <button type="button" class="main big-button" data-record disabled={isStarting || mine || !mayRecord} onClick={() => void start()}>
          {isStarting ? 'Starting …' : `Record ${seconds} s of ${subject}`}
        </button>
        <label>
          Seconds <input type="number" name="seconds" min={1} max={kMostSeconds} value={seconds} onChange={(event) => setSeconds(event.currentTarget.value)} />
        </label>
        {mayChooseMachine || isMachine ? (
          <label>
            of{' '}
            <select name="target" value={isMachine ? 'machine' : 'process'} disabled={!pid} onChange={(event) => setQuery({machine: event.currentTarget.value === 'machine' ? '1' : undefined})}>
              <option value="process">this process</option>
              <option value="machine">the whole machine</option>
            </select>
          </label>
        ) : null}
        {hasFlameGraph(profile, known) ? (
          <label>
            <input type="checkbox" checked={!stays} onChange={(event) => setStays(event.currentTarget.checked ? '' : '1')} /> open the flame graph when done
          </label>
        ) : null}
      </div>
      <div class="record-now">
        {sessions.problem && !sessions.data ? <Trouble problem={sessions.problem} /> : null}
        {running.map((one) => (
          <Running key={one.id} session={one} isBusy={busy === one.id} onStop={() => void stop(one.id)} onDiscard={() => void discard(one.id)} />
        ))}
        {ended.map((one) => (
          <Ended key={one.id} session={one} pid={pid} />
        ))}
        {current && sessions.data && !mineEnded && !mine && !isStarting && !seen.current.has(current) ? <Notice>The recording {current} is not here any more: it was discarded or deleted.</Notice> : null}
      </div>
      <Loaded answer={profiles} waiting="Asking for the profiles …">
        {(all) => <Profiles profiles={all} chosen={profile} onChoose={(name) => setProfile(name)} />}
      </Loaded>
      <details class="providers" open={isEditing === '1'} onToggle={(event) => setEditing(event.currentTarget.open ? '1' : '0')}>
        <summary>Providers of your own choice{rows.length ? `: ${rows.length}` : ''}</summary>
        <ProviderEditor rows={rows} known={providers.data ?? []} onChange={(next) => setProviders(writeRows(next))} />
      </details>
    </div>
  );
}
