import { defineEntity, p } from '@mikro-orm/core';
import { identity, stamp } from './columns.ts';

/** What the identity provider reported or asked for, and what came of it (docs/reference/identity-provider.md#events). */
export const ProviderEvent = defineEntity({
  name: 'ProviderEvent',
  properties: {
    id: identity(),
    at: stamp(),
    source: p.text().$type<'webhook' | 'mail' | 'reconciliation' | 'event'>(),
    eventType: p.text().nullable(),
    orgId: p.text().nullable(),
    /** The person, in normal form. */
    email: p.text().nullable(),
    outcome: p
      .text()
      .$type<'applied' | 'unchanged' | 'ignored' | 'sent' | 'duplicate' | 'failed' | 'refused' | 'unresolved'>(),
    /** Why a mail was sent in the provider's own words, or was not sent. */
    reason: p.text().nullable(),
    /** Members of the event that could not be stored, by their paths. */
    leftOut: p.array().columnType('text[]').defaultRaw("'{}'"),
  },
});
