// Reports that are kept, to open, to compare and to remove.
import type {ExaminationSummary} from '../../api/types';
import {addressOf} from '../../frame/router';
import {Confirm} from '../../ui/confirm';
import {formatMs} from '../../ui/format';
import {type Column, Table} from '../../ui/table';
import {Time} from '../../ui/time';

export function reportAddress(report: Pick<ExaminationSummary, 'id' | 'process'>, pid: number): string {
  return addressOf(`/doctor/reports/${encodeURIComponent(report.id)}`, {pid: pid || report.process.pid || undefined});
}

export function verdictWords({state, verdict, error}: ExaminationSummary): string {
  if (state === 'running') return 'running';
  if (state !== 'finished') return [state, error].filter(Boolean).join(': ');
  return verdict || 'no problems found';
}

interface ReportListProps {
  reports: ExaminationSummary[];
  pid: number;
  chosen: string[]; // ids to compare
  onChoose: (id: string, isOn: boolean) => void;
  onRemove?: (id: string) => void; // not there: not permitted
}

export function ReportList({reports, pid, chosen, onChoose, onRemove}: ReportListProps) {
  const columns: Column<ExaminationSummary>[] = [
    {
      id: 'compare',
      title: 'Compare',
      value: (one) => Number(chosen.includes(one.id)),
      show: (one) => (
        <input type="checkbox" aria-label={`Compare the report of ${one.started}`} data-compare={one.id} checked={chosen.includes(one.id)} disabled={one.state !== 'finished'} onChange={(event) => onChoose(one.id, event.currentTarget.checked)} />
      ),
    },
    {
      id: 'started',
      title: 'Time',
      value: (one) => one.started,
      show: (one) => (
        <a href={reportAddress(one, pid)}>
          <Time iso={one.started} />
        </a>
      ),
    },
    {
      id: 'verdict',
      title: 'Verdict',
      value: verdictWords,
      show: (one) => (
        <span class="verdict-words">
          <span class={`dot ${one.state === 'finished' ? one.severity : ''}`} /> {verdictWords(one)}
        </span>
      ),
    },
    {id: 'findings', title: 'Findings', value: (one) => one.findings, as: 'number'},
    {id: 'process', title: 'Process', value: (one) => one.process.pid, show: (one) => `${one.process.name} (${one.process.pid})`},
    {id: 'took', title: 'Took', value: (one) => one.durationMs, show: (one) => (one.durationMs ? formatMs(one.durationMs) : ''), as: 'number'},
    {id: 'by', title: 'By', value: (one) => one.by},
  ];
  if (onRemove)
    columns.push({
      id: 'remove',
      title: 'Remove',
      value: () => 0,
      show: (one) => (
        <Confirm words="Remove" question="Remove this report?" class="small" onConfirm={() => onRemove(one.id)} />
      ),
    });
  return <Table id="reports" caption="Reports, the newest first; choose two to compare them" rows={reports} columns={columns} rowKey={(one) => one.id} />;
}
