import { defineEntity, p } from '@mikro-orm/core';
import { reference } from './columns.ts';

/** What is to be done about a grant with a window before it ends, once (docs/reference/time.md#the-timekeeper). Kept by triggers. */
export const GrantMoment = defineEntity({
  name: 'GrantMoment',
  properties: {
    kind: p.text().$type<'role' | 'override' | 'app_admin'>().primary(),
    personId: reference().primary(),
    applicationId: reference().primary(),
    /** The role, or the permission of an override; 0 for a seat. */
    objectId: reference().primary(),
    /** Empty but for overrides. */
    resourceType: p.text().primary(),
    resourceId: p.text().primary(),
    what: p.text().$type<'begin' | 'warning'>().primary(),
    at: p.datetime(3),
  },
});
