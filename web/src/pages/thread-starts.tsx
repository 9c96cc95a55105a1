import type {ThreadStartsView} from '../api/types';
import {useMinutes, useView} from '../api/view';
import type {PageProps} from '../page';
import {Topic} from '../views/events/frame';
import {ThreadsStarted} from '../views/events/threads';

export function ThreadStarts({pid}: PageProps) {
  const [minutes, setMinutes] = useMinutes();
  const answer = useView<ThreadStartsView>('thread-starts', pid, minutes, (view) => view.threads.length);
  return (
    <Topic title="Thread starts" answer={answer} minutes={minutes} setMinutes={setMinutes}>
      {(view, span) => <ThreadsStarted view={view} span={span} />}
    </Topic>
  );
}
