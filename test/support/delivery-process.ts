/**
 * A service in a process of its own that sends and delivers, and dies with -9 at a named point; for delivery/crash.test.ts. Orders
 * come as one JSON argument; what it has done goes to stdout, a line each.
 */

import { sql } from 'kysely';
import { type App, buildApp } from '../../src/app/app.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { toConfig } from '../../src/config/config.ts';
import type { DeliveryFailpoint } from '../../src/delivery/worker.ts';
import { CLOCK_MS, CPU_MS } from '../../src/notifications/render/process.ts';
import type { Failpoint } from '../../src/persistence/open.ts';
import { insertType, sendOf } from '../delivery/rows.ts';

export interface DeliveryOrders {
  /** Of the service. */
  env: Record<string, string>;
  smtpPort: number;
  app: string;
  /** People to send a mail and a push to; none: what an earlier process has left is all there is to do. */
  people: { to: string; endpoint: string; p256dh: string; auth: string }[];
  /** People to send a mail to, one by one, beside those. */
  mailsTo?: readonly string[];
  /**
   * Where it ends itself; null where that is done from outside. `rendering` is when a rendering process gets to work on the send. `settle:`
   * is a point of the transaction that writes what came of a delivery, `accept:` one of that which stores the send.
   */
  dieAt: DeliveryFailpoint | 'rendering' | `accept:${Failpoint}` | `settle:${Failpoint}` | null;
  /** Hits of that point that it survives. */
  spare: number;
}

const orders = JSON.parse(process.argv[2] ?? '') as DeliveryOrders;
const wanted = [...orders.people, ...(orders.mailsTo ?? []).map((to) => ({ to }))];
let armed = wanted.length === 0;
let left = orders.spare;
let settling = false;

function dieHere(point: DeliveryOrders['dieAt']): void {
  if (armed && point === orders.dieAt && left-- === 0) process.kill(process.pid, 'SIGKILL');
}

const app = await buildApp(toConfig({ env: orders.env }), {
  log: createLogger('silent'),
  // A point of the worker is on this thread; one that the other side brings about is where deliveries leave in production.
  threads: orders.dieAt === null,
  clock: {
    ...systemClock,
    after: (ms, fn) => {
      if (ms === CPU_MS || ms === CLOCK_MS) dieHere('rendering');
      return systemClock.after(ms, fn);
    },
  },
  failpoints: {
    hit: (name) => {
      dieHere(`accept:${name}`);
      if (settling) dieHere(`settle:${name}`);
    },
  },
  deliveryFailpoints: {
    hit: (name) => {
      settling ||= name === 'sent';
      dieHere(name);
    },
  },
});
const { rest } = await app.start();
process.stdout.write('started\n');
if (wanted.length > 0) {
  await setUp(app, orders);
  armed = true;
  const { status } = await fetch(`${rest}/api/internal/notifications`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-internal-api-key': app.localKey ?? '' },
    body: JSON.stringify(sendOf({ app: orders.app, people: wanted })),
  });
  process.stdout.write(`answered ${status}\n`);
}
// Alive until killed, also where nothing else keeps it so.
setInterval(() => undefined, 1000);

async function setUp({ database }: App, { app: code, people, smtpPort, env }: DeliveryOrders): Promise<void> {
  const { app: application, type } = await insertType(database, code);
  await database.change(async (tx) => {
    await sql`
      update brand set smtp_host = '127.0.0.1', smtp_port = ${smtpPort} where is_default`.execute(tx.kysely);
    await sql`
      insert into template (application_id, notification_type_id, locale, subject, html)
      values (${application}, ${type}, 'en', 'News of {{ app.code }}', '<p>There is news, {{ user.email }}.</p>')`.execute(
      tx.kysely,
    );
    for (const { to, endpoint, p256dh, auth } of people) {
      await sql`insert into person (email) values (${to})`.execute(tx.kysely);
      await sql`
        insert into push_subscription (person_id, endpoint, p256dh, auth, device_label, vapid_key)
        select id, ${endpoint}, ${p256dh}, ${auth}, 'x', ${env.PUSH_PUBLIC_KEY ?? ''} from person
         where email = ${to}`.execute(tx.kysely);
    }
    return { result: null, scopes: [] };
  });
}
