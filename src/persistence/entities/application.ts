import { defineEntity, p } from '@mikro-orm/core';
import { identity, stamp } from './columns.ts';

export const Application = defineEntity({
  name: 'Application',
  properties: {
    id: identity(),
    code: p.text().unique(),
    name: p.text(),
    description: p.text().nullable(),
    /** Whether questions with an unknown permission or resource type are refused. */
    strictCodes: p.boolean().default(false),
    /** Whether people are told that a grant of theirs ends soon. */
    tellEndings: p.boolean().default(true),
    createdAt: stamp(),
    updatedAt: stamp(),
  },
});
