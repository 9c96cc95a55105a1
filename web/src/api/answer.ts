// An answer of the controller as state of a page: asked for once or again and again, the last good one is kept.
import {useContext, useEffect, useRef, useState} from 'preact/hooks';
import {createContext} from 'preact';
import {Api, Problem} from './client';
import {isPaused, onPause} from '../frame/pause';

export const ApiContext = createContext(new Api(''));
export const useApi = (): Api => useContext(ApiContext);

export interface Answer<T> {
  data?: T; // the last good answer, even after a failure
  at: number; // when it came, ms since 1970; 0: never
  problem?: Problem; // why the last request failed; undefined after a good one
  isLoading: boolean;
  refresh: () => void;
}

export interface AnswerOptions<T> {
  everyMs?: number; // asks again this long after each answer; 0: once
  isLast?: (data: T) => boolean; // nothing more will come: stops asking
}

const kRefresh = 'clrscope-refresh';

// Asks for everything on the page again: the key "r" and Refresh buttons.
export function refreshAll(): void {
  document.dispatchEvent(new CustomEvent(kRefresh));
}

export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem(-1, error instanceof Error ? error.message : String(error));
}

// `path` undefined: nothing is asked for yet. A new path keeps the old data until the new answer is there.
export function useAnswer<T>(path: string | undefined, {everyMs = 0, isLast}: AnswerOptions<T> = {}): Answer<T> {
  const api = useApi();
  const [state, setState] = useState<Omit<Answer<T>, 'refresh'>>({at: 0, isLoading: path !== undefined});
  const ask = useRef(() => {});
  const last = useRef(isLast);
  last.current = isLast;
  useEffect(() => {
    if (path === undefined) return undefined;
    let isOver = false;
    let isAsking = false;
    let timer = 0;
    const again = () => {
      clearTimeout(timer);
      if (everyMs > 0) timer = window.setTimeout(() => (isPaused() || document.hidden ? again() : void now()), everyMs);
    };
    const now = async () => {
      if (isAsking) return;
      isAsking = true;
      setState((before) => ({...before, isLoading: true}));
      try {
        const data = await api.get<T>(path);
        if (isOver) return;
        setState({data, at: Date.now(), isLoading: false});
        if (!last.current?.(data)) again();
      } catch (error) {
        if (isOver) return;
        setState((before) => ({...before, problem: problemOf(error), isLoading: false}));
        again();
      } finally {
        isAsking = false;
      }
    };
    ask.current = () => void now();
    void now();
    const onRefresh = () => void now();
    const onVisible = () => {
      if (!document.hidden && everyMs > 0 && !isPaused()) void now();
    };
    document.addEventListener(kRefresh, onRefresh);
    document.addEventListener('visibilitychange', onVisible);
    const stopPause = onPause(() => {
      if (!isPaused() && everyMs > 0) void now();
    });
    return () => {
      isOver = true;
      clearTimeout(timer);
      document.removeEventListener(kRefresh, onRefresh);
      document.removeEventListener('visibilitychange', onVisible);
      stopPause();
    };
  }, [path, everyMs]);
  return {...state, refresh: () => ask.current()};
}
