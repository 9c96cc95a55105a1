// What is wrong with the process, or what was checked to say that nothing was found.
import type {Watch} from '../../api/types';
import {formatAge, formatMs} from '../../ui/format';
import type {OpenSet} from '../../ui/fold';
import {useNow} from '../../ui/state';
import {ExaminedTable, NotChecked, ranWords, tallyOf, verdictClass} from '../doctor/examined';
import {FindingCards} from '../doctor/findings';
import {countWords} from '../doctor/report';
import {Earlier, sinceWords} from './history';

const kLate = 3; // a check that is so many intervals old says nothing of now

export function Verdict({watch, at, open, pid}: {watch: Watch; at: number; open: OpenSet; pid: number}) {
  const now = useNow();
  const ago = watch.checkedAgoMs === undefined ? undefined : watch.checkedAgoMs + Math.max(0, now - at); // what the controller said, and the time since
  const {findings, examined, ended, history = []} = watch;
  const tally = tallyOf(examined);
  if (ago === undefined)
    return (
      <section class="verdict" data-verdict="unknown">
        <p class="lead">{ended ? 'It ended before it was checked.' : 'Checking …'}</p>
        <p class="dim">{ended ?? 'The first check takes a few seconds.'}</p>
      </section>
    );
  const when = `${formatAge(ago)} ago`;
  const isOld = ago > kLate * watch.everyMs;
  return (
    <div data-verdict={findings.length ? 'found' : tally.ran ? 'nothing' : 'unknown'} data-old={isOld ? 'yes' : undefined}>
      {findings.length ? (
        <p class="lead">
          {countWords(findings)}{' '}
          <span class="dim">
            found in {ranWords(tally)}, {when}
          </span>
        </p>
      ) : (
        <section class={`verdict ${ended || isOld ? '' : verdictClass(tally)}`}>
          <p class="lead">
            {tally.ran ? `No problems found in ${ranWords(tally)}` : 'Nothing could be checked'}, <span class="ago">{when}</span>.
          </p>
          <NotChecked tally={tally} />
        </section>
      )}
      {isOld && !ended ? <p class="warn">The last check is older than it should be: the controller is busy or cannot be reached.</p> : null}
      <FindingCards findings={findings} open={open} pid={pid} isGone={ended !== undefined} sinceOf={(one) => sinceWords(history, one, ended ? at : now)} />
      <Earlier history={history} open={open} />
      {findings.length ? <NotChecked tally={tally} /> : null}
      {watch.notes.map((note) => (
        <p class="dim" key={note}>
          {note}
        </p>
      ))}
      <ExaminedTable examined={examined} open={open} />
      <p class="dim">
        {ended ? `Not checked any more: ${ended}.` : `Checked every ${formatAge(watch.everyMs)} while this page is open; `}
        {ended ? '' : `a check takes ${formatMs(watch.cost.durationMs)}, pauses the process ${formatMs(watch.cost.pauseMs)} and costs ${formatMs(watch.cost.cpuMs)} of CPU.`}
      </p>
    </div>
  );
}
