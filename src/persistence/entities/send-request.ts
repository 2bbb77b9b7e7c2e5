import { defineEntity, p } from '@mikro-orm/core';
import { reference, stamp } from './columns.ts';

/** A send by a backend with an idempotency key, with its first answer; kept 24 hours. */
export const SendRequest = defineEntity({
  name: 'SendRequest',
  properties: {
    applicationId: reference().primary(),
    idempotencyKey: p.text().primary(),
    bodyHash: p.text(),
    answer: p.json<unknown>().nullable(),
    createdAt: stamp(),
  },
});
