/** Addresses out of whatever is pasted: a column of a table, a list with commas, the recipients of a mail. */

export interface Addresses {
  /** In the order of the text, each once, in lower case. */
  readonly emails: readonly string[];
  /** How many were named before. */
  readonly repeated: number;
  /** Words that hold an at sign but are no address. */
  readonly unread: readonly string[];
}

/** Between addresses. A blank is one too, but for the name that a mail program writes before `<ann@example.com>`. */
const SEPARATORS = /[\s,;<>"'()[\]]+/u;
/** What the service would refuse is said by the service; this tells an address from a name. */
const ADDRESS = /^[^@]+@[^@.]+(?:\.[^@.]+)+$/u;
const MAX_LENGTH = 254;

export function addressesIn(text: string): Addresses {
  const emails = new Set<string>();
  const unread: string[] = [];
  let repeated = 0;
  for (const word of text.split(SEPARATORS)) {
    const email = word
      .replace(/^mailto:/i, '')
      .replace(/[.:]+$/, '')
      .toLowerCase();
    // Names stand between addresses.
    if (!email.includes('@')) continue;
    if (!ADDRESS.test(email) || email.length > MAX_LENGTH) unread.push(word);
    else if (emails.has(email)) repeated += 1;
    else emails.add(email);
  }
  return { emails: [...emails], repeated, unread };
}
