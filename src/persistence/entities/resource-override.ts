import { defineEntity, p } from '@mikro-orm/core';
import type { Level } from '../../engine/types.ts';
import { grantWindow, reference, stamp } from './columns.ts';

/** A person's level on one resource, regardless of roles: level 0 denies, 1 allowed, 2 view, 3 edit. */
export const ResourceOverride = defineEntity({
  name: 'ResourceOverride',
  properties: {
    personId: reference().primary(),
    applicationId: reference().primary(),
    resourceType: p.text().primary(),
    resourceId: p.text().primary(),
    permissionId: reference().primary(),
    tiered: p.boolean(),
    level: p.smallint().$type<Level>(),
    createdAt: stamp(),
    ...grantWindow(),
  },
});
