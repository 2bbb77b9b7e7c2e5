import { defineEntity, p } from '@mikro-orm/core';
import { identity, reference, stamp } from './columns.ts';

/** A type of resource for an application's overrides (docs/reference/administration.md#entities, entity catalog). */
export const Entity = defineEntity({
  name: 'Entity',
  properties: {
    id: identity(),
    applicationId: reference(),
    code: p.text(),
    name: p.text(),
    description: p.text().nullable(),
    idLabel: p.text().nullable(),
    listEndpoint: p.text().nullable(),
    /** Whether the list endpoint takes `q`, `cursor` and `ids`. */
    listSearch: p.boolean().default(false),
    createdAt: stamp(),
    updatedAt: stamp(),
  },
});
