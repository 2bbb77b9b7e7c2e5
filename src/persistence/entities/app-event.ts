import { defineEntity, p } from '@mikro-orm/core';
import { identity, reference, stamp } from './columns.ts';

/** A login into an application, or a logout from it. */
export const AppEvent = defineEntity({
  name: 'AppEvent',
  properties: {
    id: identity(),
    personId: reference(),
    applicationId: reference(),
    event: p.text().$type<'login' | 'logout'>(),
    actor: p.text(),
    at: stamp(),
  },
});
