// Stack frames, one line each: method, module, file and line; coloured by whose code it is.
import type {Frame} from '../api/types';
import {Wrapped} from './wrapped';

// Of a stack, of an exception, of a place in a report.
export type AnyFrame = Omit<Frame, 'kind'> & {kind?: string};

// The method without its arguments: shown where space is short. The whole name is the title.
export function shortMethod(method: string): string {
  let depth = 0;
  for (let i = 0; i < method.length; ++i) {
    const letter = method[i];
    if (letter === '<' || letter === '[') ++depth;
    else if (letter === '>' || letter === ']') --depth;
    else if (letter === '(' && depth <= 0 && i > 0) return method.slice(0, i);
  }
  return method;
}

export function placeOf(frame: {file?: string; line?: number}): string {
  if (!frame.file) return '';
  const name = frame.file.slice(frame.file.lastIndexOf('/') + 1);
  return frame.line ? `${name}:${frame.line}` : name;
}

export function FrameLine({frame}: {frame: AnyFrame}) {
  const place = placeOf(frame);
  return (
    <span class={`frame-line kind-${frame.kind ?? 'unknown'}`} title={`${frame.method}${frame.module ? `  (${frame.module})` : ''}${frame.file ? `\n${frame.file}:${frame.line ?? ''}` : ''}`}>
      <Wrapped text={frame.method || '?'} />
      {place ? <span class="dim"> {place}</span> : frame.module ? <span class="dim"> {frame.module}</span> : null}
    </span>
  );
}

export function Frames({frames, most = 1000}: {frames: AnyFrame[]; most?: number}) {
  return (
    <ol class="frames">
      {frames.slice(0, most).map((frame, index) => (
        <li key={index}>
          <FrameLine frame={frame} />
        </li>
      ))}
      {frames.length > most ? <li class="dim">and {frames.length - most} more frames</li> : null}
    </ol>
  );
}
