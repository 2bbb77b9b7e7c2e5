import { defineEntity, p } from '@mikro-orm/core';

/** When an internal API key was last used, by its name. */
export const InternalKeyUse = defineEntity({
  name: 'InternalKeyUse',
  tableName: 'internal_key_use',
  properties: {
    name: p.text().primary(),
    lastUsedAt: p.datetime(3),
  },
});
