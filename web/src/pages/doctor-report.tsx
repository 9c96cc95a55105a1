// One report of the doctor, to keep and to share; while it runs, how far it is. Also as one file with its data inside.
import {useState} from 'preact/hooks';
import {problemOf, useAnswer, useApi} from '../api/answer';
import type {Problem} from '../api/client';
import type {Examination, ExaminationReport, ExaminationSummary, FindingInfo, ProcessInfo} from '../api/types';
import {processLabel} from '../frame/processes';
import {addressOf, open as openAddress, useParam} from '../frame/router';
import type {PageProps} from '../page';
import {CopyButton} from '../ui/copy-button';
import {useOpenParam} from '../ui/fold';
import {formatAge} from '../ui/format';
import {Loaded, Notice, Trouble, useNow} from '../ui/state';
import {Time} from '../ui/time';
import {Changes} from '../views/doctor/changes';
import {EarlierVisits} from '../views/doctor/earlier';
import {choiceOf} from '../views/doctor/form';
import {ExamineProgress} from '../views/doctor/progress';
import {firstOpen, ReportView} from '../views/doctor/report';
import {reportAddress} from '../views/doctor/reports';
import {examinePath, startAddress} from './doctor';

const kPollMs = 500;

export function DoctorReport({values, process}: PageProps) {
  return <Report key={values.id} id={values.id} process={process} />;
}

function Report({id, process}: {id: string; process?: ProcessInfo}) {
  const answer = useAnswer<ExaminationReport>(`doctor/reports/${encodeURIComponent(id)}`, {everyMs: kPollMs, isLast: (one) => one.state !== 'running'});
  return (
    <>
      {answer.data ? null : <h1>Report</h1>}
      <Loaded answer={answer} waiting="Loading the report …">
        {(one) => <Known one={one} process={process?.uid === one.process.uid ? process : undefined} />}
      </Loaded>
    </>
  );
}

function Known({one, process}: {one: ExaminationReport; process?: ProcessInfo}) {
  const api = useApi();
  const infos = useAnswer<FindingInfo[]>('doctor/findings');
  const [seconds] = useParam('seconds');
  const [only] = useParam('only');
  const [set] = useParam('set');
  const choice = choiceOf(seconds, only, set);
  const open = useOpenParam('open', one.report ? firstOpen(one.report.findings) : undefined);
  const [problem, setProblem] = useState<Problem>();
  const now = useNow();
  const {pid} = one.process;
  const again = async () => {
    try {
      const begun = await api.post<ExaminationReport>(examinePath(pid, choice));
      openAddress(startAddress(begun.id, pid, choice));
    } catch (error) {
      setProblem(problemOf(error));
    }
  };
  const path = `doctor/reports/${encodeURIComponent(one.id)}`;
  return (
    <>
      <h1>Report on {process ? processLabel(process) : `${one.process.name} (${pid})`}</h1>
      <p class="dim">
        <Time iso={one.started} />, {formatAge(now - Date.parse(one.started))} ago · .NET {one.process.runtime}
        {one.by ? ` · asked for by ${one.by}` : ''}
      </p>
      {problem ? <Trouble problem={problem} /> : null}
      {one.state === 'running' ? <ExamineProgress started={one.started} seconds={choice.seconds} /> : null}
      {one.state !== 'running' ? (
        <div class="bar">
          <button type="button" class="main" data-again onClick={() => void again()}>
            Look again
          </button>
          <CopyButton label="Copy the link" text={() => location.href} />
          <a class="button" href={api.address(`${path}?accept=text/plain`)} data-outside target="_blank" rel="noreferrer">
            As text
          </a>
          <a class="button" href={api.address(`${path}/report.html`)} download={`doctor_${one.process.name}_${pid}.html`}>
            Save as HTML
          </a>
          <a href={addressOf('/doctor', {pid})}>All reports</a>
        </div>
      ) : null}
      {one.state !== 'running' && !one.report ? (
        <Notice kind="trouble" hint="Look again: the process may have been busy, or has exited.">
          There is no report: the examination {one.state === 'lost' ? 'was cut off by a restart of the controller' : `${one.state}${one.error ? `: ${one.error}` : ''}`}.
        </Notice>
      ) : null}
      {one.report ? (
        <ReportView report={one.report} open={open} pid={pid} infos={infos.data}>
          <SinceLast one={one} />
        </ReportView>
      ) : null}
    </>
  );
}

// What changed since the finished report of the same process before this one.
function SinceLast({one}: {one: ExaminationReport}) {
  const list = useAnswer<ExaminationSummary[]>('doctor/reports');
  const before = list.data?.find((other) => other.started < one.started && other.state === 'finished' && other.process.pid === one.process.pid && other.process.uid === one.process.uid);
  const earlier = useAnswer<ExaminationReport>(before ? `doctor/reports/${encodeURIComponent(before.id)}` : undefined);
  if (!before || !earlier.data?.report || !one.report) return null;
  return (
    <section class="note comparison" aria-label="Changes" data-since={before.id}>
      <p>
        Since the <a href={reportAddress(before, one.process.pid)}>report of <Time iso={before.started} /></a>
      </p>
      <Changes earlier={earlier.data.report} later={one.report} />
    </section>
  );
}

// The same report in a file of its own, and the visits before it, the newest first: no server, so commands instead of links.
export function DoctorSingle({data: [report, ...earlier]}: {data: Examination[]}) {
  const open = useOpenParam('open', firstOpen(report.findings));
  return (
    <main class="single-page">
      <div class="bar single-head">
        <h1>
          Doctor report: {report.process} ({report.pid})
        </h1>
        <button type="button" data-theme-switch>
          theme
        </button>
      </div>
      <p class="dim">
        <Time iso={report.time} /> · .NET {report.runtime}
        {report.core ? ` · core file ${report.core}` : ''}
      </p>
      <ReportView report={report} open={open} pid={0}>
        {earlier.length ? <EarlierVisits report={report} earlier={earlier} /> : null}
      </ReportView>
    </main>
  );
}
