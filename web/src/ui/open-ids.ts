// Which parts of a page are open, as one value of the address: ids separated by commas. An id may contain any letter.

export const kNone = '-'; // everything is folded, although the fallback is not

const escaped = (id: string): string => id.replace(/[%,]/g, (letter) => encodeURIComponent(letter));

const toSet = (value: string): Set<string> => new Set(value.split(',').filter((one) => one && one !== kNone));

export const isIn = (value: string, id: string): boolean => toSet(value).has(escaped(id));

export function changed(value: string, id: string, isOpen: boolean): string {
  const ids = toSet(value);
  if (isOpen) ids.add(escaped(id));
  else ids.delete(escaped(id));
  return [...ids].join(',') || kNone;
}
