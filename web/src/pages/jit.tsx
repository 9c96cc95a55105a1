import type {JitView} from '../api/types';
import {useMinutes, useView} from '../api/view';
import type {PageProps} from '../page';
import {Topic} from '../views/events/frame';
import {JitMethods} from '../views/events/jit';

export function Jit({pid}: PageProps) {
  const [minutes, setMinutes] = useMinutes();
  const answer = useView<JitView>('jit', pid, minutes, (view) => view.methods.length);
  return (
    <Topic title="JIT: methods compiled" answer={answer} minutes={minutes} setMinutes={setMinutes}>
      {(view, span) => <JitMethods view={view} span={span} />}
    </Topic>
  );
}
