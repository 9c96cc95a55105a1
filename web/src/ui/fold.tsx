// Parts that unfold. What is open is known by id, so that new data never folds what a reader opened.
import type {ComponentChildren} from 'preact';
import {useParam} from '../frame/router';
import {changed, isIn, kNone} from './open-ids';

export interface OpenSet {
  has: (id: string) => boolean;
  set: (id: string, isOpen: boolean) => void;
}

// What is open, in the address. `fallback`: the id of what is open at first.
export function useOpenParam(name: string, fallback = kNone): OpenSet {
  const [value, setValue] = useParam(name, fallback);
  return {has: (id) => isIn(value, id), set: (id, isOpen) => setValue(changed(value, id, isOpen))};
}

interface FoldProps {
  id: string;
  open: OpenSet;
  summary: ComponentChildren;
  children: ComponentChildren;
  class?: string;
}

// The contents exist only while it is open.
export function Fold({id, open, summary, children, class: name = ''}: FoldProps) {
  const isOpen = open.has(id);
  return (
    <details
      class={`fold ${name}`}
      data-fold={id}
      open={isOpen}
      onToggle={(event) => {
        if (event.target === event.currentTarget && event.currentTarget.open !== isOpen) open.set(id, event.currentTarget.open);
      }}
    >
      <summary>{summary}</summary>
      {isOpen ? <div class="fold-body">{children}</div> : null}
    </details>
  );
}
