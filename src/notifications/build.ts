/**
 * What notifications give the gateway: types, templates, preferences, sends, the log, the inbox and its streams. A new resource of
 * this folder has its line here.
 */

import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/telemetry.ts';
import type { Config } from '../config/config.ts';
import type { DeliveryBell } from '../delivery/queue.ts';
import { WorkQueue } from '../directory/work-queue.ts';
import type { Database } from '../persistence/database.ts';
import { AllSends } from './all-sends.ts';
import { RenderBudget } from './budget.ts';
import { Endings } from './endings.ts';
import { Inbox } from './inbox.ts';
import { SendLog } from './log.ts';
import { Preferences } from './preferences.ts';
import { Renderer } from './render.ts';
import { Sends } from './send.ts';
import { InboxStreams } from './stream.ts';
import { TakeBacks } from './take-back.ts';
import { type SendByBrand, TemplateTests, type TestLimit } from './template-tests.ts';
import { Templates } from './templates.ts';
import { NotificationTypes } from './types.ts';
import type { Unsubscriptions } from './unsubscribe.ts';

/** The parts that notifications are built on. */
interface NotificationsOptions {
  readonly config: Config;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Logger;
  readonly unsubscriptions: Unsubscriptions;
  readonly bell: DeliveryBell;
  readonly sendByBrand: SendByBrand;
  /** Of tests of templates. */
  readonly limit: TestLimit;
  readonly isActive: (email: string) => Promise<boolean>;
  /** The engine's current revision. */
  readonly revision: () => string;
}

export type Notifications = Readonly<ReturnType<typeof buildNotifications>['services']>;

export function buildNotifications(options: NotificationsOptions) {
  const { config, database, clock, unsubscriptions, bell } = options;
  const allowHttp = !config.production;
  const renderer = new Renderer(clock, undefined, config.notifications.timezone);
  const budget = new RenderBudget();
  const templates = new Templates({ database, renderer, budget, allowHttp });
  const inboxStreams = new InboxStreams(options);
  const arrived = inboxStreams.changed;
  // A quarter of the connections: two large sends occupy a database server, and a third would wait for their locks.
  const permits = Math.max(1, Math.floor(config.database.poolSize / 4));
  const turns = new WorkQueue({ permits, clock });
  const sends = new Sends({ database, renderer, budget, unsubscriptions, turns, allowHttp, arrived, ring: bell.ring });
  return {
    endings: new Endings({ ...options, sends, timezone: config.notifications.timezone }),
    services: {
      notificationTypes: new NotificationTypes(database),
      templates,
      templateTests: new TemplateTests({ ...options, templates }),
      notificationPreferences: new Preferences(database),
      sends,
      sendLog: new SendLog(database, bell.ring),
      takeBacks: new TakeBacks(database, arrived),
      allSends: new AllSends(database, clock, bell.ring),
      inbox: new Inbox(database, arrived),
      inboxStreams,
      unsubscriptions,
    },
    renderer,
  };
}
