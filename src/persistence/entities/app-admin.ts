import { defineEntity } from '@mikro-orm/core';
import { grantWindow, reference, stamp } from './columns.ts';

export const AppAdmin = defineEntity({
  name: 'AppAdmin',
  properties: {
    personId: reference().primary(),
    applicationId: reference().primary(),
    createdAt: stamp(),
    ...grantWindow(),
  },
});
