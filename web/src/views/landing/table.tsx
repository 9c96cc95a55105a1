// All processes, those in trouble first.
import type {WatchedProcess} from '../../api/types';
import {processLabel} from '../../frame/processes';
import {addressOf} from '../../frame/router';
import {formatAge, formatBytes, formatNumber, formatPercent, formatUptime} from '../../ui/format';
import {type Column, Table} from '../../ui/table';

const kHarm: Record<WatchedProcess['severity'], number> = {error: 4, warning: 3, info: 2, none: 1, unknown: 0};

export function stateWords(one: WatchedProcess): string {
  if (!one.reachable) return 'not reachable';
  if (one.verdict) return one.verdict;
  return one.severity === 'none' ? 'no problems found' : 'not checked yet';
}

// Why it could not be checked, or not completely; older controllers do not say it.
function noteOf(one: WatchedProcess): string {
  return 'note' in one && typeof one.note === 'string' ? one.note : '';
}

function VerdictCell({one}: {one: WatchedProcess}) {
  const dot = one.severity === 'none' ? 'good' : one.severity;
  const more = one.findings > 1 ? `and ${one.findings - 1} more` : '';
  const when = one.checkedAgoMs === undefined ? '' : `checked ${formatAge(one.checkedAgoMs)} ago`;
  return (
    <div class="verdict-cell">
      <span class={`dot ${dot}`} />
      <div>
        {one.severity === 'error' || one.severity === 'warning' ? <b>{stateWords(one)}</b> : stateWords(one)}
        {one.reachable ? null : (
          <>
            : {one.reason}
            {one.hint ? <p class="dim">{one.hint}</p> : null}
          </>
        )}
        {noteOf(one) ? <p class="dim">{noteOf(one)}</p> : null}
        {more || when ? <p class="dim">{[more, when].filter(Boolean).join(' · ')}</p> : null}
      </div>
    </div>
  );
}

function Unknown({why = 'not known'}: {why?: string}) {
  return (
    <span class="dim" title={`Unknown: ${why}`} aria-label={`unknown: ${why}`} role="img">
      –
    </span>
  );
}

// The arguments, unless the label has them all.
function argumentsOf(one: WatchedProcess): string {
  const [, ...words] = one.commandLine.split(/\s+/);
  return words.length > 1 || !processLabel(one).includes(` ${words[0]} `) ? words.join(' ') : '';
}

const kColumns: Column<WatchedProcess>[] = [
  {
    id: 'process',
    title: 'Process',
    value: (one) => processLabel(one),
    show: (one) => (
      <>
        <a href={addressOf('/overview', {pid: one.pid})} title={one.commandLine}>
          {processLabel(one)}
        </a>
        <p class="dim mono command-line" title={one.commandLine}>
          {argumentsOf(one)}
        </p>
      </>
    ),
  },
  {id: 'verdict', title: 'Verdict', value: (one) => -kHarm[one.severity], show: (one) => <VerdictCell one={one} />},
  {id: 'cpu', title: 'CPU', value: (one) => one.cpuPercent, show: (one) => (one.cpuPercent === null ? '?' : formatPercent(Math.round(one.cpuPercent))), as: 'number'},
  {
    id: 'memory',
    title: 'Memory',
    value: (one) => one.rssBytes,
    show: (one) => (
      <>
        {one.rssBytes === undefined ? '?' : formatBytes(one.rssBytes)}
        {one.memoryLimitBytes ? <span class="dim"> of {formatBytes(one.memoryLimitBytes)}</span> : null}
      </>
    ),
    as: 'number',
  },
  {
    id: 'requests',
    title: 'Requests/s',
    value: (one) => one.requestsPerSecond,
    show: (one) => (one.requestsPerSecond === null || one.requestsPerSecond === undefined ? <Unknown why={one.requestsUnknown} /> : formatNumber(one.requestsPerSecond)),
    as: 'number',
  },
  {id: 'threads', title: 'Threads', value: (one) => one.threads, show: (one) => one.threads ?? '?', as: 'number'},
  {id: 'up', title: 'Up', value: (one) => one.upMs, show: (one) => formatUptime(one.upMs), as: 'number'},
  {id: 'runtime', title: '.NET', value: (one) => one.runtime, show: (one) => one.runtime || '?'},
  {id: 'user', title: 'User', value: (one) => [one.user, one.container].filter(Boolean).join(' '), show: (one) => (one.container ? `${one.user}, container ${one.container}` : one.user)},
];

export function ProcessTable({processes}: {processes: WatchedProcess[]}) {
  return <Table id="processes" caption="Processes, those in trouble first" rows={processes} columns={kColumns} rowKey={(one) => one.pid} rowClass={(one) => one.severity} most={1000} isLive="touched" />;
}
