// Short names of stacks, for the address. Code that is compiled again loses the frames that are inlined: such a stack keeps the name of the
// one it was before, so that what a reader opened stays open. The browser's tab remembers them, through a reload too.

const kStored = 'clrscope-stacks';
const kMost = 300;

interface Named {
  type: string;
  stack: string[];
  name: string;
}

// FNV-1a: short enough for an address.
export function hash(text: string): string {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; ++i) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return (value >>> 0).toString(36);
}

// Whether the same is left of `all` when some frames between the first and the last are taken out.
function isInlined(stack: string[], all: string[]): boolean {
  if (stack.length >= all.length || stack[0] !== all[0] || stack[stack.length - 1] !== all[all.length - 1]) return false;
  let at = 0;
  for (const frame of all) if (frame === stack[at]) ++at;
  return at === stack.length;
}

export class StackNames {
  private readonly known = new Map<string, Named>(); // by type and whole stack

  constructor(private readonly store?: Pick<Storage, 'getItem' | 'setItem'>) {
    try {
      for (const one of JSON.parse(store?.getItem(kStored) ?? '[]') as Named[]) this.known.set(hash([one.type, ...one.stack].join('\n')), one);
    } catch {
      // what cannot be read is named anew
    }
  }

  of(type: string, stack: string[]): string {
    const own = hash([type, ...stack].join('\n'));
    const same = this.known.get(own);
    if (same) return same.name;
    const before = [...this.known.values()].find((one) => one.type === type && (isInlined(stack, one.stack) || isInlined(one.stack, stack)));
    this.known.set(own, {type, stack, name: before?.name ?? own});
    if (this.known.size > kMost) this.known.delete(this.known.keys().next().value!);
    try {
      this.store?.setItem(kStored, JSON.stringify([...this.known.values()]));
    } catch {
      // no room: a reload folds some
    }
    return before?.name ?? own;
  }
}

// Not there where the browser forbids it.
export function tabStorage(): Storage | undefined {
  try {
    return sessionStorage;
  } catch {
    return undefined;
  }
}
