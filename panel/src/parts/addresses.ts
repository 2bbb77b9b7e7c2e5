/** Addresses out of whatever is pasted: a column of a table, a list with commas, the recipients of a mail. */

export interface Pasted {
  /** In the order of the text, each once, in lower case. */
  readonly emails: readonly string[];
  /** The names that stood before addresses, by address. */
  readonly names: ReadonlyMap<string, string>;
  /** How many were named before. */
  readonly repeated: number;
  /** Invalid entries, as they were typed: every word of the text is an address, the name before one, or listed here. */
  readonly unread: readonly string[];
}

/** What the service would refuse is said by the service; this tells an address from a word. */
const ADDRESS = /^[^@\s]+@[^@.\s]+(?:\.[^@.\s]+)+$/u;
const MAX_LENGTH = 254;

export function pastedIn(text: string): Pasted {
  const emails = new Set<string>();
  const names = new Map<string, string>();
  const unread: string[] = [];
  let repeated = 0;
  const take = (email: string, name: string): void => {
    if (emails.has(email)) repeated += 1;
    emails.add(email);
    if (name !== '' && !names.has(email)) names.set(email, name);
  };
  for (const entry of entriesIn(text)) {
    const bracketed = /^([^<]*)<([^<>]*)>\s*$/u.exec(entry);
    const email = bracketed === null ? null : addressOf(bracketed[2] ?? '');
    if (bracketed !== null && email !== null) take(email, nameOf(bracketed[1] ?? ''));
    else for (const word of wordsIn(entry, take)) unread.push(word);
  }
  return { emails: [...emails], names, repeated, unread };
}

/** The parts between separators, each with the quoted name that stood in it. */
function entriesIn(text: string): string[] {
  const entries: string[] = [];
  for (const line of text.split(/[;\n\t]/u)) {
    let entry = '';
    for (const [part] of `${line},`.matchAll(/"[^"]*"|[^,"]+|[,"]/gu)) {
      if (part !== ',') entry += part;
      else {
        if (entry.trim() !== '') entries.push(entry.trim());
        entry = '';
      }
    }
    if (entry.trim() !== '') entries.push(entry.trim());
  }
  return entries;
}

/** Collects the addresses of an entry; returns the words that are neither an address nor the name before one. */
function wordsIn(entry: string, take: (email: string, name: string) => void): string[] {
  const words = entry.split(/\s+/u).filter((word) => word !== '');
  const left: string[] = [];
  for (const word of words) {
    const email = addressOf(word);
    if (email === null) left.push(word);
    else take(email, '');
  }
  return left;
}

function addressOf(word: string): string | null {
  const email = word
    .replace(/^mailto:/iu, '')
    .replaceAll(/^[<("'[]+|[>)"'\].:]+$/gu, '')
    .toLowerCase();
  return ADDRESS.test(email) && email.length <= MAX_LENGTH ? email : null;
}

function nameOf(text: string): string {
  return text.replaceAll('"', '').trim();
}
