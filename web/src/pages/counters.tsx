import {useBook} from '../api/book';
import type {CounterBook} from '../api/counters';
import {useMinutes} from '../api/view';
import {usePaused} from '../frame/pause';
import {processLabel, useProcesses} from '../frame/processes';
import {useParam} from '../frame/router';
import type {PageProps} from '../page';
import {rangeStart} from '../ui/chart';
import {useOpenParam} from '../ui/fold';
import {formatNumber} from '../ui/format';
import {Age, Ended, Lost, Notice, OldData, Trouble} from '../ui/state';
import {Grid, matching} from '../views/counters/grid';
import {Range} from '../views/events/frame';

export function Counters({pid}: PageProps) {
  const [minutes, setMinutes] = useMinutes('5');
  const [search, setSearch] = useParam('search');
  const [otherText, setOther] = useParam('with');
  const otherPid = Number(otherText) || undefined;
  const {data: processes = []} = useProcesses();
  const {book, problem} = useBook(pid);
  const other = useBook(otherPid);
  const others = processes.filter((one) => one.pid !== pid && one.reachable);
  return (
    <>
      <h1>Counters</h1>
      <div class="bar">
        <label>
          Search
          <input type="search" value={search} placeholder="gc heap" onInput={(event) => setSearch(event.currentTarget.value)} />
        </label>
        <Range minutes={minutes} setMinutes={setMinutes} />
        <label>
          Compare with
          <select data-compare value={otherText} onChange={(event) => setOther(event.currentTarget.value, 'push')}>
            <option value="">no other process</option>
            {others.map((one) => (
              <option key={one.pid} value={String(one.pid)}>
                {processLabel(one)}
              </option>
            ))}
            {otherPid && !others.some((one) => one.pid === otherPid) ? <option value={otherText}>{otherPid}</option> : null}
          </select>
        </label>
        {book ? <Age at={book.at} /> : null}
      </div>
      {problem && !book?.ended ? book?.at ? <OldData at={book.at} problem={problem} /> : <Trouble problem={problem} /> : null}
      {otherPid && other.problem ? <Trouble problem={other.problem} /> : null}
      {book?.instruments.size ? <Values book={book} other={otherPid ? other.book : undefined} minutes={Number(minutes)} search={search} /> : problem ? null : <p role="status">Waiting for the first values …</p>}
    </>
  );
}

function Values({book, other, minutes, search}: {book: CounterBook; other?: CounterBook; minutes: number; search: string}) {
  const open = useOpenParam('tables');
  const paused = usePaused();
  const to = Math.min(paused || Infinity, book.latestMs);
  const from = rangeStart(to, minutes * 60_000, book.firstMs);
  const shown = matching(book, search);
  return (
    <>
      {book.ended ? <Ended at={book.endedAt} reason={book.ended} /> : null}
      {other?.ended ? <Notice kind="trouble">The process it is compared with, {other.pid}, has exited. Its last values are kept.</Notice> : null}
      <Lost lost={book.lost} leftOut={book.leftOut + book.missed} />
      {book.notes.map((note) => (
        <Notice key={note}>{note}</Notice>
      ))}
      <p class="dim" data-shown>
        {shown.length === book.instruments.size ? `${formatNumber(shown.length)} counters` : `${formatNumber(shown.length)} of ${formatNumber(book.instruments.size)} counters`}, a value every {book.intervalMs / 1000} s.
      </p>
      {shown.length ? null : <p>No counter has “{search}” in its name.</p>}
      <Grid book={book} other={other} names={[String(book.pid), String(other?.pid ?? '')]} instruments={shown} open={open} from={from} to={to} />
    </>
  );
}
