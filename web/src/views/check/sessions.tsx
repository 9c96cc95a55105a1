// Sessions and operations as tables, with what can be done to them.
import type {OperationSummary, Session} from '../../api/types';
import {addressOf} from '../../frame/router';
import {Confirm} from '../../ui/confirm';
import {formatBytes, formatMs, formatNumber} from '../../ui/format';
import {type Column, Table} from '../../ui/table';
import {Time} from '../../ui/time';

const processWords = (process: Session['process'] | null): string => (process?.pid ? `${process.name} (${process.pid})` : 'the whole machine');

interface RunningProps {
  sessions: Session[];
  onStop: (id: string) => void;
  onDiscard: (id: string) => void;
  onRenew: (id: string) => void;
}

export function RunningSessions({sessions, onStop, onDiscard, onRenew}: RunningProps) {
  return (
    <>
      {sessions.map((one) => (
        <section class="card session" key={one.id} data-session={one.id}>
          <h2>
            {processWords(one.process)} <span class="dim tag">{one.state} · {one.profile || one.providers.join(', ')}</span>
          </h2>
          <p>
            {formatMs(one.durationMs)}{one.plannedMs ? ` of ${formatMs(one.plannedMs)}` : ''} recorded, {formatNumber(one.samples)} samples, {formatNumber(one.events)} events, {formatBytes(one.bytes)}
            {one.lost ? <span class="warn">, {formatNumber(one.lost)} events lost</span> : ', lost 0'}
          </p>
          {one.leaseSeconds && one.leaseLeftSeconds !== undefined ? (
            <p>
              <progress aria-label="Lease" max={one.leaseSeconds} value={one.leaseLeftSeconds} /> <span class="dim">stops in {formatMs(Math.round(one.leaseLeftSeconds) * 1000)} if nobody asks about it</span>
            </p>
          ) : null}
          <p class="dim">
            since <Time iso={one.started} />
            {one.by ? `, asked for by ${one.by}` : ''}
          </p>
          <p class="bar">
            <button type="button" class="main" data-stop-session={one.id} onClick={() => onStop(one.id)}>
              Stop and keep
            </button>
            <Confirm words="Stop and discard" question="Discard what it has recorded?" onConfirm={() => onDiscard(one.id)} />
            {one.leaseSeconds ? (
              <button type="button" onClick={() => onRenew(one.id)}>
                Keep it running
              </button>
            ) : null}
          </p>
        </section>
      ))}
    </>
  );
}

const kSessions: Column<Session>[] = [
  {id: 'started', title: 'Started', value: (one) => one.started, show: (one) => <Time iso={one.started} />},
  {id: 'process', title: 'Process', value: (one) => processWords(one.process)},
  {id: 'profile', title: 'Profile', value: (one) => one.profile},
  {id: 'duration', title: 'Recorded', value: (one) => one.durationMs, show: (one) => formatMs(one.durationMs), as: 'number'},
  {id: 'samples', title: 'Samples', value: (one) => one.samples, show: (one) => formatNumber(one.samples), as: 'number'},
  {id: 'bytes', title: 'Size', value: (one) => one.bytes, show: (one) => formatBytes(one.bytes), as: 'number'},
  {id: 'ending', title: 'Why it ended', value: (one) => one.ending || one.state},
  {
    id: 'open',
    title: 'Open',
    value: (one) => one.file,
    show: (one) => <a href={addressOf('/flame', {pid: one.process.pid || undefined, recording: one.id})}>Flame graph</a>,
  },
];

export function SessionTable({sessions}: {sessions: Session[]}) {
  return <Table id="sessions" caption="Sessions that have ended; their recordings are kept" rows={sessions} columns={kSessions} rowKey={(one) => one.id} />;
}

export function OperationTable({operations, onStop, onCancel}: {operations: OperationSummary[]; onStop: (id: string) => void; onCancel: (id: string) => void}) {
  const columns: Column<OperationSummary>[] = [
    {id: 'created', title: 'Asked for', value: (one) => one.createdDateTime, show: (one) => <Time iso={one.createdDateTime} />},
    {id: 'kind', title: 'What', value: (one) => one.kind},
    {id: 'process', title: 'Process', value: (one) => processWords(one.process)},
    {id: 'status', title: 'State', value: (one) => one.status.toLowerCase()},
    {id: 'tags', title: 'Tags', value: (one) => one.tags.join(', ')},
    {
      id: 'do',
      title: 'End it',
      value: (one) => Number(one.isStoppable),
      show: (one) =>
        one.status === 'Running' ? (
          <>
            {one.isStoppable ? (
              <button type="button" class="small" onClick={() => onStop(one.operationId)}>
                Stop and keep
              </button>
            ) : null}{' '}
            <button type="button" class="small" onClick={() => onCancel(one.operationId)}>
              Cancel
            </button>
          </>
        ) : null,
    },
  ];
  return <Table id="operations" caption="Traces, dumps, sessions, examinations and request profiles that clients asked for, the newest first" rows={operations} columns={columns} rowKey={(one) => one.operationId} />;
}
