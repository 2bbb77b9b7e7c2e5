import { defineEntity, p } from '@mikro-orm/core';
import { reference } from './columns.ts';

/** The languages that an application supports, in its own order. */
export const ApplicationLanguage = defineEntity({
  name: 'ApplicationLanguage',
  properties: {
    applicationId: reference().primary(),
    languageCode: p.text().primary(),
    position: p.integer(),
  },
});
