/**
 * The form in which people's names are compared (docs/reference/administration.md#search-of-people): compatibility forms, case and
 * marks do not count. In JavaScript and in the database, so that a question and what is stored are folded alike.
 */

/** Letters that decompose into no plain one, and are written so where a keyboard lacks them; the last form of sigma. */
const PLAIN: ReadonlyMap<string, string> = new Map([
  ['ß', 'ss'],
  ['ø', 'o'],
  ['ł', 'l'],
  ['ı', 'i'],
  ['ς', 'σ'],
]);
const MARK = /\p{M}/u;
const MARKS = /\p{M}/gu;
const ASCII = /^[\0-\x7f]*$/;

/** A text as it is compared. */
export function folded(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  const bare = text.normalize('NFKD').replace(MARKS, '');
  return Array.from(bare, (one) => plain(lower(one)))
    .join('')
    .normalize('NFC');
}

function plain(letter: string): string {
  return PLAIN.get(letter) ?? letter;
}

/** By itself: as a part of a text the case of a letter may depend on its neighbors. */
function lower(letter: string): string {
  const small = letter.toLowerCase();
  return Array.from(small).length === 1 ? small : letter;
}

/**
 * A function of the database that folds as `folded` does. Without its `lower`, which knows only ASCII where the locale is C, and a
 * Turkish I where it is Turkish.
 */
export function foldingSql(name: string): string {
  const all = characters();
  const single = new Map([...PLAIN].filter(([, letters]) => letters.length === 1));
  // Letters that stay as they are when decomposed and stripped, with their small forms.
  const capitals = all.filter((one) => lower(one) !== one && one.normalize('NFKD') === one);
  const from = [...capitals, ...single.keys()].join('');
  const to = [...capitals.map(lower).map((one) => single.get(one) ?? one), ...single.values()].join('');
  return `create function ${name}(text text) returns text language sql immutable strict parallel safe as $$
    select case when text collate "C" ~ '^[\\u0001-\\u007f]*$' then lower(text collate "C")
      else normalize(replace(translate(regexp_replace(normalize(text, nfkd), '[${rangesOf(all.filter((one) => MARK.test(one)))}]', '', 'g'),
        '${from}', '${to}'), 'ß', 'ss'), nfc) end $$`;
}

/** A bracket expression of PostgreSQL's. */
function rangesOf(sorted: readonly string[]): string {
  const ranges: [number, number][] = [];
  for (const one of sorted) {
    const code = one.codePointAt(0) ?? 0;
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === code - 1) last[1] = code;
    else ranges.push([code, code]);
  }
  const written = (code: number): string => `\\U${code.toString(16).padStart(8, '0')}`;
  return ranges
    .map(([first, last]) => (first === last ? written(first) : `${written(first)}-${written(last)}`))
    .join('');
}

/** The planes that have letters or marks, without surrogates. */
const PLANES: readonly (readonly [first: number, last: number])[] = [
  [0x80, 0xd7ff],
  [0xe000, 0x1ffff],
  [0xe0000, 0xe0fff],
];

/** Ascending; ASCII is lower-cased by itself where nothing else stands beside it. */
function characters(): string[] {
  return [[0x41, 0x5a] as const, ...PLANES].flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, at) => String.fromCodePoint(first + at)),
  );
}
