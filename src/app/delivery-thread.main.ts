/** The thread of deliveries: a worker and what it stands on, and nothing that answers callers. See delivery-thread.ts. */

import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock as clock } from '../base/clock.ts';
import { createLogger } from '../base/telemetry.ts';
import { DeliveryBell } from '../delivery/queue.ts';
import { createOutbound } from '../outbound/outbound.ts';
import { openDatabase } from '../persistence/open.ts';
import { buildWorker, openPush } from './delivery.ts';
import type { Counted, FromThread, ThreadData, ToThread } from './delivery-thread.ts';
import { buildMail } from './mail.ts';

/** Claims, settlements and what brands look like; each takes a moment. */
const CONNECTIONS = 4;
/** What came of attempts travels together. */
const TELL_MS = 250;

const port = parentPort;
if (port === null) throw new Error('this is started as a thread of a service');

// On Linux this is the thread's own, and inherited by those that it starts; elsewhere it would be the whole process's.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

const { config } = workerData as ThreadData;
const log = createLogger(config.log.level);
const database = await openDatabase({
  url: config.database.url,
  dataDir: config.dataDir,
  poolSize: Math.min(CONNECTIONS, config.database.poolSize),
  migrateOnStart: false,
  // Like the rest of this process it works on where a newer version has migrated meanwhile.
  migrationsSeenTo: true,
  clock,
  log,
});
const outbound = createOutbound({ clock });
const bell = new DeliveryBell();
let counted: Counted[] = [];
const tell = (): void => {
  if (counted.length > 0) port.postMessage(counted satisfies FromThread);
  counted = [];
};
const metrics = {
  count: (...one: Counted): void => {
    if (counted.push(one) === 1) clock.after(TELL_MS, tell);
  },
};
// Links name where the service was reached when a mail was accepted: that stands in the delivery.
const publicUrl = (): string => config.publicUrl ?? 'http://localhost';
const mail = buildMail({ config, database, clock, publicUrl });
const push = openPush(config, clock);
const worker = buildWorker({ config, database, clock, log, outbound, ...mail, ...push, bell, metrics });

async function close(): Promise<void> {
  await worker.close();
  tell();
  await Promise.all([mail.mailer.close(), outbound.close()]);
  await database.close();
  port?.postMessage('closed' satisfies FromThread);
}

port.on('message', (message: ToThread) => {
  if (message === 'ring') bell.ring();
  else void close();
});
await worker.start();
