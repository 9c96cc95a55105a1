// Items of a live stream as state of a page. While the page is paused they are kept and shown when it goes on.
import {useEffect, useReducer, useRef} from 'preact/hooks';
import {isPaused, onPause} from '../frame/pause';
import {useApi} from './answer';
import type {Problem} from './client';
import type {LiveGap, StreamEnd, StreamMissed} from './types';

export interface LiveItem<T> {
  serial: number; // in the order they came: stays the same when older ones are dropped
  value: T;
}

export interface Live<T> {
  items: LiveItem<T>[]; // oldest first
  missed: number; // items that the stream lost or that no longer fit
  ended?: string; // why the stream ended
  isConnected: boolean;
  problem?: Problem; // why the server refuses the stream
}

const kDrawMs = 250;

// Follows one kind of item at `path` and keeps the last `most` of them. A new path starts anew.
export function useLive<T>(path: string, kind: string, most: number): Live<T> {
  const api = useApi();
  const [, draw] = useReducer((count: number) => count + 1, 0);
  const live = useRef<Live<T>>({items: [], missed: 0, isConnected: false});
  const shown = useRef(live.current);
  useEffect(() => {
    live.current = {items: [], missed: 0, isConnected: false};
    let timer = 0;
    let serial = 0;
    let close = () => {};
    const show = () => {
      timer = 0;
      if (isPaused()) return;
      shown.current = {...live.current, items: [...live.current.items]};
      draw(0);
    };
    const later = () => {
      if (!timer) timer = window.setTimeout(show, kDrawMs);
    };
    const onEvent = (name: string, data: T | LiveGap | StreamMissed | StreamEnd) => {
      const {items} = live.current;
      const {dropped = 0, leftOut = 0} = data as LiveGap;
      if (dropped || leftOut) live.current.missed += dropped + leftOut;
      else if (name === 'missed') live.current.missed += (data as StreamMissed).items;
      else if (name === 'end') {
        live.current.ended = (data as StreamEnd).reason;
        close();
      } else if (items.push({serial: serial++, value: data as T}) > most) items.shift();
      later();
    };
    const onState = (isConnected: boolean, problem?: Problem) => {
      live.current.isConnected = isConnected;
      live.current.problem = problem;
      later();
    };
    show();
    close = api.live<T | LiveGap | StreamMissed | StreamEnd>(path, [kind, 'missed', 'end'], onEvent, onState);
    const stopPause = onPause(later);
    return () => {
      clearTimeout(timer);
      close();
      stopPause();
    };
  }, [path, kind, most]);
  return shown.current;
}
