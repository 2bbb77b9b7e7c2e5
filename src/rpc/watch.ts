/** Watch: what changed, as a stream of messages (docs/reference/watch.md). */

import type { MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import { type Issue, UsherError, validationFailed } from '../base/errors.ts';
import { isSlug, LIMITS } from '../base/grammar.ts';
import { formatRevision } from '../engine/types.ts';
import type { Watch, WatchBatch, WatchStream } from '../engine/watch.ts';
import type {
  ChangeSchema,
  WatchRequestSchema,
  WatchResponseSchema,
} from '../gen/usher/permission/v1/permission_pb.ts';
import { type Fields, type Naming, readRevision } from './call.ts';

/** The most streams of an instance. */
export const MAX_STREAMS = 1000;
/** The most applications that a stream may name. */
const MAX_APPS = 1000;

/**
 * Opens a stream. Throws VALIDATION_FAILED, UNKNOWN_REVISION for a malformed revision, and RATE_LIMITED beyond the most streams of an
 * instance.
 *
 * @param admitted whether the caller's key still counts
 */
export function openWatch(
  watch: Watch,
  { apps, sinceRevision }: Fields<MessageShape<typeof WatchRequestSchema>>,
  naming: Naming,
  admitted?: () => boolean,
): WatchStream {
  if (apps.length > MAX_APPS)
    throw validationFailed([{ path: 'apps', message: `must hold at most ${MAX_APPS} codes` }]);
  const issues = apps.flatMap((app, index): Issue[] =>
    isSlug(app)
      ? []
      : [
          {
            path: naming.item('apps', index),
            message: `must be the code of an application, at most ${LIMITS.slug} characters`,
          },
        ],
  );
  if (issues.length > 0) throw validationFailed(issues);
  const since = sinceRevision === '' ? null : readRevision(sinceRevision);
  if (watch.count('watch') >= MAX_STREAMS) {
    throw new UsherError(
      'RATE_LIMITED',
      `This instance has ${MAX_STREAMS} streams of changes already; try another one.`,
    );
  }
  return watch.open({ kind: 'watch', apps: apps.length === 0 ? null : new Set(apps), since, admitted });
}

/** A message of a stream. */
export function toWatchResponse({ end, scopes, reset }: WatchBatch): MessageInitShape<typeof WatchResponseSchema> {
  return { revision: formatRevision(end), changes: scopes.map((scope) => ({ what: whatOf(scope) })), reset };
}

/** A scope of the change log; an unknown one, of a newer version, may be about anything. */
function whatOf(scope: string): NonNullable<MessageInitShape<typeof ChangeSchema>['what']> {
  const [kind, first = '', second = ''] = scope.split(':');
  switch (kind) {
    case 'p':
      return { case: 'application', value: first };
    case 'a':
      return { case: 'everythingInApplication', value: first };
    case 'm':
      return { case: 'member', value: { app: first, email: second } };
    case 'u':
      return { case: 'user', value: first };
    default:
      return { case: 'everything', value: true };
  }
}
