/**
 * A service in a process of its own that sends, and dies with -9 at a named point; for delivery/crash.test.ts. Orders come as one JSON
 * argument; what it has done goes to stdout, a line each.
 */

import { sql } from 'kysely';
import { buildApp } from '../../src/app.ts';
import { toConfig } from '../../src/config.ts';
import type { DeliveryFailpoint } from '../../src/delivery/worker.ts';
import { createLogger } from '../../src/telemetry.ts';
import { accept, insertType } from '../delivery/rows.ts';

export interface DeliveryOrders {
  /** Of the service. */
  env: Record<string, string>;
  smtpPort: number;
  /** People to send a mail and a push to; none: it only works off what is there. */
  accept: { to: string; endpoint: string; p256dh: string; auth: string }[];
  app: string;
  /** `after-commit` is that of the transaction that accepts. */
  dieAt: DeliveryFailpoint | 'after-commit' | null;
}

const orders = JSON.parse(process.argv[2] ?? '') as DeliveryOrders;
let armed = false;

function dieHere(point: string): void {
  if (armed && point === orders.dieAt) process.kill(process.pid, 'SIGKILL');
}

const app = await buildApp(toConfig({ env: orders.env }), {
  log: createLogger('silent'),
  failpoints: { hit: dieHere },
  deliveryFailpoints: { hit: dieHere },
});
await app.start();
await app.database.change(async (tx) => {
  await sql`
    update brand set smtp_host = '127.0.0.1', smtp_port = ${orders.smtpPort} where is_default`.execute(tx.kysely);
  return { result: null, scopes: [] };
});
process.stdout.write('started\n');
if (orders.accept.length > 0) {
  const type = await insertType(app.database, orders.app);
  await app.database.change(async (tx) => {
    for (const { to, endpoint, p256dh, auth } of orders.accept) {
      await sql`insert into person (email) values (${to})`.execute(tx.kysely);
      await sql`
        insert into push_subscription (person_id, endpoint, p256dh, auth, device_label, vapid_key)
        select id, ${endpoint}, ${p256dh}, ${auth}, 'x', ${orders.env.PUSH_PUBLIC_KEY ?? ''} from person
         where email = ${to}`.execute(tx.kysely);
    }
    return { result: null, scopes: [] };
  });
  armed = true;
  await accept(
    app.database,
    type,
    orders.accept.map(({ to }) => ({ to, email: {}, push: {} })),
  );
  process.stdout.write('accepted\n');
}
for (;;) {
  const { rows } = await app.database.read((tx) =>
    sql<{ left: number }>`select count(*)::int as left from delivery where due_at is not null`.execute(tx.kysely),
  );
  if (rows[0]?.left === 0) break;
  await new Promise((resolve) => setTimeout(resolve, 50));
}
process.stdout.write('idle\n');
await app.close();
