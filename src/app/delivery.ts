/** Deliveries, put together: subscriptions for the gateway, the bell for senders, what delivers where this process does. */

import type { Clock } from '../base/clock.ts';
import type { Logger, Registry } from '../base/telemetry.ts';
import type { Config } from '../config/config.ts';
import { EmailChannel } from '../delivery/email-channel.ts';
import { createEndpointRules, type EndpointRules } from '../delivery/endpoints.ts';
import { Holds } from '../delivery/holds.ts';
import { DeliveryMetrics } from '../delivery/metrics.ts';
import { PushSender } from '../delivery/push.ts';
import { PushChannel } from '../delivery/push-channel.ts';
import { openVapidKeys, type VapidKeys } from '../delivery/push-keys.ts';
import { DeliveryBell, type UnsubscribeTarget } from '../delivery/queue.ts';
import { PushSubscriptions } from '../delivery/subscriptions.ts';
import { type DeliveryFailpoints, DeliveryWorker } from '../delivery/worker.ts';
import { keepSecret } from '../identity/kept-secret.ts';
import type { Outbound } from '../outbound/outbound.ts';
import type { Database } from '../persistence/database.ts';
import { DeliveryThread } from './delivery-thread.ts';
import type { BuiltMail } from './mail.ts';

/** What pushes need of the configuration. */
export interface PushGround {
  readonly rules: EndpointRules;
  /** Null where there are none: nothing can be pushed. */
  readonly keys: VapidKeys | null;
}

/** What a worker is built on, in whichever thread. */
export interface WorkerGround extends PushGround, Pick<BuiltMail, 'mailer' | 'senders' | 'unsubscriptions'> {
  readonly config: Config;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Logger;
  readonly outbound: Outbound;
  readonly bell: DeliveryBell;
  readonly metrics: Pick<DeliveryMetrics, 'count'>;
  /** Handed in by tests alone. */
  readonly deliveryFailpoints?: DeliveryFailpoints | undefined;
}

/** What deliveries are built on. */
export interface DeliveryGround extends Omit<WorkerGround, 'bell' | 'metrics' | keyof PushGround> {
  readonly registry: Registry;
  /** Whether deliveries may leave from a thread of their own. */
  readonly threads: boolean;
}

/** What delivers, until it is closed. */
export type Deliverer = Pick<DeliveryWorker, 'start' | 'close'>;

export interface BuiltDelivery {
  readonly pushSubscriptions: PushSubscriptions;
  /** To be rung after a commit that enqueued something. */
  readonly bell: DeliveryBell;
  /** Null where this process is no worker. */
  readonly worker: Deliverer | null;
}

export function buildDelivery(ground: DeliveryGround): BuiltDelivery {
  const { config, database, registry } = ground;
  const push = openPush(config, ground.clock);
  const pushSubscriptions = new PushSubscriptions({
    database,
    rules: push.rules,
    publicKey: push.keys?.publicKey ?? null,
  });
  const bell = new DeliveryBell();
  const metrics = new DeliveryMetrics(registry, database);
  if (!config.roles.includes('worker')) return { pushSubscriptions, bell, worker: null };
  // An embedded database is on this thread's event loop, and a process that only delivers has nobody to give way to.
  const apart = ground.threads && database.kind === 'postgresql' && config.roles.length > 1;
  const worker = apart
    ? new DeliveryThread({ ...ground, bell, metrics })
    : buildWorker({ ...ground, ...push, bell, metrics });
  return { pushSubscriptions, bell, worker };
}

export function buildWorker(ground: WorkerGround): DeliveryWorker {
  const { config, database, clock, log, outbound, rules, keys, mailer, senders, unsubscriptions, bell, metrics } =
    ground;
  const { production, publicUrl } = config;
  const lanes = new Holds(clock);
  const senderOf = (brandId: number | null) => senders.senderOf(brandId);
  const unsubscribeUrl = (target: UnsubscribeTarget) => unsubscriptions.link(target);
  const email = new EmailChannel({ mailer, senderOf, unsubscribeUrl, holds: lanes, publicUrl, production, clock, log });
  const sender = new PushSender({ outbound, rules, keys, clock, log });
  const push = new PushChannel({ sender, holds: new Holds(clock), clock });
  const failpoints = ground.deliveryFailpoints;
  return new DeliveryWorker({ database, clock, log, channels: { email, push }, lanes, metrics, bell, failpoints });
}

/** Makes the keys of a development service, where it has none yet. */
export function openPush(config: Config, clock: Clock): PushGround {
  const { dataDir } = config;
  return {
    rules: createEndpointRules(config.push.allowedHosts, config.production),
    keys: openVapidKeys(config, (make) => keepSecret({ dataDir, file: 'vapid-keys', make, clock })),
  };
}
