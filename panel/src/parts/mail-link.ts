/** Where a link of a mail leads, for a mail that nobody vouches for. */

/** The address of a page on the web; null for everything else: scripts, data, other programs, paths of the panel itself. */
export function webAddress(link: string): string | null {
  const url = URL.parse(link);
  return url !== null && (url.protocol === 'https:' || url.protocol === 'http:') ? url.href : null;
}
