/** Addresses that somebody pasted, in any of the ways that lists of people are kept. */

export const MAX_ADDRESSES = 1_000;

export interface Addresses {
  readonly addresses: readonly string[];
  /** What is no address. The service decides; this finds what was mistyped before it is sent. */
  readonly wrong: readonly string[];
}

/** Separated by white space, commas or semicolons; `Ada <ada@example.com>` is read, too. Each address is listed once. */
export function addressesOf(text: string): Addresses {
  const named = text.replaceAll(/"[^"\n]*"\s*(?=<)/g, ' ').replaceAll(/[^,;\n<>]*<([^<>\n]*)>/g, ' $1 ');
  const parts = named
    .split(/[\s,;]+/)
    .filter(Boolean)
    .map((part) => part.toLowerCase());
  const distinct = [...new Set(parts)];
  const right = (part: string) => /^[^\s@]+@[^\s@]+$/.test(part);
  return { addresses: distinct.filter(right), wrong: distinct.filter((part) => !right(part)) };
}
