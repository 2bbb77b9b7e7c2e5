/** Builds deliveries: subscriptions for the gateway, the bell for senders, and the worker in processes with that role. */

import { CircuitBreaker } from '../base/circuit-breaker.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger, Registry } from '../base/telemetry.ts';
import type { Config } from '../config/config.ts';
import type { UnsubscribeTarget } from '../delivery/channels.ts';
import { EmailChannel } from '../delivery/email-channel.ts';
import { createEndpointRules, type EndpointRules } from '../delivery/endpoints.ts';
import { DeliveryMetrics } from '../delivery/metrics.ts';
import { PushSender } from '../delivery/push.ts';
import { PushChannel } from '../delivery/push-channel.ts';
import { openVapidKeys, type VapidKeys } from '../delivery/push-keys.ts';
import { PushPauses } from '../delivery/push-pauses.ts';
import { subjectProblem } from '../delivery/push-subject.ts';
import { DeliveryBell } from '../delivery/queue.ts';
import { PushSubscriptions } from '../delivery/subscriptions.ts';
import { type DeliveryFailpoints, DeliveryWorker } from '../delivery/worker.ts';
import { keepSecret } from '../identity/kept-secret.ts';
import type { Outbound } from '../outbound/outbound.ts';
import type { Database } from '../persistence/database.ts';
import { DeliveryThread } from './delivery-thread.ts';
import type { BuiltMail } from './mail.ts';

/** The configuration of pushes. */
export interface PushOptions {
  readonly rules: EndpointRules;
  /** Null without configured keys: pushes are disabled. */
  readonly keys: VapidKeys | null;
}

/** The parts that a worker is built on, in either thread. */
export interface WorkerOptions extends PushOptions, Pick<BuiltMail, 'mailer' | 'senders' | 'unsubscriptions'> {
  readonly config: Config;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Logger;
  readonly outbound: Outbound;
  readonly bell: DeliveryBell;
  readonly metrics: Pick<DeliveryMetrics, 'count'>;
  /** Set only by tests. */
  readonly deliveryFailpoints?: DeliveryFailpoints | undefined;
}

/** The parts that deliveries are built on. */
export interface DeliveryOptions extends Omit<WorkerOptions, 'bell' | 'metrics' | keyof PushOptions> {
  readonly registry: Registry;
  /** Whether deliveries may run in a thread of their own. */
  readonly threads: boolean;
}

/** A delivery worker, in this thread or in its own. */
export type Deliverer = Pick<DeliveryWorker, 'start' | 'close'> & {
  /** Of a thread, which has a log of its own. */
  setLogLevel?(level: Config['log']['level']): void;
};

export interface BuiltDelivery {
  readonly pushSubscriptions: PushSubscriptions;
  /** Rung after a commit that enqueued deliveries. */
  readonly bell: DeliveryBell;
  /** Null without the role `worker`. */
  readonly worker: Deliverer | null;
  /** The loop of that worker; null where it runs in another thread. */
  readonly loop: Pick<DeliveryWorker, 'ageMs'> | null;
}

export function buildDelivery(options: DeliveryOptions): BuiltDelivery {
  const { config, database, registry } = options;
  const push = openPush(config, options.clock);
  const subject = push.keys === null ? null : subjectProblem(push.keys.subject);
  if (subject !== null) options.log.warn(`push.subject ${subject}: push services may refuse every push`);
  const pushSubscriptions = new PushSubscriptions({
    database,
    rules: push.rules,
    publicKey: push.keys?.publicKey ?? null,
  });
  const bell = new DeliveryBell();
  const metrics = new DeliveryMetrics(registry, database);
  if (!config.roles.includes('worker')) return { pushSubscriptions, bell, worker: null, loop: null };
  // The embedded database runs on this thread's event loop, and a process that only delivers has no calls to keep fast.
  const apart = options.threads && database.kind === 'postgresql' && config.roles.length > 1;
  if (apart) return { pushSubscriptions, bell, worker: new DeliveryThread({ ...options, bell, metrics }), loop: null };
  const worker = buildWorker({ ...options, ...push, bell, metrics });
  return { pushSubscriptions, bell, worker, loop: worker };
}

export function buildWorker(options: WorkerOptions): DeliveryWorker {
  const { config, database, clock, log, outbound, rules, keys, mailer, senders, unsubscriptions, bell, metrics } =
    options;
  const { production, publicUrl } = config;
  const breaker = new CircuitBreaker(clock);
  const senderOf = (brandId: number | null) => senders.senderOf(brandId);
  const unsubscribeUrl = (target: UnsubscribeTarget) => unsubscriptions.link(target);
  const email = new EmailChannel({ mailer, senderOf, unsubscribeUrl, breaker, publicUrl, production, clock, log });
  // On PostgreSQL a worker has a thread or a process of its own (`buildDelivery`).
  const loop = database.kind === 'postgresql' ? 'alone' : 'shared';
  const sender = new PushSender({ outbound, rules, keys, clock, log, loop });
  const pauses = new PushPauses(clock);
  const push = new PushChannel({ sender, breaker: new CircuitBreaker(clock), pauses, clock, log });
  const failpoints = options.deliveryFailpoints;
  return new DeliveryWorker({ database, clock, log, channels: { email, push }, breaker, metrics, bell, failpoints });
}

/** Generates the keys of a development service that has none yet. */
export function openPush(config: Config, clock: Clock): PushOptions {
  const { dataDir } = config;
  return {
    rules: createEndpointRules(config.push.allowedHosts, config.production),
    keys: openVapidKeys(config, (make) => keepSecret({ dataDir, file: 'vapid-keys', make, clock })),
  };
}
