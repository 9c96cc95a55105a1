import {useAnswer} from '../api/answer';
import {useBook} from '../api/book';
import {kRuntime} from '../api/counters';
import type {ContentionView, MonitorStacks} from '../api/types';
import {useMinutes, useView} from '../api/view';
import {addressOf} from '../frame/router';
import type {PageProps} from '../page';
import {formatMs} from '../ui/format';
import {Age, Loaded} from '../ui/state';
import {Topic} from '../views/events/frame';
import {LocksNow, LockWaits, waitersOf} from '../views/events/locks';
import {counted} from '../views/events/words';

const kNowMs = 10_000; // reads memory of the process, without stopping it
const kNames = ['dotnet.monitor.lock_contentions', 'monitor-lock-contention-count'];

export function Contention({pid}: PageProps) {
  const [minutes, setMinutes] = useMinutes();
  const answer = useView<ContentionView>('contention', pid, minutes);
  const held = useAnswer<MonitorStacks>(`stacks?pid=${pid}&stop=false&lines=true`, {everyMs: kNowMs});
  const {book} = useBook(pid, `${kRuntime}[${kNames.join(',')}]`);
  const rate = [{label: '', points: [...(book?.find(kRuntime, ...kNames)?.series.values() ?? [])][0]?.points ?? []}];
  // A thread that waits since before anybody watched has sent no event.
  const lead = (view: ContentionView) => {
    if (!held.data && !view.contentions) return `No wait for a lock began in ${formatMs(view.durationMs)}; which locks are held now is not known${held.problem ? '' : ' yet'}.`;
    const waiters = held.data ? waitersOf(held.data) : 0;
    if (view.contentions || !waiters) return view.summary;
    return `${counted(waiters, 'thread')} ${waiters === 1 ? 'waits' : 'wait'} for a lock since before this page watched; no other wait began in ${formatMs(view.durationMs)}.`;
  };
  return (
    <Topic title="Locks" answer={answer} minutes={minutes} setMinutes={setMinutes} lead={lead}>
      {(view, span) => (
        <>
          <section class="now-part">
            <h2>
              Right now <Age at={held.at} />
            </h2>
            <Loaded answer={held} waiting="Reading the locks of the process …">
              {(data) => <LocksNow held={data} stacksAddress={addressOf('/stacks', {pid})} />}
            </Loaded>
          </section>
          <LockWaits view={view} span={span} rate={rate} rateIntervalMs={book?.intervalMs ?? 1000} />
        </>
      )}
    </Topic>
  );
}
