// Numbers and times for people: one style everywhere, with a unit, no more digits than are looked at.

// 1,219 or 12.3: for sentences and tables.
export function formatNumber(value: number): string {
  const size = Math.abs(value);
  const digits = Number.isInteger(value) || size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return value.toLocaleString('en-US', {maximumFractionDigits: digits});
}

// 6.8 MB: exactly as format_bytes() of the controller writes it.
export function formatBytes(value: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB', 'EB'];
  let shown = value;
  let unit = 0;
  while (Math.abs(shown) >= 999.5 && unit + 1 < units.length) (shown /= 1000), ++unit;
  const digits = unit > 0 ? (Math.abs(shown) < 9.95 ? 1 : 0) : Math.abs(shown) < 10 && !Number.isInteger(shown) ? 1 : 0;
  return `${shown.toFixed(digits)} ${units[unit]}`;
}

// 4.2, 42, 421: as the controller writes durations in sentences.
function shortNumber(value: number): string {
  const isWhole = Math.abs(value) >= 9.95 || Math.abs(value - Math.round(value)) < 0.05;
  return value.toFixed(isWhole ? 0 : 1);
}

// 4.2 ms, 30 s, 2 min 23 s: exactly as format_duration() of the controller writes it.
export function formatSeconds(value: number): string {
  const size = Math.abs(value);
  if (value === 0) return '0 ms';
  if (size < 1e-6) return `${shortNumber(value * 1e9)} ns`;
  if (size < 0.9995e-3) return `${shortNumber(value * 1e6)} µs`;
  if (size < 0.9995) return `${shortNumber(value * 1e3)} ms`;
  if (size < 119.5) return `${shortNumber(value)} s`;
  return formatLong(Math.round(value));
}

export const formatMs = (value: number): string => formatSeconds(value / 1e3);

// 3 d 4 h, 5 min 12 s: for times that somebody waits or runs.
function formatLong(seconds: number): string {
  const parts: [number, string][] = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [Math.floor(seconds) % 60, 's'],
  ];
  const first = parts.findIndex(([number]) => number > 0);
  if (first < 0) return '0 s';
  return parts
    .slice(first, first + 2)
    .filter(([number]) => number > 0)
    .map(([number, unit]) => `${number} ${unit}`)
    .join(' ');
}

// Of what grows while it is looked at: whole seconds.
export function formatAge(ms: number): string {
  return ms < 1000 ? '0 s' : formatSeconds(Math.floor(ms / 1000));
}

export const formatUptime = formatAge;

export const formatPercent = (value: number): string => `${formatNumber(value)} %`;

// Units as counters say them: "By", "s", "ms", "%", "{collection}".
export function withUnit(value: number, unit: string, number: (value: number) => string = formatNumber): string {
  if (unit.endsWith('/s') && unit !== '/s') {
    const base = unit.slice(0, -2);
    return base === 's' ? `${number(value * 100)} %` : `${withUnit(value, base, number)}/s`; // seconds per second are a share
  }
  switch (unit) {
    case 'By':
    case 'B':
    case 'bytes':
      return formatBytes(value);
    case 'MB':
      return formatBytes(value * 1e6);
    case 's':
      return formatSeconds(value);
    case 'ms':
      return formatMs(value);
    case '%':
      return `${number(value)} %`;
    default: {
      const word = unit.replace(/[{}]/g, '').replace(/_/g, ' ');
      const text = number(value);
      return word && word !== '1' ? `${text} ${plural(word, text)}` : text;
    }
  }
}

// `number` as it is shown: 0.999 may be "1".
function plural(word: string, number: string): string {
  if (number === '1' || !/^[a-z ]+$/.test(word) || word.endsWith('s')) return word;
  return word.endsWith('y') ? `${word.slice(0, -1)}ies` : `${word}s`;
}

// Local time of day.
export function clockTime(ms: number): string {
  return new Date(ms).toTimeString().slice(0, 8);
}

// UTC, UTC+1, UTC+5:30: minutes east of Greenwich.
function zoneWords(east: number): string {
  if (east === 0) return 'UTC';
  const size = Math.abs(east);
  const minutes = size % 60;
  return `UTC${east < 0 ? '−' : '+'}${Math.floor(size / 60)}${minutes ? `:${String(minutes).padStart(2, '0')}` : ''}`;
}

// The zone of all times on the page.
export const localZone = (): string => zoneWords(-new Date().getTimezoneOffset());

// Local date and time with zone; the ISO time belongs into a title.
export function localTime(ms: number): string {
  const time = new Date(ms);
  const day = `${time.getFullYear()}-${String(time.getMonth() + 1).padStart(2, '0')}-${String(time.getDate()).padStart(2, '0')}`;
  return `${day} ${clockTime(ms)} ${zoneWords(-time.getTimezoneOffset())}`;
}
