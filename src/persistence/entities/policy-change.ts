import { defineEntity, p } from '@mikro-orm/core';

/** The change log (docs/freshness.md): one row per commit that touched policy, numbered in commit order without gaps. */
export const PolicyChange = defineEntity({
  name: 'PolicyChange',
  properties: {
    revision: p.bigint('number').primary().autoincrement(false),
    at: p.datetime(3).defaultRaw('clock_timestamp()'),
    nonce: p.text(),
    scopes: p.array().columnType('text[]'),
    /** As audit records name the author; null for nobody in particular. */
    actor: p.text().nullable(),
  },
});
