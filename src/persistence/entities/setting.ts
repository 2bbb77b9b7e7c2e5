import { defineEntity, p } from '@mikro-orm/core';
import { stamp } from './columns.ts';

/** Settings that the service stores for itself. `value` is JSON; written as text (settings.ts). */
export const Setting = defineEntity({
  name: 'Setting',
  properties: { key: p.text().primary(), value: p.json<unknown>(), updatedAt: stamp() },
});
