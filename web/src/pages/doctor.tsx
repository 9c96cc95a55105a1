// The doctor of one process: what to examine, the reports so far, two of them compared.
import {useState} from 'preact/hooks';
import {problemOf, useAnswer, useApi} from '../api/answer';
import type {Problem} from '../api/client';
import type {ExaminationReport, ExaminationSummary, FindingInfo} from '../api/types';
import {processLabel, useScope} from '../frame/processes';
import {addressOf, open as openAddress, type Query, setQuery, useParam} from '../frame/router';
import type {PageProps} from '../page';
import {formatAge} from '../ui/format';
import {useOpenParam} from '../ui/fold';
import {Loaded, Notice, Trouble, useNow} from '../ui/state';
import {Time} from '../ui/time';
import {Changes} from '../views/doctor/changes';
import {type Choice, choiceOf, ExamineForm, kSeconds, settingsText} from '../views/doctor/form';
import {firstOpen, ReportView} from '../views/doctor/report';
import {reportAddress, ReportList} from '../views/doctor/reports';

const kReportsMs = 4000;

// The choice as it stands in addresses.
export function choiceQuery({seconds, only, settings}: Choice): Query {
  return {seconds: seconds === kSeconds ? undefined : seconds, only: only.join(','), set: settingsText(settings)};
}

// The page of a report, which shows how far it is and can look again in the same way.
export function startAddress(id: string, pid: number, choice: Choice): string {
  return addressOf(`/doctor/reports/${encodeURIComponent(id)}`, {pid, ...choiceQuery(choice)});
}

export function examinePath(pid: number, {seconds, only, settings}: Choice): string {
  const query = new URLSearchParams({pid: String(pid), durationSeconds: String(seconds)});
  if (only.length) query.set('only', only.join(','));
  const set = settingsText(settings);
  if (set) query.set('set', set);
  return `doctor?${query}`;
}

export function Doctor({pid, process}: PageProps) {
  const api = useApi();
  const infos = useAnswer<FindingInfo[]>('doctor/findings');
  const reports = useAnswer<ExaminationSummary[]>('doctor/reports', {everyMs: kReportsMs});
  const [seconds] = useParam('seconds');
  const [only] = useParam('only');
  const [set] = useParam('set');
  const [all, setAll] = useParam('all');
  const [compare] = useParam('compare');
  const fold = useOpenParam('fold');
  const [problem, setProblem] = useState<Problem>();
  const [isBusy, setBusy] = useState(false);
  const mayRemove = useScope('trace');
  const choice = choiceOf(seconds, only, set);
  const isOurs = (one: ExaminationSummary) => one.process.pid === pid && (!process?.uid || !one.process.uid || one.process.uid === process.uid);
  const ours = reports.data?.filter(isOurs) ?? [];
  const others = (reports.data?.length ?? 0) - ours.length;
  const last = ours.find((one) => one.state === 'finished');
  const running = ours.filter((one) => one.state === 'running');
  const chosen = compare.split(',').filter(Boolean);

  const start = async () => {
    setBusy(true);
    setProblem(undefined);
    try {
      const begun = await api.post<ExaminationReport>(examinePath(pid, choice));
      openAddress(startAddress(begun.id, pid, choice));
    } catch (error) {
      setProblem(problemOf(error));
    }
    setBusy(false);
  };
  const remove = async (id: string) => {
    try {
      await api.send('DELETE', `doctor/reports/${encodeURIComponent(id)}`);
      setQuery({compare: chosen.filter((one) => one !== id).join(',')});
    } catch (error) {
      setProblem(problemOf(error));
    }
    reports.refresh();
  };

  return (
    <>
      <h1>Doctor: {process ? processLabel(process) : pid}</h1>
      {problem ? <Trouble problem={problem} /> : null}
      <Loaded answer={infos}>
        {(known) => (
          <ExamineForm
            infos={known}
            choice={choice}
            open={fold}
            isBusy={isBusy}
            label={last ? 'Look again' : 'Examine'}
            onChange={(next) => setQuery(choiceQuery(next))}
            onStart={() => void start()}
          />
        )}
      </Loaded>
      {running.map((one) => (
        <Notice key={one.id}>
          An examination is running since <Time iso={one.started} short />. <a href={reportAddress(one, pid)}>See how far it is</a>
        </Notice>
      ))}
      {chosen.length === 2 ? <Comparison ids={chosen} pid={pid} /> : null}
      <Loaded answer={reports}>
        {(list) => (
          <>
            {last && chosen.length !== 2 ? <Last id={last.id} pid={pid} infos={infos.data} /> : null}
            {!ours.length ? (
              <Notice hint="It looks for deadlocks, long lock holders, convoys, a starving pool, runaway threads, exception storms, GC pressure, hot paths and bad settings.">The doctor has not examined this process yet.</Notice>
            ) : null}
            {list.length ? (
              <>
                <h2>Reports</h2>
                {others ? (
                  <p class="bar">
                    <label>
                      <input type="checkbox" checked={all === '1'} onChange={(event) => setAll(event.currentTarget.checked ? '1' : '')} /> also of other processes ({others})
                    </label>
                  </p>
                ) : null}
                <ReportList
                  reports={all === '1' ? list : ours}
                  pid={all === '1' ? 0 : pid}
                  chosen={chosen}
                  onChoose={(id, isOn) => setQuery({compare: (isOn ? [...chosen, id].slice(-2) : chosen.filter((one) => one !== id)).join(',')}, 'push')}
                  onRemove={mayRemove ? (id) => void remove(id) : undefined}
                />
              </>
            ) : null}
          </>
        )}
      </Loaded>
    </>
  );
}

function Last({id, pid, infos}: {id: string; pid: number; infos?: FindingInfo[]}) {
  const answer = useAnswer<ExaminationReport>(`doctor/reports/${encodeURIComponent(id)}`);
  const now = useNow();
  const report = answer.data?.report;
  const open = useOpenParam('open', report ? firstOpen(report.findings) : undefined);
  return (
    <Loaded answer={answer} waiting="Loading the last report …">
      {(one) =>
        one.report ? (
          <>
            <p>
              Last report: <a href={reportAddress(one, pid)}><Time iso={one.started} /></a> <span class="dim">({formatAge(now - Date.parse(one.started))} ago)</span>
            </p>
            <ReportView report={one.report} open={open} pid={pid} infos={infos} />
          </>
        ) : null
      }
    </Loaded>
  );
}

function Comparison({ids, pid}: {ids: string[]; pid: number}) {
  const first = useAnswer<ExaminationReport>(`doctor/reports/${encodeURIComponent(ids[0])}`);
  const second = useAnswer<ExaminationReport>(`doctor/reports/${encodeURIComponent(ids[1])}`);
  return (
    <section class="note comparison" aria-label="Comparison">
      <Loaded answer={first}>
        {(one) => (
          <Loaded answer={second}>
            {(other) => {
              const [earlier, later] = one.started <= other.started ? [one, other] : [other, one];
              if (!earlier.report || !later.report) return <p>One of the reports has no findings to compare.</p>;
              return (
                <>
                  <h2>
                    From <a href={reportAddress(earlier, pid)}><Time iso={earlier.started} /></a> to <a href={reportAddress(later, pid)}><Time iso={later.started} /></a>
                  </h2>
                  {earlier.process.pid !== later.process.pid ? <p class="warn">The reports are about different processes.</p> : null}
                  <Changes earlier={earlier.report} later={later.report} />
                </>
              );
            }}
          </Loaded>
        )}
      </Loaded>
      <button type="button" onClick={() => setQuery({compare: ''}, 'push')}>
        End the comparison
      </button>
    </section>
  );
}
