/** What a text is looked up by where a part of it is enough: the pieces that `text_pieces` makes in the database (migration 0001). */

/** The length of the trigrams in the index; at the end of a text they are shorter. */
export const PIECE = 3;
/** One trigram per this many characters of a search; more of them exclude hardly anybody, and each costs time. */
const PIECE_EVERY = 4;
const MAX_PIECES = 5;

/** Lower-cased; and unchanged, where the database's lower case may differ from JavaScript's: other alphabets, a Turkish I. */
export function spellings(search: string): string[] {
  const folded = search.toLowerCase();
  return /^[ -HJ-~]*$/.test(search) || folded === search ? [folded] : [folded, search];
}

/**
 * The condition, as a tsquery, for a text that contains this one: some of its trigrams, spread over it; for a text
 * shorter than a trigram, one that begins with it. Without the `frequent` ones, as long as others remain: they exclude hardly anybody,
 * and in the index each person whom a rare one leaves would be looked for among all who have them.
 */
export function piecesOf(text: string, frequent: ReadonlySet<string> = new Set()): string {
  const pieces = cut(text);
  if (pieces.length === 0) return `${lexeme(text)}:*`;
  const rare = pieces.filter((piece) => !frequent.has(piece));
  return (rare.length === 0 ? pieces : rare).map(lexeme).join(' & ');
}

/** Some trigrams of a text, spread over it, each once; none where it is shorter. */
export function cut(text: string): string[] {
  const characters = Array.from(text);
  const last = characters.length - PIECE;
  if (last < 0) return [];
  const steps = last === 0 ? 0 : Math.max(1, Math.min(MAX_PIECES, Math.ceil(characters.length / PIECE_EVERY)) - 1);
  const starts = Array.from({ length: steps + 1 }, (_, step) => Math.floor((last * step) / Math.max(1, steps)));
  return [...new Set(starts.map((at) => characters.slice(at, at + PIECE).join('')))];
}

/** One word of a tsquery, with any content. */
function lexeme(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}
