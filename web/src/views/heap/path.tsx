// A path from a root to an object: why it is alive. The root first, one step a line.
import type {HeapStep} from '../../api/types';
import {Wrapped} from '../../ui/wrapped';

export type ObjectLink = (address: string) => string;
export type TypeLink = (type: string) => string;

export function PathView({steps, typeLink, objectLink}: {steps: HeapStep[]; typeLink: TypeLink; objectLink: ObjectLink}) {
  if (!steps.length) return <p class="dim">Nothing keeps it alive any more: the next collection frees it.</p>;
  return (
    <ol class="heap-path" data-path>
      {steps.map((step, i) => (
        <li key={i} class={step.root ? 'root' : ''}>
          {step.root ? (
            <>
              <span class="dim">{step.root}</span>{' '}
              <span class="mono">
                <Wrapped text={step.name} />
              </span>
            </>
          ) : (
            <>
              <a class="mono" href={typeLink(step.name)}>
                <Wrapped text={step.name} />
              </a>
              {step.times > 1 ? <span class="dim"> {step.times} in a row</span> : null}
              {step.address ? (
                <>
                  {' '}
                  <a class="mono dim" href={objectLink(step.address)}>
                    {step.address}
                  </a>
                </>
              ) : null}
            </>
          )}
        </li>
      ))}
    </ol>
  );
}

// The same in one line: root → type → … → type.
export function pathWords(steps: HeapStep[]): string {
  if (!steps.length) return 'nothing keeps them alive';
  return steps.map((one) => `${one.root ? `${one.root} ` : ''}${one.name}${one.times > 1 ? ` (×${one.times})` : ''}`).join(' → ');
}
