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
    email: p.text().nullable(),
    outcome: p
      .text()
      .$type<'applied' | 'unchanged' | 'ignored' | 'sent' | 'duplicate' | 'failed' | 'refused' | 'unresolved'>(),
    reason: p.text().nullable(),
    leftOut: p.array().columnType('text[]').defaultRaw("'{}'"),
  },
});
