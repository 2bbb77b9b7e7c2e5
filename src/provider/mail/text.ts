/** The provider's texts: escaped for HTML when they come, plain when we use them. */

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Undoes one escaping, in one pass: `&amp;lt;` becomes `&lt;` and stays that. */
export function unescapeHtml(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(amp|lt|gt|quot|apos));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return NAMED[String(name).toLowerCase()] ?? whole;
    const point = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    const usable = point >= 0x20 && point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff);
    return usable ? String.fromCodePoint(point) : '';
  });
}

const LINK = /\b(?:(?:https?|ftp):\/\/|(?:javascript|data|file):(?=\S)|www\.)[^\s<>"'`]*/gi;

/** The text without links that `keep` does not want. Mail programs make a link of whatever looks like one. */
export function scrub(text: string, keep: (link: string) => boolean): string {
  return text.replace(LINK, (link) => (keep(link.replace(/[).,;:!?]+$/, '')) ? link : ''));
}
