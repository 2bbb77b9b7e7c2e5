import { defineEntity, p } from '@mikro-orm/core';
import { identity, reference, stamp } from './columns.ts';

export const Role = defineEntity({
  name: 'Role',
  tableName: 'role',
  properties: {
    id: identity(),
    applicationId: reference(),
    code: p.text(),
    description: p.text().nullable(),
    createdAt: stamp(),
    updatedAt: stamp(),
  },
});
