// What runs for clients right now, and what has ended: recordings, dumps, examinations. To stop, to keep or to discard.
import {useState} from 'preact/hooks';
import {problemOf, useAnswer, useApi} from '../api/answer';
import type {Problem} from '../api/client';
import type {OperationSummary, Session} from '../api/types';
import {addressOf} from '../frame/router';
import type {PageProps} from '../page';
import {Age, Loaded, Notice, Trouble} from '../ui/state';
import {OperationTable, RunningSessions, SessionTable} from '../views/check/sessions';

const kEveryMs = 2000;

export function Sessions({pid}: PageProps) {
  const api = useApi();
  const sessions = useAnswer<Session[]>('sessions', {everyMs: kEveryMs});
  const operations = useAnswer<OperationSummary[]>('operations', {everyMs: kEveryMs});
  const [problem, setProblem] = useState<Problem>();
  const act = async (method: string, path: string) => {
    setProblem(undefined);
    try {
      await api.send(method, path);
    } catch (error) {
      setProblem(problemOf(error));
    }
    sessions.refresh();
    operations.refresh();
  };
  const stop = (id: string) => void act('DELETE', `operations/${encodeURIComponent(id)}?stop=true`);
  const discard = (id: string) => void act('DELETE', `sessions/${encodeURIComponent(id)}`);
  const renew = (id: string) => void act('GET', `sessions/${encodeURIComponent(id)}`);
  const cancel = (id: string) => void act('DELETE', `operations/${encodeURIComponent(id)}`);
  return (
    <>
      <h1>Sessions</h1>
      {problem ? <Trouble problem={problem} /> : null}
      <Loaded answer={sessions}>
        {(all) => {
          const running = all.filter((one) => one.running);
          const ended = all.filter((one) => !one.running);
          return (
            <>
              <p class="bar">
                <span class="lead">{running.length ? `${running.length} ${running.length === 1 ? 'recording is' : 'recordings are'} running` : 'No recording is running'}</span> <Age at={sessions.at} />
              </p>
              {running.length ? <RunningSessions sessions={running} onStop={stop} onDiscard={discard} onRenew={renew} /> : <Notice hint="A session that nobody asks about ends with its lease; what it recorded is kept.">Start one on the page Record.</Notice>}
              <p class="bar">
                <a class="button" href={addressOf('/record', {pid: pid || undefined})}>
                  Record
                </a>
                <a class="button" href={addressOf('/recordings', {pid: pid || undefined})}>
                  Recordings
                </a>
              </p>
              {ended.length ? (
                <>
                  <h2>Finished</h2>
                  <SessionTable sessions={ended} />
                </>
              ) : null}
            </>
          );
        }}
      </Loaded>
      <h2>Operations</h2>
      <Loaded answer={operations}>
        {(all) => (all.length ? <OperationTable operations={[...all].reverse()} onStop={stop} onCancel={cancel} /> : <p class="dim">No trace, dump, session or examination yet.</p>)}
      </Loaded>
    </>
  );
}
