// A book of counters as state of a page.
import {useEffect, useMemo, useReducer, useState} from 'preact/hooks';
import {isPaused, onPause} from '../frame/pause';
import {problemOf, useApi} from './answer';
import type {Problem} from './client';
import {CounterBook} from './counters';

const kAgainMs = 3000; // after a failure
const kDrawMs = 250; // at most so often

export interface Book {
  book?: CounterBook; // undefined without a process; the last good values after a failure
  problem?: Problem;
}

// All counters of a process as they come, or those of `choice`. Nothing comes while the page cannot be seen;
// nothing is drawn while it is paused.
export function useBook(pid: number | undefined, choice = ''): Book {
  const api = useApi();
  const [, changed] = useReducer((n: number) => n + 1, 0);
  const [problem, setProblem] = useState<Problem>();
  const book = useMemo(() => (pid ? new CounterBook(pid, choice) : undefined), [pid, choice]);
  useEffect(() => {
    setProblem(undefined);
    if (!book) return undefined;
    let isOver = false;
    let stop = () => {};
    let again = 0;
    let drawing = 0;
    const draw = () => {
      drawing ||= window.setTimeout(() => {
        drawing = 0;
        if (!isPaused()) changed(0);
      }, kDrawMs);
    };
    const ask = async () => {
      again = 0;
      try {
        await book.load(api);
      } catch (error) {
        if (isOver) return;
        setProblem(problemOf(error));
        again = window.setTimeout(() => void ask(), kAgainMs);
        return;
      }
      if (isOver) return;
      setProblem(undefined);
      draw();
      if (!book.ended && !document.hidden) follow();
    };
    // A stream that stays closed is asked about: the answer says whether the server is gone, and has what was missed.
    const follow = () => {
      stop();
      stop = book.follow(api, () => {
        if (book.isConnected || book.ended) {
          clearTimeout(again);
          again = 0;
          setProblem(undefined);
        } else again ||= window.setTimeout(() => void ask(), kAgainMs);
        draw();
      });
    };
    const onVisible = () => {
      stop();
      stop = () => {};
      clearTimeout(again);
      if (!document.hidden && !book.ended) void ask();
    };
    void ask();
    document.addEventListener('visibilitychange', onVisible);
    const stopPause = onPause(draw);
    return () => {
      isOver = true;
      stop();
      clearTimeout(again);
      clearTimeout(drawing);
      document.removeEventListener('visibilitychange', onVisible);
      stopPause();
    };
  }, [book]);
  return {book, problem};
}
