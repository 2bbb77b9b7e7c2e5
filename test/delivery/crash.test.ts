import { createECDH } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { DeliveryFailpoint } from '../../src/delivery/worker.ts';
import type { Database } from '../../src/persistence/database.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import type { DeliveryOrders } from '../support/delivery-process.ts';
import { type PushService, startPushService } from '../support/push-service.ts';
import { type SmtpSink, startSmtp } from '../support/smtp.ts';
import { spawnScript } from '../support/spawn-writer.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { until } from './rows.ts';

type Point = DeliveryFailpoint | 'after-commit';
const POINTS: Point[] = ['after-commit', 'claimed', 'sending', 'sent', 'settled'];
/** The worker is the same on both, and an embedded database takes long to open: the ends of the way are enough for a merge. */
const EMBEDDED_POINTS: Point[] = process.env.USHER_LONG === '1' ? POINTS : ['after-commit', 'sent'];
const ROUNDS = process.env.USHER_LONG === '1' ? 12 : 1;
const RECIPIENTS = 4;

async function endLeases(storage: TestStorage): Promise<void> {
  const database = await storage.open();
  await database.change(async (tx) => {
    await tx.kysely.updateTable('delivery').set({ due_at: new Date() }).where('status', '=', 'sending').execute();
    return { result: null, scopes: [] };
  });
  await database.close();
}

async function waiting(database: Database): Promise<number> {
  const rows = await database.read(
    async (tx) => await tx.kysely.selectFrom('delivery').select('id').where('due_at', 'is not', null).execute(),
  );
  return rows.length;
}

describe.each(['postgresql', 'pglite'] as const)('kill -9 on the way of a delivery (%s)', (kind) => {
  let storage: TestStorage;
  let smtp: SmtpSink;
  let push: PushService;
  let env: Record<string, string>;
  let usher: RunningUsher | undefined;

  beforeAll(async () => {
    [storage, smtp, push] = await Promise.all([createStorage(kind), startSmtp(), startPushService()]);
    const pair = createECDH('prime256v1');
    env = {
      HTTP_PORT: '0',
      GRPC_PORT: '0',
      DATA_DIR: storage.dataDir,
      ...(storage.url === null ? {} : { DATABASE_URL: storage.url }),
      PUSH_ALLOWED_HOSTS: push.host,
      PUSH_PUBLIC_KEY: pair.generateKeys('base64url'),
      PUSH_PRIVATE_KEY: pair.getPrivateKey('base64url').padStart(43, 'A'),
      PUSH_SUBJECT: 'mailto:ops@example.com',
    };
  }, 60_000);
  // One that a failure left open would hold the database of all that follow, and the process of the tests.
  afterEach(async () => {
    await usher?.close();
    usher = undefined;
  }, 60_000);
  afterAll(async () => {
    await Promise.all([smtp?.close(), push?.close(), storage?.remove()]);
  });

  test.each(kind === 'pglite' ? EMBEDDED_POINTS : POINTS)(
    '%s: what was accepted arrives, by mail and by push, and is marked so',
    async (dieAt) => {
      for (let round = 0; round < ROUNDS; round++) {
        const app = `${dieAt}-${round}`;
        const people = Array.from({ length: RECIPIENTS }, (_, index) => {
          const to = `${app}-${index}@example.com`;
          const { endpoint, keys } = push.browser(to, env.PUSH_PUBLIC_KEY ?? '');
          return { to, endpoint, ...keys };
        });
        const orders: DeliveryOrders = { env, smtpPort: smtp.port, app, accept: people, dieAt };
        const killed = spawnScript('delivery-process.ts', orders);
        expect(await killed.ended).toBe('SIGKILL');
        expect(killed.lines[0]).toBe('started');

        // The leases of the dead end by themselves, on an embedded database with the next start; nobody wants to wait here.
        if (kind === 'postgresql') await endLeases(storage);
        const again = await startUsher(storage, { env });
        usher = again;
        await until(
          () => waiting(again.app.database),
          (count) => count === 0,
        );
        for (const { to } of people) {
          const mails = smtp.mails.filter((mail) => mail.to[0] === to);
          expect(mails.length).toBeGreaterThanOrEqual(1);
          // Twice at most, and then under one Message-ID.
          expect(mails.length).toBeLessThanOrEqual(2);
          expect(new Set(mails.map(({ parsed }) => parsed.messageId)).size).toBe(1);
          const pushes = push.pushes.filter(({ path }) => path.endsWith(`/${to}`));
          expect([1, 2]).toContain(pushes.length);
        }
        const states = await again.app.database.read(
          async (tx) =>
            await tx.kysely
              .selectFrom('notification as n')
              .innerJoin('application as a', 'a.id', 'n.application_id')
              .innerJoin('delivery as d', 'd.notification_id', 'n.id')
              .select(['n.status as notification', 'd.status as delivery', 'd.due_at'])
              .where('a.code', '=', app)
              .execute(),
        );
        expect(states).toEqual(
          Array.from({ length: 2 * RECIPIENTS }, () => ({ notification: 'sent', delivery: 'sent', due_at: null })),
        );
        usher = undefined;
        await again.close();
      }
    },
    60_000 + ROUNDS * 20_000,
  );
});
