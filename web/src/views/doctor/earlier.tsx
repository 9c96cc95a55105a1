// The visits before a report: which finding was there when, and what changed since one of them.
import type {Examination} from '../../api/types';
import {useParam} from '../../frame/router';
import {Time} from '../../ui/time';
import {Changes} from './changes';
import {countWords} from './report';
import {keyedFindings, sharedIds} from './tree';

const wasChecked = (report: Examination, id: string) => report.examined.some((one) => one.id === id && one.outcome !== 'notRun');

// Newest first; `earlier` is not empty.
export function EarlierVisits({report, earlier}: {report: Examination; earlier: Examination[]}) {
  const [chosen, choose] = useParam('since');
  const since = Math.min(earlier.length - 1, Math.max(0, Number(chosen) || 0));
  const visits = [report, ...earlier];
  const shared = sharedIds(...visits.map((visit) => visit.findings));
  const rows = new Map<string, string>(); // key and title, of the newest visit that has it
  for (const visit of visits) for (const {key, finding} of keyedFindings(visit.findings, shared)) if (!rows.has(key)) rows.set(key, finding.title);
  return (
    <section class="note comparison" aria-label="Earlier visits" data-earlier={earlier.length}>
      <label>
        Changes since the visit of{' '}
        <select value={since} onChange={(event) => choose(event.currentTarget.value)}>
          {earlier.map((one, at) => (
            <option key={one.time} value={at}>
              {one.time.slice(0, 19).replace('T', ' ')} UTC ({countWords(one.findings) || 'no findings'})
            </option>
          ))}
        </select>
      </label>
      {earlier[since].pid !== report.pid ? <p class="warn">That visit was of another process ({earlier[since].process}, {earlier[since].pid}).</p> : null}
      <Changes earlier={earlier[since]} later={report} />
      {rows.size ? (
        <div class="scroll">
          <table class="visits">
            <caption>Findings by visit, the newest first</caption>
            <thead>
              <tr>
                <th scope="col">Finding</th>
                {visits.map((one) => (
                  <th scope="col" key={one.time}>
                    <Time iso={one.time} />
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {[...rows].map(([key, title]) => (
                <tr key={key} data-row={key}>
                  <th scope="row">{title}</th>
                  {visits.map((one) => (
                    <Cell key={one.time} visit={one} row={key} shared={shared} />
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : null}
    </section>
  );
}

function Cell({visit, row, shared}: {visit: Examination; row: string; shared: Set<string>}) {
  const found = keyedFindings(visit.findings, shared).find((one) => one.key === row)?.finding;
  if (found)
    return (
      <td title={found.title}>
        <span class={`dot ${found.severity}`} /> {found.severity}
      </td>
    );
  return <td class="dim">{wasChecked(visit, row.split('-')[0]) ? '–' : 'not checked'}</td>;
}
