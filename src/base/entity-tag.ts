/**
 * Entity tags as they come back (RFC 9110, 8.8.3). They name states, and proxies that compress name the form of an answer beside it:
 * nginx makes a tag weak, Apache and Jetty append the coding.
 */

const APPENDED = /(?:--?|[;:+])(?:gzip|br|zstd|deflate|df)$/;

/** Whether a list of tags (`If-Match`, `If-None-Match`) names the state, or is `*`. `tag` is without quotes. */
export function namesState(header: string, tag: string): boolean {
  return header.split(',').some((entry) => {
    const named = entry.trim();
    if (named === '*') return true;
    const quoted = named.replace(/^W\//, '');
    if (!quoted.startsWith('"') || !quoted.endsWith('"')) return false;
    const text = quoted.slice(1, -1);
    return text === tag || text.replace(APPENDED, '') === tag;
  });
}
