import { defineEntity, p } from '@mikro-orm/core';
import { reference } from './columns.ts';

/** What a person is found by: address and names, in one text. Kept by triggers on `person` and `profile`. */
export const PersonSearch = defineEntity({
  name: 'PersonSearch',
  tableName: 'person_search',
  properties: { personId: reference().primary().autoincrement(false), searched: p.text() },
});
