// Numbers and names as people read them.
import {kindTitles, kKinds} from '../../ui/kinds';
import type {Trace} from './data';
import {kWaitingKind} from './tree';

export function durationText(us: number): string {
  if (us >= 60e6) return `${(us / 60e6).toFixed(1)} min`;
  if (us >= 1e6) return `${(us / 1e6).toFixed(us >= 1e7 ? 1 : 2)} s`;
  if (us >= 1e3) return `${(us / 1e3).toFixed(us >= 1e5 ? 0 : 1)} ms`;
  return `${Math.round(us)} µs`;
}

export function percentText(part: number, whole: number): string {
  if (whole <= 0) return '–';
  const percent = (100 * part) / whole;
  if (percent > 0 && percent < 0.01) return '< 0.01 %';
  return `${percent.toFixed(percent >= 99.95 || percent < 0.005 ? 0 : percent >= 10 ? 1 : 2)} %`;
}

export function countText(count: number): string {
  return count.toLocaleString('en-US').replace(/,/g, '\u202f');
}

// Names, modules and kinds by the ids that trees use.
export class Names {
  private shorter: (string[] | undefined)[] = [];
  constructor(private trace: Trace) {}

  get count(): number {
    return this.trace.json.names.length + 1;
  }
  whole(name: number): string {
    return this.trace.json.names[name] ?? 'waiting';
  }
  module(name: number): string {
    const {json} = this.trace;
    return json.modules[json.nameModule[name] ?? -1] ?? '';
  }
  kind(name: number): number {
    return this.trace.json.nameKind[name] ?? kWaitingKind;
  }
  kindTitle(name: number): string {
    const kind = kKinds[this.kind(name)];
    return kind ? kindTitles[kind] : 'waiting';
  }

  // What fits into so many characters: without arguments, without namespace, and cut at last.
  fitting(name: number, room: number): string {
    const whole = this.whole(name);
    if (whole.length <= room) return whole;
    const forms = (this.shorter[name] ??= shorterForms(whole));
    for (const form of forms) if (form.length <= room) return form;
    const last = forms[forms.length - 1];
    return room < 3 ? '' : `${last.slice(0, room - 1)}…`;
  }
}

// "A.B.C.M(int32)" → "A.B.C.M", "C.M", "M"; "libfoo.so!work" → "work".
export function shorterForms(whole: string): string[] {
  const mark = whole.indexOf('!');
  if (mark > 0) return [whole, whole.slice(mark + 1)];
  const open = whole.indexOf('(', 1);
  const bare = open > 0 ? whole.slice(0, open) : whole;
  const forms = [bare];
  const dots: number[] = [];
  let nesting = 0;
  for (let i = 0; i < bare.length; ++i) {
    if ('<[{'.includes(bare[i])) ++nesting;
    else if ('>]}'.includes(bare[i])) --nesting;
    else if (bare[i] === '.' && nesting <= 0 && i > 0 && bare[i - 1] !== '.') dots.push(i);
  }
  if (dots.length >= 2) forms.push(bare.slice(dots[dots.length - 2] + 1));
  if (dots.length >= 1) forms.push(bare.slice(dots[dots.length - 1] + 1));
  return forms;
}
