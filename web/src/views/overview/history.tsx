// Since when a process has its findings, and which ones it had before.
import type {ComponentChildren} from 'preact';
import type {Finding, FindingSpan} from '../../api/types';
import {Fold, type OpenSet} from '../../ui/fold';
import {formatAge} from '../../ui/format';
import {Clock, Time} from '../../ui/time';
import {SeverityMark} from '../doctor/findings';

// The first check cannot know how long it has been so.
export function sinceWords(history: FindingSpan[], finding: Pick<Finding, 'id'>, now: number): ComponentChildren {
  const span = history.find((one) => one.id === finding.id && one.ended === undefined);
  if (!span) return null;
  const began = Date.parse(span.began);
  return (
    <>
      Since <Clock ms={began} />
      {span.notBefore ? '' : ' or earlier'}, {formatAge(Math.max(0, now - began))} ago.
    </>
  );
}

export function Earlier({history, open}: {history: FindingSpan[]; open: OpenSet}) {
  const past = history.filter((one) => one.ended !== undefined);
  if (!past.length) return null;
  return (
    <Fold id="earlier" open={open} summary={past.length === 1 ? '1 earlier finding is gone' : `${past.length} earlier findings are gone`}>
      <ul class="list" data-earlier>
        {past.map((one) => (
          <li key={`${one.id} ${one.began}`}>
            <SeverityMark severity={one.severity} /> {one.title} <span class="dim">{one.id}</span>
            <br />
            <span class="dim">
              from <Time iso={one.began} /> to <Time iso={one.ended ?? ''} />
            </span>
          </li>
        ))}
      </ul>
    </Fold>
  );
}
