// One process: what is wrong with it first, then how it does, then what was kept of it.
import {useAnswer} from '../api/answer';
import {useBook} from '../api/book';
import type {ExaminationSummary, Recording, Watch} from '../api/types';
import {processLabel, useScope} from '../frame/processes';
import {addressOf} from '../frame/router';
import type {PageProps} from '../page';
import {formatUptime} from '../ui/format';
import {Fold, useOpenParam} from '../ui/fold';
import {Age, Ended, Loaded, Lost, OldData, Trouble} from '../ui/state';
import {Kept} from '../views/overview/kept';
import {kTileCounters, Tiles, tilesOf, TileTable} from '../views/overview/tiles';
import {Verdict} from '../views/overview/verdict';

const kWatchMs = 5000;
const kKeptMs = 15_000;

export function Overview({pid, process}: PageProps) {
  const watch = useAnswer<Watch>(`watch/${pid}`, {everyMs: kWatchMs, isLast: (one) => one.ended !== undefined});
  const isTracing = useScope('trace');
  const reports = useAnswer<ExaminationSummary[]>('doctor/reports', {everyMs: kKeptMs});
  const recordings = useAnswer<Recording[]>(isTracing ? 'recordings' : undefined, {everyMs: kKeptMs});
  const open = useOpenParam('open');
  const known = watch.data?.process ?? process;
  const ended = watch.data?.ended;
  const isOurs = (one: {process: {pid: number}}) => one.process.pid === pid;
  return (
    <>
      <h1>{known ? processLabel(known) : `Process ${pid}`}</h1>
      <p class="dim">
        {known?.runtime ? `.NET ${known.runtime} · ` : ''}
        {known ? `user ${known.user}` : ''}
        {watch.data && !ended ? ` · up ${formatUptime(watch.data.process.upMs)}` : ''}
        {known?.container ? ` · container ${known.container}` : ''}
        {watch.data?.process.threads ? ` · ${watch.data.process.threads} threads` : ''}
      </p>
      {ended ? <Ended at={watch.data?.endedAt} /> : null}
      <Loaded answer={watch} waiting="Checking the process …">
        {(data) => <Verdict watch={data} at={watch.at} open={open} pid={pid} />}
      </Loaded>
      <p class="bar actions">
        {isTracing && !ended ? (
          <a class={watch.data?.findings.length ? 'button' : 'button main'} href={addressOf('/record', {pid, profile: 'cpu-sampling', seconds: 5})}>
            Record CPU for 5 s
          </a>
        ) : null}
        {ended ? null : (
          <a class="button" href={addressOf('/stacks', {pid})}>
            See stacks
          </a>
        )}
        <a class="button" href={addressOf('/doctor', {pid})}>
          {ended ? 'See the doctor’s reports' : 'Ask the doctor'}
        </a>
      </p>
      <Live pid={pid} memoryLimit={watch.data?.process.memoryLimitBytes} open={open} />
      <Kept pid={pid} reports={reports.data?.filter(isOurs)} recordings={recordings.data?.filter(isOurs)} />
    </>
  );
}

function Live({pid, memoryLimit, open}: {pid: number; memoryLimit?: number; open: ReturnType<typeof useOpenParam>}) {
  const {book, problem} = useBook(pid, kTileCounters);
  if (!book) return null;
  const tiles = tilesOf(book, memoryLimit);
  return (
    <section aria-label="Live numbers">
      {problem && !book.ended ? book.at ? <OldData at={book.at} problem={problem} /> : <Trouble problem={problem} /> : null}
      <Lost lost={book.lost} leftOut={book.leftOut + book.missed} />
      <Tiles book={book} tiles={tiles} />
      <p class="bar">
        {book.ended ? <span class="warn">No more values: {book.ended}. The last ones are kept.</span> : <Age at={book.at} />}
        <a href={addressOf('/counters', {pid})}>All counters</a>
      </p>
      <Fold id="values" open={open} summary="The numbers as a table">
        <TileTable tiles={tiles} intervalMs={book.intervalMs} />
      </Fold>
    </section>
  );
}
