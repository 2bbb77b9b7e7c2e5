/** Trims characters in one pass. An expression such as `/x+$/` starts again at each x of a long run. */

/** The text without the characters of `unwanted` at its end. */
export function trimEnd(text: string, unwanted: string): string {
  let end = text.length;
  while (end > 0 && unwanted.includes(text.charAt(end - 1))) end--;
  return end === text.length ? text : text.slice(0, end);
}

/** The text without the characters of `unwanted` at its beginning and its end. */
export function trimBoth(text: string, unwanted: string): string {
  const rest = trimEnd(text, unwanted);
  let begin = 0;
  while (begin < rest.length && unwanted.includes(rest.charAt(begin))) begin++;
  return begin === 0 ? rest : rest.slice(begin);
}
