import { defineEntity, p } from '@mikro-orm/core';
import { stamp } from './columns.ts';

/** An event that was reported before: the same `eventId` again changes nothing. */
export const SeenEvent = defineEntity({
  name: 'SeenEvent',
  properties: {
    source: p.text().primary(),
    key: p.text().primary(),
    at: stamp(),
  },
});
