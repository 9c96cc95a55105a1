// Recordings that are kept: the list, or one of them with its reports. Uploads, names, comparisons.
import {useState} from 'preact/hooks';
import {problemOf, useAnswer, useApi} from '../api/answer';
import type {Problem} from '../api/client';
import {formatAddress, speedscopeAddress} from '../api/recordings';
import type {Format, OverviewReport, Recording, Session} from '../api/types';
import {useUploads} from '../api/uploads';
import {useStatus} from '../frame/processes';
import {addressOf, open, setQuery, useParam} from '../frame/router';
import type {PageProps} from '../page';
import {formatBytes} from '../ui/format';
import {Age, Loaded, Notice, Trouble} from '../ui/state';
import {RunningSessions} from '../views/check/sessions';
import {Confirm} from '../ui/confirm';
import {Details} from '../views/recordings/details';
import type {Fields} from '../views/recordings/fields';
import {isRunning, List, matches, titleOf} from '../views/recordings/list';
import {ReportView} from '../views/recordings/report';
import {Uploads} from '../views/recordings/upload';

const kEveryMs = 3000;
const kRunningMs = 1000;

export function Recordings({pid}: PageProps) {
  const [id] = useParam('recording');
  return id ? <One key={id} id={id} pid={pid} /> : <All pid={pid} />;
}

const pathOf = (id: string) => `recordings/${encodeURIComponent(id)}`;

// Does something that changes recordings; what went wrong is shown until the next time.
function useAct(after: () => void): {problem?: Problem; act: (method: string, path: string, body?: unknown) => Promise<boolean>} {
  const api = useApi();
  const [problem, setProblem] = useState<Problem>();
  const act = async (method: string, path: string, body?: unknown) => {
    setProblem(undefined);
    try {
      await api.send(method, path, body);
      return true;
    } catch (error) {
      setProblem(problemOf(error));
      return false;
    } finally {
      after();
    }
  };
  return {problem, act};
}

function All({pid}: {pid: number}) {
  const api = useApi();
  const recordings = useAnswer<Recording[]>('recordings', {everyMs: kEveryMs});
  const {act, problem} = useAct(() => recordings.refresh());
  const {uploads, add, cancel, forget} = useUploads(api, () => recordings.refresh());
  const {data: status} = useStatus();
  const [filter, setFilter] = useParam('filter');
  const [chosenParam, setChosen] = useParam('chosen');
  const {data = []} = recordings;
  const kept = data.filter((one) => !isRunning(one));
  const shown = kept.filter((one) => matches(one, filter));
  const chosen = chosenParam.split(',').filter((id) => kept.some((one) => one.id === id));
  const room = status?.diskLimitBytes ? `${formatBytes(status.diskUsedBytes)} of ${formatBytes(status.diskLimitBytes)} are used; the oldest recordings make room.` : undefined;
  const remove = async () => {
    for (const id of chosen) if (!(await act('DELETE', pathOf(id)))) return;
    setChosen('');
  };
  return (
    <>
      <h1>Recordings</h1>
      <Uploads uploads={uploads} room={room} onFiles={add} onCancel={cancel} onForget={forget} />
      {problem ? <Trouble problem={problem} /> : null}
      <Running isAny={data.some(isRunning)} act={act} />
      <Loaded answer={recordings}>
        {() =>
          kept.length ? (
            <>
              <div class="bar recordings-bar">
                <input type="search" aria-label="Filter recordings" placeholder="filter by name, process, profile" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
                <Chosen recordings={kept.filter((one) => chosen.includes(one.id))} onDelete={() => void remove()} />
                <span class="dim">
                  {shown.length === kept.length ? kept.length : `${shown.length} of ${kept.length}`} {kept.length === 1 ? 'recording' : 'recordings'}
                </span>
                <Age at={recordings.at} />
              </div>
              <List
                recordings={shown}
                chosen={chosen}
                onChoose={(id, isChosen) => setChosen((isChosen ? [...chosen, id] : chosen.filter((one) => one !== id)).join(','))}
                detailsOf={(one) => addressOf('/recordings', {recording: one.id, pid: pid || undefined})}
              />
            </>
          ) : (
            <>
              <Notice>Nothing is kept here yet. Record something, or upload a trace.</Notice>
              <p>
                <a class="button main" href={addressOf('/record', {pid: pid || undefined})}>
                  Record
                </a>
              </p>
            </>
          )
        }
      </Loaded>
    </>
  );
}

function Running({isAny, act}: {isAny: boolean; act: (method: string, path: string) => Promise<boolean>}) {
  const {data = []} = useAnswer<Session[]>(isAny ? 'sessions' : undefined, {everyMs: kRunningMs});
  const running = isAny ? data.filter((one) => one.running) : [];
  if (!running.length) return null;
  const path = (id: string) => `sessions/${encodeURIComponent(id)}`;
  return (
    <RunningSessions
      sessions={running}
      onStop={(id) => void act('DELETE', `operations/${encodeURIComponent(id)}?stop=true`)}
      onDiscard={(id) => void act('DELETE', path(id))}
      onRenew={(id) => void act('GET', path(id))}
    />
  );
}

// What can be done with the chosen ones. A comparison shows the newer one against the older one.
function Chosen({recordings, onDelete}: {recordings: Recording[]; onDelete: () => void}) {
  if (!recordings.length) return <span class="dim">Choose two to compare them.</span>;
  const [newer, older] = [...recordings].sort((a, b) => Date.parse(b.started) - Date.parse(a.started));
  return (
    <>
      {recordings.length === 2 ? (
        <a class="button main" href={addressOf('/flame', {recording: newer.id, compare: older.id, pid: newer.process.pid || undefined})}>
          Compare with the older one
        </a>
      ) : (
        <span class="dim">{recordings.length === 1 ? 'Choose one more to compare.' : `${recordings.length} are chosen; two can be compared.`}</span>
      )}
      <Confirm words={recordings.length === 1 ? 'Delete 1 recording' : `Delete ${recordings.length} recordings`} question={recordings.length === 1 ? `Delete ${titleOf(recordings[0])} for good?` : 'Delete them for good?'} onConfirm={onDelete} />
    </>
  );
}

function One({id, pid}: {id: string; pid: number}) {
  const api = useApi();
  const recordings = useAnswer<Recording[]>('recordings');
  const formats = useAnswer<Format[]>('formats');
  const {act, problem} = useAct(() => recordings.refresh());
  const recording = recordings.data?.find((one) => one.id === id);
  const list = addressOf('/recordings', {pid: pid || undefined});
  const others = (recordings.data ?? []).filter((one) => one.id !== id && !isRunning(one));
  return (
    <>
      <p>
        <a href={list}>← All recordings</a>
      </p>
      <h1>{recording ? titleOf(recording) : 'Recording'}</h1>
      {problem ? <Trouble problem={problem} /> : null}
      <Loaded answer={recordings}>
        {() =>
          recording ? (
            <>
              <Details
                recording={recording}
                others={others}
                formats={formats.data ?? []}
                addressAs={(format) => formatAddress(api, recording, format)}
                speedscope={speedscopeAddress(api, recording)}
                htmlFile={api.address(`${pathOf(id)}/flame.html`)}
                onRename={(name) => void act('PATCH', pathOf(id), {name: name || null})}
                onDelete={() => void act('DELETE', pathOf(id)).then((done) => done && open(list))}
              />
              {isRunning(recording) ? <Notice>It is still being recorded. Reports come when it has ended.</Notice> : <Reports id={id} />}
            </>
          ) : (
            <Notice kind="trouble">There is no recording {id}. It may have been deleted, or made room for a newer one.</Notice>
          )
        }
      </Loaded>
    </>
  );
}

function Reports({id}: {id: string}) {
  const [kind, setKind] = useParam('report', 'overview');
  const [lines, setLines] = useParam('lines');
  const [rows] = useParam('rows');
  const path = (name: string) => `${pathOf(id)}/report/${encodeURIComponent(name)}${lines ? '?lines=true' : ''}`;
  const overview = useAnswer<OverviewReport>(path('overview'));
  const names = [{name: 'overview', contents: 'what is in the recording'}, ...(overview.data?.reports ?? [])];
  const choose = (name: string) => {
    setKind(name, 'push');
    setQuery({rows: undefined});
  };
  return (
    <section class="reports">
      <h2>Reports</h2>
      <div class="bar" role="group" aria-label="Report">
        {names.some((one) => one.name === 'requests') ? <a href={addressOf(`/recordings/${encodeURIComponent(id)}/requests`)}>Requests with waterfalls</a> : null}
        {names.map((one) => (
          <button key={one.name} type="button" aria-pressed={one.name === kind} title={one.contents} onClick={() => choose(one.name)}>
            {one.name}
          </button>
        ))}
        <label>
          <input type="checkbox" name="lines" checked={lines === 'true'} onChange={(event) => setLines(event.currentTarget.checked ? 'true' : '')} /> source lines
        </label>
      </div>
      {kind === 'overview' ? (
        <Loaded answer={overview} waiting="Reading the recording …">
          {(data) => (
            <>
              <ReportView name="overview" data={{...data}} without={['reports']} isWhole onWhole={() => {}} />
              <ul class="list">
                {data.reports.map((one) => (
                  <li key={one.name}>
                    <button type="button" class="link" onClick={() => choose(one.name)}>
                      {one.name}
                    </button>{' '}
                    {one.contents}
                  </li>
                ))}
              </ul>
            </>
          )}
        </Loaded>
      ) : (
        <OneReport key={kind} name={kind} path={path(kind)} isWhole={rows === 'all'} onWhole={() => setQuery({rows: 'all'})} />
      )}
    </section>
  );
}

function OneReport({name, path, isWhole, onWhole}: {name: string; path: string; isWhole: boolean; onWhole: () => void}) {
  const answer = useAnswer<Fields>(path);
  return (
    <Loaded answer={answer} waiting="Reading the recording …">
      {(data) => <ReportView name={name} data={data} isWhole={isWhole} onWhole={onWhole} />}
    </Loaded>
  );
}
