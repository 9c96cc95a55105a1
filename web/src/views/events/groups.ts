// Groups of exceptions as the page shows them: those of the last answer, and those that a reader opened and that are no longer among the last.
import type {ExceptionGroup} from '../../api/types';
import {StackNames} from './stack-names';

export interface Group extends ExceptionGroup {
  name: string; // for the address: the same also when the code is compiled again
  isGone: boolean; // none of it is among the exceptions that the answer is about: this is its last state
}

const order = (a: Group, b: Group): number => a.type.localeCompare(b.type) || (a.stack[0]?.method ?? '').localeCompare(b.stack[0]?.method ?? '') || a.id.localeCompare(b.id);

export class ShownGroups {
  private kept = new Map<string, Group>(); // by id, of the last answer and what stayed open

  constructor(private readonly names = new StackNames()) {}

  // In a stable order, so that nothing moves when more come.
  of(groups: ExceptionGroup[], isOpen: (name: string) => boolean): Group[] {
    const now = new Map<string, Group>();
    for (const group of groups) now.set(group.id, {...group, name: this.names.of(group.type, group.stack.map((frame) => frame.method)), isGone: false});
    const shown = new Set([...now.values()].map((group) => group.name));
    // The same stack, compiled again, takes the place of the one that was opened.
    for (const [id, group] of this.kept) if (!now.has(id) && !shown.has(group.name) && isOpen(group.name)) now.set(id, {...group, isGone: true});
    this.kept = now;
    return [...now.values()].sort(order);
  }
}
