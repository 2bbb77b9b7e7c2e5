/** Readable color pairs from a brand's colors, for mails and pages: text colors with enough contrast (WCAG 2.2). */

import { LRUCache } from 'lru-cache';

/** The colors of a brand without its own. */
export const PRIMARY = '#3451b2';
export const BACKGROUND = '#f4f5f7';
/** The background of the text. */
export const CARD = '#ffffff';
export const INK = '#1c2024';

/** The value when it is `#rrggbb`: a style must hold nothing else. */
export function color(value: string | null, otherwise: string): string {
  return value !== null && /^#[0-9a-f]{6}$/i.test(value) ? value : otherwise;
}

/** Black or white, the one with the higher contrast: at least 4.5 on every color. */
export function inkOn(background: string): string {
  return luminance(background) > 0.179 ? '#000000' : '#ffffff';
}

/** The wanted color if its contrast on the background suffices, else a dark or light text color. */
export function readableOn(background: string, wanted: string, contrast: number): string {
  return (
    [wanted, ...(inkOn(background) === '#ffffff' ? [] : [INK])].find(
      (ink) => contrastOf(background, ink) >= contrast,
    ) ?? inkOn(background)
  );
}

/** Contrast ratio (WCAG 2.2): 1 to 21. */
export function contrastOf(one: string, other: string): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

/** Those of the brands' colors: each mail asks for several. */
const LUMINANCES = new LRUCache<string, number>({ max: 1000, memoMethod: computeLuminance });

/** Relative luminance (WCAG 2.2). */
function luminance(color: string): number {
  return LUMINANCES.memo(color);
}

function computeLuminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const channel = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
