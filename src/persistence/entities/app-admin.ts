import { defineEntity } from '@mikro-orm/core';
import { reference, stamp } from './columns.ts';

export const AppAdmin = defineEntity({
  name: 'AppAdmin',
  tableName: 'app_admin',
  properties: {
    personId: reference().primary(),
    applicationId: reference().primary(),
    createdAt: stamp(),
  },
});
