// What was checked and what was not, and why: without it "no problems" means nothing.
import type {Examined} from '../../api/types';
import {Fold, type OpenSet} from '../../ui/fold';

export interface Tally {
  all: number;
  ran: number;
  found: number;
  byReason: {reason: string; names: string[]}[]; // of what did not run
}

export function tallyOf(examined: Examined[]): Tally {
  const reasons = new Map<string, string[]>();
  for (const one of examined) {
    if (one.outcome !== 'notRun') continue;
    const reason = one.reason || 'no reason given';
    reasons.set(reason, [...(reasons.get(reason) ?? []), one.name]);
  }
  const ran = examined.filter((one) => one.outcome !== 'notRun').length;
  return {all: examined.length, ran, found: examined.filter((one) => one.outcome === 'found').length, byReason: [...reasons].map(([reason, names]) => ({reason, names}))};
}

// Good is only said when every check ran.
export function verdictClass(tally: Tally): string {
  return tally.ran === tally.all && tally.ran > 2 ? 'good' : '';
}

export function ranWords({ran, all}: Tally): string {
  if (ran === all) return all === 1 ? '1 check' : `all ${all} checks`;
  return `${ran} of ${all} checks`;
}

export function NotChecked({tally}: {tally: Tally}) {
  if (!tally.byReason.length) return null;
  return (
    <ul class="not-checked">
      {tally.byReason.map(({reason, names}) => (
        <li key={reason}>
          <b>Not checked:</b> {names.join(', ')} <span class="dim">({reason})</span>
        </li>
      ))}
    </ul>
  );
}

const kOutcomes: Record<Examined['outcome'], string> = {found: 'found', nothing: 'nothing found', notRun: 'not checked'};

export function ExaminedTable({examined, open}: {examined: Examined[]; open: OpenSet}) {
  return (
    <Fold id="examined" open={open} summary={`What was checked: ${ranWords(tallyOf(examined))}`}>
      <div class="scroll" tabIndex={0} role="region" aria-label="Checks">
        <table>
          <thead>
            <tr>
              <th scope="col">Check</th>
              <th scope="col">Id</th>
              <th scope="col">Result</th>
            </tr>
          </thead>
          <tbody>
            {examined.map((one) => (
              <tr key={one.id}>
                <td>{one.name}</td>
                <td class="mono dim">{one.id}</td>
                <td>
                  {kOutcomes[one.outcome]}
                  {one.reason ? <span class="dim">: {one.reason}</span> : null}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Fold>
  );
}
