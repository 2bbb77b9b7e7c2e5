/** Builds notifications: types, templates, preferences, sends, the log, the inbox and its streams. */

import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/telemetry.ts';
import type { Config } from '../config/config.ts';
import type { DeliveryBell } from '../delivery/queue.ts';
import { WorkQueue } from '../directory/work-queue.ts';
import { createRateLimit } from '../gateway/middleware/rate-limit.ts';
import type { Services } from '../gateway/services.ts';
import { AllSends } from '../notifications/all-sends.ts';
import { RenderBudget } from '../notifications/budget.ts';
import { Inbox } from '../notifications/inbox.ts';
import { SendLog } from '../notifications/log.ts';
import { Preferences } from '../notifications/preferences.ts';
import { Renderer } from '../notifications/render.ts';
import { Sends } from '../notifications/send.ts';
import { InboxStreams } from '../notifications/stream.ts';
import { type SendByBrand, TESTS_A_MINUTE, TemplateTests } from '../notifications/template-tests.ts';
import { Templates } from '../notifications/templates.ts';
import { NotificationTypes } from '../notifications/types.ts';
import type { Unsubscriptions } from '../notifications/unsubscribe.ts';
import type { Database } from '../persistence/database.ts';

/** The parts that notifications are built on. */
export interface NotificationsOptions {
  readonly config: Config;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Logger;
  readonly unsubscriptions: Unsubscriptions;
  readonly bell: DeliveryBell;
  readonly sendByBrand: SendByBrand;
  readonly isActive: (email: string) => Promise<boolean>;
  /** The engine's current revision. */
  readonly revision: () => string;
}

type NotificationServices = Pick<
  Services,
  | 'notificationTypes'
  | 'templates'
  | 'templateTests'
  | 'notificationPreferences'
  | 'sends'
  | 'sendLog'
  | 'allSends'
  | 'inbox'
  | 'inboxStreams'
  | 'unsubscriptions'
>;

export interface BuiltNotifications {
  readonly services: NotificationServices;
  readonly renderer: Renderer;
  readonly streams: InboxStreams;
}

export function buildNotifications(options: NotificationsOptions): BuiltNotifications {
  const { config, database, clock, log, unsubscriptions, bell, sendByBrand, isActive, revision } = options;
  const allowHttp = !config.production;
  const renderer = new Renderer(clock, undefined, config.notifications.timezone);
  const budget = new RenderBudget();
  const templates = new Templates({ database, renderer, budget, allowHttp });
  const streams = new InboxStreams({ database, clock, log, isActive, revision });
  const arrived = streams.changed;
  // A quarter of the connections: two large sends occupy a database server, and a third would wait for their locks.
  const permits = Math.max(1, Math.floor(config.database.poolSize / 4));
  const turns = new WorkQueue({ permits, clock });
  return {
    services: {
      notificationTypes: new NotificationTypes(database),
      templates,
      templateTests: new TemplateTests({ database, templates, sendByBrand, limit: createRateLimit(TESTS_A_MINUTE) }),
      notificationPreferences: new Preferences(database),
      sends: new Sends({ database, renderer, budget, unsubscriptions, turns, allowHttp, arrived, ring: bell.ring }),
      sendLog: new SendLog(database, bell.ring),
      allSends: new AllSends(database, clock, bell.ring),
      inbox: new Inbox(database, streams.changed),
      inboxStreams: streams,
      unsubscriptions,
    },
    renderer,
    streams,
  };
}
