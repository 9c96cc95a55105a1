// Numbers and names as people read them.
import {formatSeconds} from '../../ui/format';
import {kindTitles, kKinds} from '../../ui/kinds';
import type {Trace} from './data';
import {fittingLabel, labelForms, tableLabel} from './labels';

export const durationText = (us: number): string => formatSeconds(us / 1e6);

export function percentText(part: number, whole: number): string {
  if (whole <= 0) return '–';
  const percent = (100 * part) / whole;
  if (percent > 0 && percent < 0.01) return '< 0.01 %';
  return `${percent.toFixed(percent >= 99.95 || percent < 0.005 ? 0 : percent >= 10 ? 1 : 2)} %`;
}

// A change of a share, in percentage points: "+3.1 pp".
export function changeText(share: number): string {
  const points = share * 100;
  const text = Math.abs(points).toFixed(Math.abs(points) >= 10 ? 0 : 1);
  return Number(text) === 0 ? '±0 pp' : `${points > 0 ? '+' : '−'}${text} pp`;
}

// Names, modules and kinds by the ids that trees use.
export class Names {
  private readonly forms: (string[] | undefined)[] = [];
  private readonly tables: ({label: string; context: string} | undefined)[] = [];
  constructor(private readonly trace: Trace) {}

  get count(): number {
    return this.trace.names.length;
  }
  whole(name: number): string {
    return this.trace.names[name];
  }
  module(name: number): string {
    return this.trace.modules[name];
  }
  kind(name: number): number {
    return this.trace.kinds[name];
  }
  kindTitle(name: number): string {
    const kind = kKinds[this.kind(name)];
    return kind ? kindTitles[kind] : 'waiting';
  }
  origin(name: number): string {
    return [this.module(name), this.kindTitle(name)].filter(Boolean).join(' · ');
  }
  find(whole: string): number {
    return this.trace.names.indexOf(whole);
  }
  // Type and method, and their namespace or module.
  table(name: number): {label: string; context: string} {
    const known = this.tables[name];
    if (known) return known;
    const made = tableLabel(this.whole(name));
    return (this.tables[name] = {...made, context: made.context || this.module(name)});
  }
  // What fits into so many characters.
  fitting(name: number, room: number): string {
    return fittingLabel((this.forms[name] ??= labelForms(this.whole(name))), room);
  }
}
