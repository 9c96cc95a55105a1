// A profile of requests that the controller runs: how far it is, or how it ended; and all that it keeps.
import type {RequestRun} from '../../api/types';
import {addressOf} from '../../frame/router';
import {formatAge, formatMs, formatNumber} from '../../ui/format';
import {StopBar} from '../../ui/stop-bar';
import {type Column, Table} from '../../ui/table';
import {Time} from '../../ui/time';

const endings = {duration: 'its time was over', stopped: 'it was stopped', exited: 'the process exited', serverStopped: 'cut: server stopped'};

function stateWords({state, ending, process, durationMs, plannedMs, running}: RequestRun): string {
  const whom = `${process.name} (${process.pid})`;
  if (state === 'starting') return `Preparing to profile ${whom}: loading the agent, instrumenting methods`;
  if (state === 'failed') return `The profile of ${whom} failed${ending ? `, ${endings[ending]}` : ''}`;
  if (!running) return `Profiled ${whom}${ending ? `: ${endings[ending]}` : ''}`;
  return `${state === 'stopping' ? 'Stopping the profile of' : 'Profiling'} ${whom}: ${formatAge(durationMs)} of ${formatMs(plannedMs)}`;
}

interface RunCardProps {
  run: RequestRun;
  isBusy: boolean;
  onStop: () => void;
  onDiscard: () => void;
}

// It has the same height while it runs and afterwards: what is below does not move.
export function RunCard({run, isBusy, onStop, onDiscard}: RunCardProps) {
  const isUnknown = run.state === 'starting' || run.state === 'stopping';
  const done = run.running ? Math.min(run.durationMs, run.plannedMs) : run.plannedMs;
  return (
    <section class="card run" data-run={run.id} data-state={run.state}>
      <h2>
        {stateWords(run)}
      </h2>
      <progress max={run.plannedMs} value={isUnknown ? undefined : done} aria-label="Profiled so far" />
      <StopBar isBusy={isBusy} isOver={!run.running || run.state === 'stopping'} onStop={onStop} onDiscard={onDiscard}>
        started <Time iso={run.started} short />
        {run.by ? ` by ${run.by}` : ''}; {run.running ? 'it goes on when you leave this page' : <>last data <Time iso={run.updated} short /></>}
      </StopBar>
    </section>
  );
}

// Those of one process that run or are kept, the newest first.
export function RunTable({runs, shown, tab}: {runs: RequestRun[]; shown: string; tab: string}) {
  const columns: Column<RequestRun>[] = [
    {
      id: 'started',
      title: 'Started',
      value: (run) => run.started,
      show: (run) => (
        <a href={addressOf('/views/requests', {pid: run.process.pid, tab, run: run.id})} aria-current={run.id === shown ? 'true' : undefined} data-kept={run.id}>
          <Time iso={run.started} />
        </a>
      ),
    },
    {id: 'state', title: 'State', value: (run) => run.state, show: (run) => (run.ending ? endings[run.ending] : run.state)},
    {id: 'duration', title: 'Duration', value: (run) => run.durationMs, show: (run) => formatMs(run.durationMs), as: 'number'},
    {id: 'seen', title: 'Requests', value: (run) => run.seen, show: (run) => formatNumber(run.seen), as: 'number'},
    {id: 'sampled', title: 'Sampled', value: (run) => run.sampled, show: (run) => formatNumber(run.sampled), as: 'number'},
    {id: 'methods', title: 'Methods', value: (run) => run.include.join(', '), as: 'code'},
    {id: 'by', title: 'By', value: (run) => run.by},
  ];
  return <Table id="runs" caption="Profiles of this process that the controller keeps, until newer ones need the room" rows={runs} columns={columns} rowKey={(run) => run.id} />;
}
