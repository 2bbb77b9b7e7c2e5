import { defineEntity, p } from '@mikro-orm/core';
import { reference, stamp } from './columns.ts';

/** A person's settings in one application, and their last visits. */
export const AppPreference = defineEntity({
  name: 'AppPreference',
  properties: {
    personId: reference().primary(),
    applicationId: reference().primary(),
    showHelp: p.boolean().default(true),
    notificationsEnabled: p.boolean().default(true),
    firstLoginAt: p.datetime(3).nullable(),
    lastLoginAt: p.datetime(3).nullable(),
    loginCount: p.bigint('number').default(0),
    lastActivityAt: p.datetime(3).nullable(),
    createdAt: stamp(),
    updatedAt: stamp(),
  },
});
