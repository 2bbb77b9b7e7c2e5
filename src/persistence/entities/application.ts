import { defineEntity, p } from '@mikro-orm/core';
import { identity, stamp } from './columns.ts';

export const Application = defineEntity({
  name: 'Application',
  properties: {
    id: identity(),
    code: p.text().unique(),
    name: p.text(),
    description: p.text().nullable(),
    strictCodes: p.boolean().default(false),
    createdAt: stamp(),
    updatedAt: stamp(),
  },
});
