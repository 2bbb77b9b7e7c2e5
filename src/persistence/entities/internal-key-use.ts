import { defineEntity, p } from '@mikro-orm/core';

/** When an internal API key was last used, by its name. */
export const InternalKeyUse = defineEntity({
  name: 'InternalKeyUse',
  properties: {
    name: p.text().primary(),
    lastUsedAt: p.datetime(3),
  },
});
