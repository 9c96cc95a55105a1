// What can be chosen above the stacks: view, filter, native frames, what is open.
import type {ComponentChildren} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';
import type {Choices} from './view';

const kTypingMs = 120;

// A search box whose text reaches the page when the reader pauses.
function Filter({value, onChange}: {value: string; onChange: (value: string) => void}) {
  const [text, setText] = useState(value);
  const timer = useRef(0);
  useEffect(() => setText(value), [value]);
  return (
    <input
      type="search"
      aria-label="Filter threads"
      placeholder="filter methods, threads, locks"
      value={text}
      onInput={(event) => {
        const typed = event.currentTarget.value;
        setText(typed);
        clearTimeout(timer.current);
        timer.current = window.setTimeout(() => onChange(typed), kTypingMs);
      }}
    />
  );
}

interface BarProps {
  choices: Choices;
  choose: (changes: Partial<Choices>) => void;
  hasNative: boolean; // native frames can be asked for
  children: ComponentChildren;
}

export function Bar({choices, choose, hasNative, children}: BarProps) {
  const isByThread = choices.view === 'threads';
  return (
    <div class="bar stacks-bar">
      <span class="switch" role="group" aria-label="View">
        <button type="button" aria-pressed={!isByThread} onClick={() => choose({view: ''})}>
          Merged
        </button>
        <button type="button" aria-pressed={isByThread} onClick={() => choose({view: 'threads'})}>
          By thread
        </button>
      </span>
      <Filter value={choices.filter} onChange={(filter) => choose({filter})} />
      {hasNative ? (
        <label>
          <input type="checkbox" name="native" checked={choices.native === 'true'} onChange={(event) => choose({native: event.currentTarget.checked ? 'true' : ''})} /> native frames
        </label>
      ) : null}
      <span class="switch" role="group" aria-label="Fold">
        <button type="button" onClick={() => choose({all: 'open', open: '', closed: ''})}>
          Open all
        </button>
        <button type="button" onClick={() => choose({all: 'closed', open: '', closed: ''})}>
          Fold all
        </button>
      </span>
      {children}
    </div>
  );
}
