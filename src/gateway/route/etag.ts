/** Whether the caller already has this state, by its `If-None-Match` (RFC 9110, 13.1.2). `etag` is without quotes. */
export function isKnownTag(header: string | undefined, etag: string): boolean {
  const known = (header ?? '').split(',').map((tag) => tag.trim());
  return known.some((tag) => tag === '*' || tag.replace(/^W\//, '') === `"${etag}"`);
}
