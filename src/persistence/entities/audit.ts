import { defineEntity, p } from '@mikro-orm/core';
import { identity, stamp } from './columns.ts';

/** Who changed what (docs/reference/administration.md#audit). Takes inserts only, by a trigger; written by persistence/audit.ts. */
export const Audit = defineEntity({
  name: 'Audit',
  tableName: 'audit',
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
  },
});
