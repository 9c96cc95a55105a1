import {useBook} from '../api/book';
import {kRuntime, summed} from '../api/counters';
import type {ThreadPoolView} from '../api/types';
import {useMinutes, useView} from '../api/view';
import type {PageProps} from '../page';
import {Topic} from '../views/events/frame';
import {type PoolCounters, poolHarm, PoolWork} from '../views/events/pool';

const kThreads = ['dotnet.thread_pool.thread.count', 'threadpool-thread-count'];
const kQueue = ['dotnet.thread_pool.queue.length', 'threadpool-queue-length'];
const kCompleted = ['dotnet.thread_pool.work_item.count', 'threadpool-completed-items-count'];
const kNames = [...kThreads, ...kQueue, ...kCompleted];

export function ThreadPool({pid}: PageProps) {
  const [minutes, setMinutes] = useMinutes();
  const answer = useView<ThreadPoolView>('threadpool', pid, minutes, (view) => view.workers.length + view.adjustments.length);
  const {book} = useBook(pid, `${kRuntime}[${kNames.join(',')}]`);
  const intervalMs = book?.intervalMs ?? 1000;
  const of = (names: string[]) => summed(book?.find(kRuntime, ...names), intervalMs);
  const counters: PoolCounters = {threads: of(kThreads), queue: of(kQueue), completed: of(kCompleted), intervalMs};
  return (
    <Topic title="Thread pool" answer={answer} minutes={minutes} setMinutes={setMinutes} lead={(view) => poolHarm(view, counters) || view.summary}>
      {(view, span) => <PoolWork view={view} span={span} counters={counters} />}
    </Topic>
  );
}
