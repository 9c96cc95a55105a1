// The log of a process as it is written: level, category, message, exception.
import {useLive} from '../api/live';
import type {LogEntry} from '../api/types';
import {processLabel, useScope} from '../frame/processes';
import {useParam} from '../frame/router';
import type {PageProps} from '../page';
import {formatNumber} from '../ui/format';
import {Ended, Notice, Trouble} from '../ui/state';
import {Time} from '../ui/time';

const kLevels = ['Trace', 'Debug', 'Information', 'Warning', 'Error', 'Critical'];
const kMost = 1000;

function fits(entry: LogEntry, level: string, search: string): boolean {
  if (kLevels.indexOf(entry.LogLevel) < kLevels.indexOf(level)) return false;
  return `${entry.Category} ${entry.Message} ${entry.Exception ?? ''}`.toLowerCase().includes(search.toLowerCase());
}

function Entry({entry}: {entry: LogEntry}) {
  return (
    <li class={`log-entry log-${entry.LogLevel.toLowerCase()}`}>
      <Time iso={entry.Timestamp} short /> <b>{entry.LogLevel}</b> <span class="dim">{entry.Category}</span> {entry.Message}
      {entry.Exception ? <pre>{entry.Exception}</pre> : null}
    </li>
  );
}

export function Logs({pid, process}: PageProps) {
  const isAllowed = useScope('trace');
  return (
    <>
      <h1>Logs of {process ? processLabel(process) : pid}</h1>
      {isAllowed ? (
        <Stream pid={pid} />
      ) : (
        <Notice kind="trouble" hint="Ask for a key with the scope trace: clrscope key create --scopes read,trace">
          Not permitted: log messages may contain data of users.
        </Notice>
      )}
    </>
  );
}

function Stream({pid}: {pid: number}) {
  const [level, setLevel] = useParam('level', 'Trace');
  const [search, setSearch] = useParam('q');
  const {items, missed, ended, isConnected, problem} = useLive<LogEntry>(`live?pid=${pid}&topics=logs`, 'logs', kMost);
  const shown = items.filter(({value}) => fits(value, level, search));
  return (
    <>
      <p class="bar">
        <label>
          Level{' '}
          <select value={level} onChange={(event) => setLevel(event.currentTarget.value)}>
            {kLevels.map((one) => (
              <option value={one}>{one === 'Trace' ? 'all' : `${one} and above`}</option>
            ))}
          </select>
        </label>
        <label>
          Filter <input type="search" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
        </label>
        <span class="dim" role="status">
          {isConnected ? `live: ${formatNumber(shown.length)} of ${formatNumber(items.length)} entries` : ended || problem ? '' : items.length ? 'not connected: the last entries are kept' : 'connecting …'}
        </span>
      </p>
      {ended ? <Ended reason={ended} /> : null}
      {problem ? <Trouble problem={problem} /> : null}
      {missed ? <Notice kind="trouble">{formatNumber(missed)} entries are missing: they came faster than they could be sent.</Notice> : null}
      {items.length === 0 && isConnected ? <p>No entry yet. Entries appear as the program writes them through ILogger; its own log filters apply.</p> : null}
      <ol class="log">
        {[...shown].reverse().map(({serial, value}) => (
          <Entry key={serial} entry={value} />
        ))}
      </ol>
    </>
  );
}
