import { defineEntity, p } from '@mikro-orm/core';
import { reference } from './columns.ts';

/** The searched text of a person: address and names. Maintained by triggers on `person` and `profile`. */
export const PersonSearch = defineEntity({
  name: 'PersonSearch',
  properties: { personId: reference().primary().autoincrement(false), searched: p.text() },
});
