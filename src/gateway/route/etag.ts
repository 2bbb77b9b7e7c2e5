import { namesState } from '../../base/entity-tag.ts';

/** Whether the caller already has this state, by its `If-None-Match` (RFC 9110, 13.1.2). `etag` is without quotes. */
export function isKnownTag(header: string | undefined, etag: string): boolean {
  return namesState(header ?? '', etag);
}
