import { defineEntity, p } from '@mikro-orm/core';
import { identity, stamp } from './columns.ts';

/** Audit records (docs/reference/administration.md#audit). A trigger allows inserts, and pseudonyms of erased people; written by persistence/audit.ts. */
export const Audit = defineEntity({
  name: 'Audit',
  properties: {
    id: identity(),
    at: stamp(),
    actor: p.text(),
    action: p.text(),
    appCode: p.text().nullable(),
    subject: p.text().nullable(),
    before: p.json<unknown>().nullable(),
    after: p.json<unknown>().nullable(),
    requestId: p.text().nullable(),
    /** The author's own words on why; null where none were given. */
    reason: p.text().nullable(),
  },
});
