// Records: takes the server's form over, shows what comes in while it runs, and opens the result.
import {render} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';
import {type Api, messageOf} from '../../api/client';
import type {Recording, Session} from '../../api/recordings';
import {flameAddress, formatAddress, speedscopeAddress} from '../../api/recordings';
import type {View} from '../../view';
import {formatBytes, formatNumber} from '../../ui/format';
import {type Keyword, ProviderEditor, type ProviderRow, toProviders} from './providers';

interface Profile {
  name: string;
  summary: string;
}

interface Facts {
  pid: number;
  profiles: Profile[];
  keywords: Keyword[];
  formats: string[];
  hasViewer: boolean;
}

const kPollMs = 500;

function Progress({session, seconds, onStop, onDiscard}: {session: Session; seconds: number; onStop: () => void; onDiscard: () => void}) {
  const elapsed = session.elapsedMs / 1000;
  const rate = elapsed > 0 ? session.events / elapsed : 0;
  return (
    <section class="note" data-recording={session.state}>
      <p role="status">
        <b>{session.state === 'recording' ? 'Recording' : session.state}</b> {elapsed.toFixed(1)} s of {seconds} · {formatNumber(session.events)} events, {formatNumber(rate)}/s · {formatNumber(session.samples)} samples · {formatBytes(session.bytes)} ·{' '}
        <span class={session.lost ? 'warn' : ''}>lost {formatNumber(session.lost)}</span>
      </p>
      <p>
        <progress max={seconds} value={Math.min(elapsed, seconds)} aria-label="Recorded so far" />
      </p>
      <p class="bar">
        <button type="button" class="main" onClick={onStop}>
          Stop
        </button>
        <button type="button" onClick={onDiscard}>
          Discard
        </button>
      </p>
    </section>
  );
}

function Result({api, recording, facts}: {api: Api; recording: Recording; facts: Facts}) {
  return (
    <section class="note" data-result={recording.id}>
      <p>
        <b>{recording.file}</b> {formatBytes(recording.bytes)}, {(recording.durationMs / 1000).toFixed(1)} s, {formatNumber(recording.events)} events, {formatNumber(recording.samples)} samples, lost {formatNumber(recording.lost)}
      </p>
      {recording.notes.map((note) => (
        <p class="hint">{note}</p>
      ))}
      <p class="bar">
        {facts.hasViewer ? (
          <a class="button main" href={flameAddress(api, recording, facts.pid)}>
            Flame graph
          </a>
        ) : null}
        <a class="button" href={speedscopeAddress(api, recording)}>
          speedscope
        </a>
        {facts.formats.map((format) => (
          <a href={formatAddress(api, recording, format)}>{format}</a>
        ))}
      </p>
    </section>
  );
}

function Record({api, facts}: {api: Api; facts: Facts}) {
  const [profile, setProfile] = useState('');
  const [seconds, setSeconds] = useState(5);
  const [opens, setOpens] = useState(facts.hasViewer);
  const [providers, setProviders] = useState<ProviderRow[]>([]);
  const [session, setSession] = useState<Session>();
  const [results, setResults] = useState<Recording[]>([]);
  const [trouble, setTrouble] = useState<{text: string; hint: string}>();
  const [isBusy, setBusy] = useState(false);
  const opensNow = useRef(opens);
  opensNow.current = opens;

  const fail = (error: unknown) => {
    setTrouble(messageOf(error));
    setSession(undefined);
    setBusy(false);
  };
  const finished = (recording: Recording) => {
    setSession(undefined);
    setBusy(false);
    setResults((before) => [recording, ...before]);
    if (opensNow.current && recording.samples > 0) location.assign(flameAddress(api, recording, facts.pid));
  };
  const start = async () => {
    setTrouble(undefined);
    setBusy(true);
    try {
      const chosen = toProviders(providers);
      const body = {pid: facts.pid, durationSeconds: seconds, leaseSeconds: 30, ...(profile ? {profile} : {}), ...(chosen.length ? {providers: chosen} : {})};
      setSession(await api.post<Session>('sessions', body));
    } catch (error) {
      fail(error);
    }
  };
  useEffect(() => {
    if (!session) return undefined;
    const timer = setTimeout(async () => {
      try {
        const now = await api.get<Session>(`sessions/${encodeURIComponent(session.id)}`);
        if (now.running) setSession(now);
        else finished(now);
      } catch (error) {
        fail(error);
      }
    }, kPollMs);
    return () => clearTimeout(timer);
  }, [session]);
  const stop = async () => {
    if (!session) return;
    try {
      const answer = await api.send('POST', `sessions/${encodeURIComponent(session.id)}/stop`);
      await answer.body?.cancel(); // the file is kept: we only wanted its end
    } catch (error) {
      fail(error);
    }
  };
  const discard = async () => {
    if (!session) return;
    const {id} = session;
    setSession(undefined);
    setBusy(false);
    await api.send('DELETE', `sessions/${encodeURIComponent(id)}`).catch(fail);
  };
  return (
    <>
      {trouble ? (
        <div class="trouble" role="alert">
          {trouble.text}
          {trouble.hint ? <p class="hint">{trouble.hint}</p> : null}
        </div>
      ) : null}
      <fieldset disabled={isBusy}>
        <legend>What to record</legend>
        {facts.profiles.map((one) => (
          <label>
            <input type="radio" name="profile" value={one.name} checked={profile === one.name} onChange={() => setProfile(one.name)} /> <b>{one.name || 'as fits best'}</b> <span class="dim">{one.summary}</span>
          </label>
        ))}
      </fieldset>
      <ProviderEditor rows={providers} keywords={facts.keywords} onChange={setProviders} />
      <p class="bar">
        <label>
          Seconds <input type="number" name="durationSeconds" min={1} max={3600} value={seconds} disabled={isBusy} onInput={(event) => setSeconds(Math.max(1, Number(event.currentTarget.value) || 1))} />
        </label>
        {facts.hasViewer ? (
          <label>
            <input type="checkbox" checked={opens} onChange={(event) => setOpens(event.currentTarget.checked)} /> open the flame graph when done
          </label>
        ) : null}
        <button type="button" class="main" data-record disabled={isBusy} onClick={() => void start()}>
          Record
        </button>
      </p>
      {session ? <Progress session={session} seconds={seconds} onStop={() => void stop()} onDiscard={() => void discard()} /> : isBusy ? <p role="status">Starting …</p> : null}
      {results.map((one) => (
        <Result key={one.id} api={api} recording={one} facts={facts} />
      ))}
    </>
  );
}

function factsOf(root: HTMLElement): Facts {
  const text = (element: Element | null) => element?.textContent?.trim() ?? '';
  return {
    pid: Number(root.dataset.pid),
    formats: (root.dataset.formats ?? 'nettrace').split(' '),
    hasViewer: root.dataset.viewer !== undefined,
    profiles: [...root.querySelectorAll<HTMLInputElement>('input[name="profile"]')].map((input) => ({
      name: input.value,
      summary: text(input.parentElement!.querySelector('.dim')),
    })),
    keywords: [...root.querySelectorAll<HTMLElement>('[data-bits]')].map((item) => ({name: text(item.querySelector('code')), bits: BigInt(item.dataset.bits ?? '0')})),
  };
}

export const record: View = {
  id: 'record',
  title: 'Record',
  start(root, api) {
    const facts = factsOf(root);
    const island = document.createElement('div');
    island.className = 'record';
    root.replaceWith(island);
    render(<Record api={api} facts={facts} />, island);
  },
};
