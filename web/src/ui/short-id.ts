// FNV-1a: short ids for the address.
export function shortId(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; ++i) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash >>> 0).toString(36);
}

// A key for each row by what it says; equal ones are numbered.
export function keysOf<Row>(rows: Row[], text: (row: Row) => string): string[] {
  const seen = new Map<string, number>();
  return rows.map((row) => {
    const words = text(row);
    const number = seen.get(words) ?? 0;
    seen.set(words, number + 1);
    return number ? `${words}\n${number}` : words;
  });
}

// An id for the address for each row by what it says; equal ones are numbered.
export function idsOf<Row>(rows: Row[], text: (row: Row) => string): Map<Row, string> {
  const keys = keysOf(rows, text);
  return new Map(rows.map((row, index) => [row, shortId(keys[index])]));
}
