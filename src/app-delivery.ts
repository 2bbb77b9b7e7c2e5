/** Deliveries, put together: subscriptions for the gateway, the bell for senders, the worker where this process is one. */

import type { Senders } from './brands/senders.ts';
import type { Clock } from './clock.ts';
import type { Config } from './config.ts';
import { EmailChannel } from './delivery/email-channel.ts';
import { createEndpointRules } from './delivery/endpoints.ts';
import { Holds } from './delivery/holds.ts';
import type { Mailer } from './delivery/mail.ts';
import { DeliveryMetrics } from './delivery/metrics.ts';
import { PushSender } from './delivery/push.ts';
import { PushChannel } from './delivery/push-channel.ts';
import { openVapidKeys } from './delivery/push-keys.ts';
import { DeliveryBell, type UnsubscribeTarget } from './delivery/queue.ts';
import { PushSubscriptions } from './delivery/subscriptions.ts';
import { type DeliveryFailpoints, DeliveryWorker } from './delivery/worker.ts';
import { keepSecret } from './identity/kept-secret.ts';
import type { Unsubscriptions } from './notifications/unsubscribe.ts';
import type { Outbound } from './outbound.ts';
import type { Database } from './persistence/database.ts';
import type { Logger, Registry } from './telemetry.ts';

/** What deliveries are built on. */
export interface DeliveryGround {
  readonly config: Config;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Logger;
  readonly outbound: Outbound;
  readonly registry: Registry;
  /** Handed in by tests alone. */
  readonly deliveryFailpoints?: DeliveryFailpoints | undefined;
  readonly mailer: Mailer;
  readonly senders: Senders;
  readonly unsubscriptions: Unsubscriptions;
}

export interface BuiltDelivery {
  readonly pushSubscriptions: PushSubscriptions;
  /** To be rung after a commit that enqueued something. */
  readonly bell: DeliveryBell;
  /** Null where this process is no worker. */
  readonly worker: DeliveryWorker | null;
}

export function buildDelivery(ground: DeliveryGround): BuiltDelivery {
  const { config, database, clock, log, outbound, registry, mailer, senders, unsubscriptions } = ground;
  const { production, publicUrl, dataDir } = config;
  const rules = createEndpointRules(config.push.allowedHosts, production);
  const keys = openVapidKeys(config, (make) => keepSecret({ dataDir, file: 'vapid-keys', make, clock }));
  const pushSubscriptions = new PushSubscriptions({ database, rules, publicKey: keys?.publicKey ?? null });
  const bell = new DeliveryBell();
  const metrics = new DeliveryMetrics(registry, database);
  if (!config.roles.includes('worker')) return { pushSubscriptions, bell, worker: null };

  const lanes = new Holds(clock);
  const senderOf = (brandId: number | null) => senders.senderOf(brandId);
  const unsubscribeUrl = (target: UnsubscribeTarget) => unsubscriptions.link(target);
  const email = new EmailChannel({ mailer, senderOf, unsubscribeUrl, holds: lanes, publicUrl, production, clock, log });
  const sender = new PushSender({ outbound, rules, keys, clock, log });
  const push = new PushChannel({ sender, holds: new Holds(clock), clock });
  const worker = new DeliveryWorker({
    database,
    clock,
    log,
    channels: { email, push },
    lanes,
    metrics,
    bell,
    failpoints: ground.deliveryFailpoints,
  });
  return { pushSubscriptions, bell, worker };
}
