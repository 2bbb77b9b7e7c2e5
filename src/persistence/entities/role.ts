import { defineEntity, p } from '@mikro-orm/core';
import { identity, reference, stamp } from './columns.ts';

export const Role = defineEntity({
  name: 'Role',
  properties: {
    id: identity(),
    applicationId: reference(),
    code: p.text(),
    description: p.text().nullable(),
    /** Null: the code is shown. */
    name: p.text().nullable(),
    createdAt: stamp(),
    updatedAt: stamp(),
  },
});
