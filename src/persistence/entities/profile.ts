import { defineEntity, p } from '@mikro-orm/core';
import { reference, stamp } from './columns.ts';

/** A user's record beside `person` (docs/reference/people.md#profiles). `brandId` null: the default brand. */
export const Profile = defineEntity({
  name: 'Profile',
  properties: {
    personId: reference().primary().autoincrement(false),
    firstName: p.text().nullable(),
    lastName: p.text().nullable(),
    displayName: p.text().nullable(),
    /** The time of the newest names stored; null when there never were any. */
    namesChangedAt: p.datetime(3).nullable(),
    /** The names that the owner changed here, as bits (`nameBits`). */
    namesKept: p.smallint().default(0),
    avatarUrl: p.text().nullable(),
    locale: p.text().nullable(),
    theme: p.text().$type<'light' | 'dark' | 'system'>().default('system'),
    timezone: p.text().nullable(),
    brandId: reference().nullable(),
    issuer: p.text().nullable(),
    subject: p.text().nullable(),
    stateChangedAt: p.datetime(3).nullable(),
    createdAt: stamp(),
    updatedAt: stamp(),
  },
});
