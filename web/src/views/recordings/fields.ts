// Fields of a report in words: their names and units as the API spells them (pauseMs, payloadBytes, timeInGcPercent).
import {formatBytes, formatMs, formatNumber, formatPercent} from '../../ui/format';
import {placeOf} from '../../ui/frames';

export type Fields = Record<string, unknown>;

const kPercents = new Set(['self', 'total', 'selfRunning', 'totalRunning', 'percent']);
const kIds = /^(pid|osId|number|line|generation|tid|longestOsId|managedId)$/;
const kUnits: [RegExp, (value: number) => string][] = [
  [/Ms$/, formatMs],
  [/^bytes$|Bytes$/, formatBytes],
  [/Percent$/, formatPercent],
  [/PerSecond$/, (value) => `${formatNumber(value)}/s`],
];

export const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);
export const isTable = (value: unknown): value is Fields[] => Array.isArray(value) && value.length > 0 && value.every(isFields);

// "timeInGcPercent" is "Time in GC", "byModule" is "By module".
export function titleOfField(name: string): string {
  const bare = name.replace(/(.)(Ms|Percent|PerSecond)$/, '$1').replace(/([a-z0-9])Bytes$/, '$1');
  const words = bare.replace(/([a-z0-9])([A-Z])/g, (_, before: string, letter: string) => `${before} ${letter.toLowerCase()}`);
  const text = words.replace(/\b(gc|jit|cpu|pid|loh|poh|il|io)\b/gi, (word) => word.toUpperCase()).replace(/\bcpus\b/i, 'CPUs').replace(/\bos id\b/i, 'thread');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function valueWords(name: string, value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value !== 'number') return typeof value === 'string' ? value : linesOf(value).join('\n');
  if (kIds.test(name)) return String(value);
  if (kPercents.has(name) && !Number.isNaN(value)) return formatPercent(value);
  return (kUnits.find(([pattern]) => pattern.test(name))?.[1] ?? formatNumber)(value);
}

// A value inside a row: one line per entry.
export function linesOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.map((one) => (isFields(one) ? rowWords(one) : String(one)));
  if (isFields(value)) return Object.entries(value).map(([name, one]) => `${titleOfField(name)}: ${valueWords(name, one)}`);
  return [String(value)];
}

function rowWords(row: Fields): string {
  const place = placeOf(row as {file?: string; line?: number});
  const rest = Object.entries(row).filter(([name, value]) => !['method', 'module', 'kind', 'file', 'line'].includes(name) && value !== null && value !== '');
  const facts = rest.map(([name, value]) => (typeof value === 'number' ? `${valueWords(name, value)} ${titleOfField(name).toLowerCase()}` : valueWords(name, value)));
  return [row.method, place || row.module, facts.join(', ')].filter(Boolean).join('  ');
}

// Columns that at least one row has a value for, in the order of the API. A file and its line are one place.
export function columnsOf(rows: Fields[]): string[] {
  const names = new Set<string>();
  for (const row of rows)
    for (const [name, value] of Object.entries(row)) if (value !== null && value !== '' && !(Array.isArray(value) && !value.length) && !(isFields(value) && !Object.keys(value).length)) names.add(name);
  if (names.has('file')) names.delete('line');
  return [...names];
}
