// A whole report: the verdict in one sentence, the findings, what was checked, what it cost.
import type {ComponentChildren} from 'preact';
import type {Examination, Finding, FindingInfo} from '../../api/types';
import {formatMs, formatNumber} from '../../ui/format';
import type {OpenSet} from '../../ui/fold';
import {ExaminedTable, NotChecked, ranWords, tallyOf, verdictClass} from './examined';
import {FindingCards} from './findings';
import {keyedFindings} from './tree';

// What is open at first: the evidence of the diagnosis.
export function firstOpen(findings: Finding[]): string {
  return keyedFindings(findings)[0]?.key ?? '';
}

export function countWords(findings: Finding[]): string {
  const words = (['error', 'warning', 'info'] as const).map((severity) => {
    const number = findings.filter((one) => one.severity === severity).length;
    const word = severity === 'info' ? 'note' : severity;
    return number ? `${number} ${word}${number === 1 ? '' : 's'}` : '';
  });
  return words.filter(Boolean).join(', ');
}

function costWords(report: Examination): string {
  const {watchedMs, snapshots, pauseMs, lost, programCpusBefore, programCpusDuring, source} = report;
  const cpus = (value?: number | null) => (value === undefined || value === null ? '?' : formatNumber(value));
  return [
    `watched for ${formatMs(watchedMs)}`,
    `paused it ${formatMs(pauseMs)}`,
    `${snapshots === 1 ? '1 snapshot' : `${snapshots} snapshots`} of threads and locks${source && source !== 'none' ? ` (${source})` : ''}`,
    programCpusDuring === undefined ? '' : `its CPU use ${cpus(programCpusBefore)} cores before, ${cpus(programCpusDuring)} meanwhile`,
    lost ? `${formatNumber(lost)} events lost` : 'no event lost',
  ]
    .filter(Boolean)
    .join(' · ');
}

interface ReportProps {
  report: Examination;
  open: OpenSet;
  pid: number; // for links; 0: none
  infos?: FindingInfo[];
  children?: ComponentChildren; // between the verdict and the findings
}

export function ReportView({report, open, pid, infos, children}: ReportProps) {
  const tally = tallyOf(report.examined);
  const {findings} = report;
  return (
    <div class="report" data-report>
      {findings.length ? (
        <p class="lead">
          {countWords(findings)} <span class="dim">found in {ranWords(tally)}</span>
        </p>
      ) : (
        <section class={`verdict ${verdictClass(tally)}`}>
          <p class="lead">No problems found in {ranWords(tally)}.</p>
        </section>
      )}
      {children}
      <FindingCards findings={findings} open={open} pid={pid} infos={infos} />
      <NotChecked tally={tally} />
      <ExaminedTable examined={report.examined} open={open} />
      {report.notes.map((note) => (
        <p class="dim" key={note}>
          {note}
        </p>
      ))}
      <p class="dim cost">{costWords(report)}</p>
    </div>
  );
}
