/** The delivery thread: a worker and its dependencies, without listeners. See delivery-thread.ts. */

import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock as clock } from '../base/clock.ts';
import { createLogger } from '../base/telemetry.ts';
import { flushTraces } from '../base/tracing.ts';
import { DeliveryBell } from '../delivery/queue.ts';
import { createOutbound } from '../outbound/outbound.ts';
import { openDatabase } from '../persistence/open.ts';
import { buildWorker, openPush } from './delivery.ts';
import type { Counted, FromThread, ThreadData, ToThread } from './delivery-thread.ts';
import { buildMail } from './mail.ts';

/** For claims, settlements and brands; each takes a moment. */
const CONNECTIONS = 4;
/** Outcomes of attempts are posted in batches of this interval. */
const TELL_MS = 250;

const port = parentPort;
if (port === null) throw new Error('this file runs only as a worker thread');

// On Linux the priority is the thread's own, inherited by threads that it starts; elsewhere it would be the process's.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

const { config } = workerData as ThreadData;
const log = createLogger(config.log.level);
const database = await openDatabase({
  url: config.database.url,
  directUrl: config.database.directUrl,
  dataDir: config.dataDir,
  poolSize: Math.min(CONNECTIONS, config.database.poolSize),
  migrateOnStart: false,
  // Like the rest of this process it keeps working when a newer version migrates the database.
  migrationsChecked: true,
  clock,
  log,
});
const outbound = createOutbound({ clock, proxy: config.outbound });
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
// Links use the public URL at the time the mail was accepted, which the delivery holds.
const publicUrl = (): string => config.publicUrl ?? 'http://localhost';
const mail = buildMail({ config, database, clock, outbound, publicUrl });
const push = openPush(config, clock);
const worker = buildWorker({ config, database, clock, log, outbound, ...mail, ...push, bell, metrics });

async function close(): Promise<void> {
  await worker.close();
  tell();
  await Promise.all([mail.mailer.close(), outbound.close()]);
  await database.close();
  // The thread is ended as soon as it has said so.
  await flushTraces();
  port?.postMessage('closed' satisfies FromThread);
}

port.on('message', (message: ToThread) => {
  if (message === 'ring') bell.ring();
  else if (message === 'close') void close();
  else log.level = message.logLevel;
});
await worker.start();
