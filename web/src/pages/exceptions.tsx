import {useBook} from '../api/book';
import {type CounterBook, kRuntime} from '../api/counters';
import type {ExceptionsView} from '../api/types';
import {useMinutes, useView} from '../api/view';
import type {PageProps} from '../page';
import type {Line} from '../ui/chart';
import {useOpenParam} from '../ui/fold';
import {ExceptionsThrown} from '../views/events/exceptions';
import {Topic} from '../views/events/frame';

const kNames = ['dotnet.exceptions', 'exception-count'];

// A line for each type that the counter tells of.
function rateOf(book: CounterBook | undefined): Line[] {
  const series = [...(book?.find(kRuntime, ...kNames)?.series.values() ?? [])];
  return series.length ? series.map((one) => ({label: one.tags.replace(/^error\.type=/, ''), points: one.points})) : [{label: '', points: []}];
}

export function Exceptions({pid}: PageProps) {
  const [minutes, setMinutes] = useMinutes();
  const answer = useView<ExceptionsView>('exceptions', pid, minutes);
  const {book} = useBook(pid, `${kRuntime}[${kNames.join(',')}]`);
  const open = useOpenParam('open');
  return (
    <Topic title="Exceptions" answer={answer} minutes={minutes} setMinutes={setMinutes}>
      {(view, span) => <ExceptionsThrown view={view} span={span} rate={rateOf(book)} rateIntervalMs={book?.intervalMs ?? 1000} open={open} />}
    </Topic>
  );
}
