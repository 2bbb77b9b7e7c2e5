/** Terminal output: colors and tables. */

import { styleText } from 'node:util';
import type { Io, Output } from './io.ts';

export type Style = Extract<Parameters<typeof styleText>[0], string>;
/** Text in a style; unchanged where colors are off. */
export type Paint = (style: Style, text: string) => string;

/** Colors on a terminal, unless NO_COLOR is set; FORCE_COLOR turns them on elsewhere too. */
export function hasColours({ env }: Pick<Io, 'env'>, output: Output): boolean {
  if ((env.NO_COLOR ?? '') !== '') return false;
  if (env.FORCE_COLOR !== undefined) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false';
  return output.isTTY === true && env.TERM !== 'dumb';
}

/** The painter of one output. `hasColours` decides: `styleText` itself would read the environment of the process. */
export function painter(io: Pick<Io, 'env'>, output: Output): Paint {
  if (!hasColours(io, output)) return (_style, text) => text;
  return (style, text) => styleText(style, text, { validateStream: false });
}

/** Text from others without control characters: it must not move the cursor or recolor the reader's terminal. */
export function harmless(text: string): string {
  return text.replace(/\p{Cc}/gu, '�');
}

/** Rows under heads, each column as wide as its widest cell. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[], paint: Paint): string {
  const clean = rows.map((row) => row.map(harmless));
  const widths = heads.map((head, i) => Math.max(head.length, ...clean.map((row) => row[i]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd();
  return [paint('bold', line(heads)), ...clean.map(line)].join('\n');
}

/** A moment to the second, in UTC; `-` for none. */
export function moment(at: string | null): string {
  return at === null ? '-' : `${at.slice(0, 10)} ${at.slice(11, 19)}Z`;
}
