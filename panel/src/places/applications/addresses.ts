/** Addresses that somebody pasted, in any of the ways that lists of people are kept. */

export const MAX_ADDRESSES = 1_000;

export interface Addresses {
  readonly addresses: readonly string[];
  /** Entries that are not addresses. The service decides; this finds mistypings before they are sent. */
  readonly wrong: readonly string[];
}

/** Separated by white space, commas or semicolons; `"Lovelace, Ada" <ada@example.com>` is read, too. Each is listed once. */
export function addressesOf(text: string): Addresses {
  // Every second part stands between quotation marks: a name, which may hold commas.
  const unquoted = text.split('"').filter((_, at) => at % 2 === 0);
  const parts = unquoted
    .join(' ')
    .split(/[,;\n]/)
    .flatMap(addressesIn);
  const distinct = [...new Set(parts.map((part) => part.toLowerCase()))];
  const right = (part: string) => /^[^@]+@[^@]+$/.test(part);
  return { addresses: distinct.filter(right), wrong: distinct.filter((part) => !right(part)) };
}

/** What stands in angle brackets, after a name; otherwise each word. */
function addressesIn(entry: string): string[] {
  const open = entry.indexOf('<');
  const close = entry.indexOf('>', open);
  const plain = open >= 0 && close > open ? entry.slice(open + 1, close) : entry;
  return plain.split(/\s+/).filter(Boolean);
}
