// Who used this controller for what, the newest first.
import {useAnswer} from '../api/answer';
import type {Audit as AuditAnswer, Use} from '../api/types';
import {useParam} from '../frame/router';
import type {PageProps} from '../page';
import {formatBytes, formatMs, formatNumber} from '../ui/format';
import {Age, Loaded, Notice} from '../ui/state';
import {type Column, Table} from '../ui/table';
import {Time} from '../ui/time';
import {Wrapped} from '../ui/wrapped';

const kEveryMs = 5000;
const kLimits = ['200', '1000', '5000'];

// For people: without escapes.
function decoded(target: string): string {
  try {
    return decodeURIComponent(target);
  } catch {
    return target;
  }
}

const kColumns: Column<Use>[] = [
  {id: 'time', title: 'Time', value: (one) => one.time, show: (one) => <Time iso={one.time} />},
  {id: 'caller', title: 'Who', value: (one) => one.caller},
  {id: 'method', title: 'Method', value: (one) => one.method},
  {id: 'target', title: 'What', value: (one) => one.target, show: (one) => <span title={one.target}><Wrapped text={decoded(one.target)} /></span>, as: 'code'},
  {id: 'process', title: 'Process', value: (one) => one.process},
  {id: 'status', title: 'Status', value: (one) => one.status, show: (one) => (one.status >= 400 ? <span class="warn">{one.status} refused or failed</span> : one.status), as: 'number'},
  {id: 'bytes', title: 'Size', value: (one) => one.bytes, show: (one) => formatBytes(one.bytes), as: 'number'},
  {id: 'took', title: 'Took', value: (one) => one.durationMs, show: (one) => formatMs(one.durationMs), as: 'number'},
  {id: 'address', title: 'From', value: (one) => one.address},
];

export function Audit(_props: PageProps) {
  const [limit, setLimit] = useParam('limit', kLimits[0]);
  const [filter, setFilter] = useParam('q');
  const answer = useAnswer<AuditAnswer>(`audit?limit=${encodeURIComponent(limit)}`, {everyMs: kEveryMs});
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (one: Use) => {
    const text = `${one.caller} ${one.method} ${one.target} ${one.process ?? ''} ${one.status} ${one.address}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  return (
    <>
      <h1>Audit</h1>
      <Loaded answer={answer}>
        {(audit) => {
          const shown = audit.uses.filter(fits).reverse();
          return (
            <>
              {audit.lost ? (
                <Notice kind="trouble" hint={audit.trouble}>
                  {formatNumber(audit.lost)} requests could not be written to the log.
                </Notice>
              ) : null}
              <p class="bar">
                <label>
                  Filter <input type="search" value={filter} placeholder="caller, path, process, status" onInput={(event) => setFilter(event.currentTarget.value)} />
                </label>
                <label>
                  Newest{' '}
                  <select value={limit} onChange={(event) => setLimit(event.currentTarget.value)}>
                    {kLimits.map((one) => (
                      <option key={one}>{one}</option>
                    ))}
                  </select>
                </label>
                <span class="dim" role="status">
                  {formatNumber(shown.length)} of {formatNumber(audit.uses.length)} shown; {formatNumber(audit.written)} written since the start
                </span>
                <Age at={answer.at} />
              </p>
              {audit.uses.length ? <Table id="audit" caption="Requests to this controller, the newest first" rows={shown} columns={kColumns} rowKey={(one, index) => `${one.time} ${one.target} ${index}`} most={1000} /> : <Notice>Nobody has used this controller yet.</Notice>}
            </>
          );
        }}
      </Loaded>
    </>
  );
}
