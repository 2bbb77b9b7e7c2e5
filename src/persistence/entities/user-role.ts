import { defineEntity } from '@mikro-orm/core';
import { grantWindow, reference, stamp } from './columns.ts';

export const UserRole = defineEntity({
  name: 'UserRole',
  properties: {
    personId: reference().primary(),
    applicationId: reference().primary(),
    roleId: reference().primary(),
    createdAt: stamp(),
    ...grantWindow(),
  },
});
