import { defineEntity, p } from '@mikro-orm/core';
import type { ChannelName } from '../../base/channels.ts';
import { identity, reference, stamp } from './columns.ts';

/** One notification through one channel: the table is the queue of unsent deliveries. */
export const Delivery = defineEntity({
  name: 'Delivery',
  properties: {
    id: identity(),
    notificationId: reference(),
    channel: p.text().$type<ChannelName>(),
    status: p.text().$type<'queued' | 'sending' | 'sent' | 'failed' | 'skipped'>().default('queued'),
    brandId: reference().nullable(),
    content: p.json<unknown>().columnType('json'),
    lane: p.text(),
    attempts: p.integer().default(0),
    error: p.text().nullable(),
    dueAt: p.datetime(3).nullable().defaultRaw('now()'),
    giveUpAt: p.datetime(3).defaultRaw("now() + interval '25 hours'"),
    pushDone: p.array(Number).columnType('bigint[]').defaultRaw("'{}'"),
    sentAt: p.datetime(3).nullable(),
    /** Somebody has taken it back; a worker that had claimed it may still be handing it over. */
    cancelledAt: p.datetime(3).nullable(),
    createdAt: stamp(),
  },
});
