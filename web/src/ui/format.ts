// Numbers for people: with a unit, no more digits than are looked at.

export function formatNumber(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e9) return `${(value / 1e9).toFixed(1)} G`;
  if (size >= 1e6) return `${(value / 1e6).toFixed(1)} M`;
  if (size >= 10_000) return `${(value / 1e3).toFixed(1)} k`;
  if (size >= 100 || Number.isInteger(value)) return value.toFixed(0);
  return value.toFixed(size >= 10 ? 1 : 2);
}

export function formatBytes(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e9) return `${(value / 1e9).toFixed(size >= 1e10 ? 0 : 1)} GB`;
  if (size >= 1e6) return `${(value / 1e6).toFixed(size >= 1e7 ? 0 : 1)} MB`;
  if (size >= 1e3) return `${(value / 1e3).toFixed(size >= 1e4 ? 0 : 1)} kB`;
  return `${value.toFixed(0)} B`;
}

export function formatSeconds(value: number): string {
  const size = Math.abs(value);
  if (value === 0) return '0 ms';
  if (size < 1e-3) return `${(value * 1e6).toFixed(0)} µs`;
  if (size < 1) return `${(value * 1e3).toFixed(size < 0.01 ? 2 : size < 0.1 ? 1 : 0)} ms`;
  return `${value.toFixed(size < 10 ? 2 : 1)} s`;
}

// Units as counters say them: "By", "s", "ms", "%", "{collection}".
export function withUnit(value: number, unit: string): string {
  if (unit.endsWith('/s') && unit !== '/s') {
    const base = unit.slice(0, -2);
    return base === 's' ? `${formatNumber(value * 100)} %` : `${withUnit(value, base)}/s`; // seconds per second are a share
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
      return formatSeconds(value / 1e3);
    case '%':
      return `${formatNumber(value)} %`;
    default: {
      const word = unit.replace(/[{}]/g, '');
      return word && word !== '1' ? `${formatNumber(value)} ${word}` : formatNumber(value);
    }
  }
}

// The same for an axis: words are left out, the title has them.
export function axisText(value: number, unit: string): string {
  const words = withUnit(value, unit);
  return /[{a-z]{3}/.test(unit) ? words.replace(/ .*$/, '') : words;
}

export function clockTime(ms: number): string {
  return new Date(ms).toTimeString().slice(0, 8);
}
