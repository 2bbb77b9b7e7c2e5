import { defineEntity, p } from '@mikro-orm/core';
import { identity, reference, stamp } from './columns.ts';

/** An erasure of a person, and its receipt (docs/reference/people.md#erasure). `email` only until it is finished. */
export const Erasure = defineEntity({
  name: 'Erasure',
  properties: {
    id: identity(),
    personId: reference().nullable(),
    pseudonym: p.text(),
    email: p.text().nullable(),
    removed: p.json<unknown>(),
    startedAt: stamp(),
    finishedAt: p.datetime(3).nullable(),
  },
});
