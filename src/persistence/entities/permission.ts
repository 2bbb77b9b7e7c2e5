import { defineEntity, p } from '@mikro-orm/core';
import { identity, reference, stamp } from './columns.ts';

export const Permission = defineEntity({
  name: 'Permission',
  properties: {
    id: identity(),
    applicationId: reference(),
    code: p.text(),
    description: p.text().nullable(),
    tiered: p.boolean(),
    groupName: p.text().nullable(),
    parentId: reference().nullable(),
    global: p.boolean().default(false),
    createdAt: stamp(),
    updatedAt: stamp(),
  },
});
