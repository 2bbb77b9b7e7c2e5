/** Colors of a brand that would make text unreadable, by the rules that the service renders mails with (WCAG 2.2). */

import { BACKGROUND, CARD, color, contrastOf, inkOn, PRIMARY, readableOn } from '../../../../src/delivery/colors.ts';

interface ContrastWarning {
  /** Links in the text of a mail, or the name of a brand without a logo above it. */
  readonly what: 'links' | 'name';
  readonly ratio: number;
  readonly needed: number;
  /** The color that mails use instead. */
  readonly used: string;
}

const TEXT = 4.5;
const LARGE_TEXT = 3;

export interface Look {
  readonly primaryColor: string | null;
  readonly backgroundColor: string | null;
  readonly logoUrl: string | null;
}

export function warningsOf({ primaryColor, backgroundColor, logoUrl }: Look): readonly ContrastWarning[] {
  const primary = color(primaryColor, PRIMARY);
  const background = color(backgroundColor, BACKGROUND);
  const found: ContrastWarning[] = [];
  const look = (what: ContrastWarning['what'], ground: string, needed: number): void => {
    const ratio = contrastOf(ground, primary);
    if (ratio < needed) found.push({ what, ratio, needed, used: readableOn(ground, primary, needed) });
  };
  look('links', CARD, TEXT);
  if (logoUrl === null) look('name', background, LARGE_TEXT);
  return found;
}

/** The colors of a mail, as the service chooses them. Those of a dark mail program are of no brand but the button and the line. */
export function colorsOf({ primaryColor, backgroundColor }: Look, dark: boolean): Readonly<Record<string, string>> {
  const primary = color(primaryColor, PRIMARY);
  const background = color(backgroundColor, BACKGROUND);
  const button = { '--look-primary': primary, '--look-on-primary': inkOn(primary), '--look-logo': background };
  if (dark) {
    return {
      ...button,
      '--look-page': '#16181d',
      '--look-card': '#22252c',
      '--look-ink': '#e6e8ec',
      '--look-link': '#9db2ff',
      '--look-name': '#e6e8ec',
    };
  }
  return {
    ...button,
    '--look-page': background,
    '--look-card': CARD,
    '--look-ink': '#1c2024',
    '--look-link': readableOn(CARD, primary, TEXT),
    '--look-name': readableOn(background, primary, LARGE_TEXT),
  };
}
