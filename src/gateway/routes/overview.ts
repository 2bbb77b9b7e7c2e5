/** What an administrator sees first, and what changes meanwhile (docs/reference/administration.md#overview). */

import { z } from 'zod';
import type { ChangeEvent } from '../../administration/change-streams.ts';
import type { Overview } from '../../administration/overview.ts';
import { STATUSES } from '../../notifications/log.ts';
import { EndedSchema } from '../../provider/reconciled.ts';
import { timestamp } from '../route/fields.ts';
import { anyAdministrator } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { answer, defineRoute, type Route } from '../route/route.ts';
import { lastRevision, serverSentEvents } from '../route/server-sent-events.ts';

const count = z.int().nonnegative();

const OverviewAnswer = record('Overview', {
  revision: z.string().meta({ description: 'The newest revision when it was read.' }),
  counts: z.strictObject({
    applications: count,
    people: count,
    morePeople: z.boolean().meta({ description: 'Whether there may be more people than were counted.' }),
    roles: count,
    permissions: count,
    appAdmins: count,
  }),
  endingSoon: count.meta({ description: 'Roles, overrides and seats of administrators that end within 7 days.' }),
  sends: z
    .strictObject({ queued: count, sent: count, partial: count, failed: count, suppressed: count })
    .meta({ description: 'Notifications of the last 24 hours by status.' }),
  oldestWaiting: timestamp
    .nullable()
    .meta({ description: 'When the oldest notification was accepted that still waits for a delivery.' }),
  failingBrands: z
    .array(
      z.strictObject({
        slug: z.string(),
        name: z.string(),
        failures: z.int().positive(),
        reason: z.string().meta({ description: 'Of the newest failure.' }),
      }),
    )
    .meta({ description: 'Brands whose mails of the last 24 hours failed or are tried again.' }),
  provider: z
    .strictObject({
      reachable: z.boolean().nullable().meta({ description: 'Null: no identity provider is configured.' }),
      lastEventAt: timestamp.nullable().meta({ description: 'Its last webhook event or e-mail.' }),
      reconciliation: EndedSchema.nullable().meta({
        description: 'How the last comparison of people with it ended; null for never.',
      }),
    })
    .optional()
    .meta({ description: 'For SuperAdmins.' }),
});

function shown({ sends, oldestWaiting, failingBrands, provider, ...rest }: Overview): z.input<typeof OverviewAnswer> {
  const [queued = 0, sent = 0, partial = 0, failed = 0, suppressed = 0] = STATUSES.map((status) => sends.get(status));
  const lastEventAt = provider?.lastEventAt ?? null;
  // Kept by another version in another form it is as good as none.
  const reconciliation = EndedSchema.safeParse(provider?.reconciliation).data ?? null;
  return {
    revision: rest.revision,
    counts: rest.counts,
    endingSoon: rest.endingSoon,
    sends: { queued, sent, partial, failed, suppressed },
    oldestWaiting,
    failingBrands: [...failingBrands],
    ...(provider === null ? {} : { provider: { reachable: provider.reachable, lastEventAt, reconciliation } }),
  };
}

const readOverview = defineRoute({
  method: 'get',
  path: '/api/admin/overview',
  operation: 'getOverview',
  tag: 'Operations',
  summary: 'The state of everything that the caller may see',
  guard: anyAdministrator,
  headers: ['if-none-match'],
  response: OverviewAnswer,
  example: {
    response: {
      revision: '41.7',
      counts: { applications: 2, people: 120, morePeople: false, roles: 7, permissions: 31, appAdmins: 3 },
      endingSoon: 2,
      sends: { queued: 1, sent: 240, partial: 0, failed: 2, suppressed: 4 },
      oldestWaiting: '2026-01-05T08:30:00.000Z',
      failingBrands: [{ slug: 'atelier', name: 'Atelier', failures: 2, reason: 'smtp_rejected' }],
    },
  },
  dear: true,
  handle: async ({ overviews }, { caller }) => {
    const overview = await overviews.of(caller.email);
    return answer(shown(overview), { etag: overview.etag });
  },
});

const changeEvents = serverSentEvents(
  'Events `change` with `{revision, scopes: [{application?, email?}], actor}`. A scope without members: anything may have changed.',
  (event: ChangeEvent) => {
    if (event.event === 'position') return { id: event.revision };
    const { revision, scopes, actor } = event;
    return { event: event.event, id: revision, data: { revision, scopes, actor } };
  },
);

const stream = defineRoute({
  method: 'get',
  path: '/api/admin/stream',
  operation: 'streamChanges',
  unsafe: true,
  tag: 'Operations',
  summary: 'Stream the changes that the caller may see',
  description:
    'Server-sent events `change` within a second, with the revision, the applications and people that it touched, and its author. `Last-Event-ID` resumes after a revision; where that is more than 1,000 revisions ago or no longer kept, a scope without members says that anything may have changed. The stream ends when the token expires or the caller is no longer an administrator; an eleventh stream of a user ends the oldest.',
  guard: anyAdministrator,
  headers: ['last-event-id'],
  envelope: changeEvents,
  response: z.unknown(),
  handle: ({ changeStreams }, { caller, header }) => changeStreams.open(caller, lastRevision(header('last-event-id'))),
});

export const overviewRoutes: readonly Route[] = [readOverview, stream];
