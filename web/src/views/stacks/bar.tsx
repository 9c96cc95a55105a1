// What can be chosen above the stacks: view, filter, native frames, what is open.
import type {ComponentChildren} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';
import type {Choices} from './view';

const kTypingMs = 120;

// A search box whose text reaches the page when the reader pauses.
interface FilterProps {
  value: string;
  onChange: (value: string) => void;
  label?: string;
  example?: string;
}

export function Filter({value, onChange, label = 'Filter threads', example = 'filter methods, threads, locks'}: FilterProps) {
  const [text, setText] = useState(value);
  const timer = useRef(0);
  useEffect(() => setText(value), [value]);
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={example}
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

// Threads merged, threads one by one, or what async methods wait for; the last only where a controller can be asked.
export function ViewSwitch({view, hasAsync, onView}: {view: string; hasAsync: boolean; onView: (view: string) => void}) {
  const views = [
    ['', 'Merged'],
    ['threads', 'By thread'],
    ...(hasAsync ? [['async', 'Async']] : []),
  ];
  return (
    <span class="switch" role="group" aria-label="View">
      {views.map(([name, title]) => (
        <button key={name} type="button" aria-pressed={view === name} onClick={() => onView(name)}>
          {title}
        </button>
      ))}
    </span>
  );
}

interface BarProps {
  choices: Choices;
  choose: (changes: Partial<Choices>) => void;
  hasNative: boolean; // native frames can be asked for
  hasAsync?: boolean;
  children: ComponentChildren;
}

export function Bar({choices, choose, hasNative, hasAsync = false, children}: BarProps) {
  return (
    <div class="bar stacks-bar">
      <ViewSwitch view={choices.view === 'threads' ? 'threads' : ''} hasAsync={hasAsync} onView={(view) => choose({view})} />
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
