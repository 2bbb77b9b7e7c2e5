import { defineEntity } from '@mikro-orm/core';
import { reference, stamp } from './columns.ts';

export const Superadmin = defineEntity({
  name: 'Superadmin',
  properties: { personId: reference().primary().autoincrement(false), createdAt: stamp() },
});
