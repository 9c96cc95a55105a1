import type {GcView} from '../api/types';
import {useMinutes, useView} from '../api/view';
import type {PageProps} from '../page';
import {Topic} from '../views/events/frame';
import {GcCollections} from '../views/events/gc';

export function Gc({pid}: PageProps) {
  const [minutes, setMinutes] = useMinutes();
  const answer = useView<GcView>('gc', pid, minutes, (view) => view.collections.length);
  return (
    <Topic title="Garbage collections" answer={answer} minutes={minutes} setMinutes={setMinutes}>
      {(view, span) => <GcCollections view={view} span={span} />}
    </Topic>
  );
}
