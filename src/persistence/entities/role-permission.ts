import { defineEntity, p } from '@mikro-orm/core';
import type { Level } from '../../engine/types.ts';
import { reference } from './columns.ts';

/** A role grants a level or has no row: the database accepts no other level. */
type GrantedLevel = Exclude<Level, 0>;

/** A role's levels. `tiered` repeats the permission's, so that the database can check the level. */
export const RolePermission = defineEntity({
  name: 'RolePermission',
  properties: {
    applicationId: reference().primary(),
    roleId: reference().primary(),
    permissionId: reference().primary(),
    tiered: p.boolean(),
    level: p.smallint().$type<GrantedLevel>(),
  },
});
