// How far an examination is.
import {useNow} from '../../ui/state';
import {Clock} from '../../ui/time';
import {formatAge} from '../../ui/format';

export function ExamineProgress({started, seconds}: {started: string; seconds: number}) {
  const began = Date.parse(started);
  const passed = Math.max(0, useNow() - began);
  const isWatching = passed < seconds * 1000;
  return (
    <div class="note progress" role="status" data-running>
      <p>
        {isWatching ? `Examining: ${formatAge(passed)} of ${seconds} s` : `Collecting method names and weighing the evidence, ${formatAge(passed)} so far`} <span class="dim">since <Clock ms={began} /></span>
      </p>
      <progress aria-label="Progress of the examination" max={seconds * 1000} value={isWatching ? passed : undefined} />
      <p class="dim">It goes on when you leave this page; its link leads back.</p>
    </div>
  );
}
