import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import webPush from 'web-push';
import type { Database } from '../../src/persistence/database.ts';
import { createStorage, KINDS, type Kind, type TestStorage } from '../support/databases.ts';
import type { DeliveryOrders } from '../support/delivery-process.ts';
import { databaseEnv } from '../support/postgres.ts';
import { type PushService, startPushService } from '../support/push-service.ts';
import { Rest } from '../support/rest.ts';
import { type SmtpSink, startSmtp } from '../support/smtp.ts';
import { spawnScript, type Writer } from '../support/spawn-writer.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { hurry, sendOf, until } from './rows.ts';

const RECIPIENTS = 4;
const DELIVERIES = 2 * RECIPIENTS;

/** A place on the way of a send where the service is killed with -9. */
interface Point {
  /** Where it kills itself; null: one of the sinks has it killed. */
  dieAt: DeliveryOrders['dieAt'];
  /** What is stored by then. */
  stored: 'nothing' | 'all';
  /** Hits of the point that it survives. */
  spare?: number;
  /** Without a worker beside, whose transactions would be taken for those of the send. */
  roles?: string;
  /** What the sinks do until then; `kill` ends the service. */
  arrange?: (sinks: { smtp: SmtpSink; push: PushService }, kill: () => void) => void;
  /** What takes over is killed too, when it has claimed. */
  twice?: boolean;
}

const silentOn =
  (on: 'connect' | 'rcpt' | 'data'): NonNullable<Point['arrange']> =>
  ({ smtp }, hit) => {
    smtp.fault = { at: 'silent', on, hit };
  };

const POINTS = {
  render: { dieAt: 'rendering', stored: 'nothing', roles: 'gateway,rpc' },
  accept: { dieAt: 'accept:before-log', stored: 'nothing', roles: 'gateway,rpc' },
  commit: { dieAt: 'accept:after-commit', stored: 'all', roles: 'gateway,rpc' },
  claim: { dieAt: 'claimed', stored: 'all' },
  connect: {
    dieAt: null,
    stored: 'all',
    arrange: silentOn('connect'),
  },
  'before DATA': {
    dieAt: null,
    stored: 'all',
    arrange: silentOn('rcpt'),
  },
  'after DATA': {
    dieAt: null,
    stored: 'all',
    arrange: silentOn('data'),
  },
  'push sent': {
    dieAt: null,
    stored: 'all',
    arrange: ({ push }, hit) => void push.answers.set('*', { status: 201, hit }),
  },
  'before settle': { dieAt: 'sent', stored: 'all' },
  settle: { dieAt: 'settle:before-log', stored: 'all' },
  retry: {
    dieAt: 'sending',
    stored: 'all',
    spare: DELIVERIES,
    arrange: ({ smtp, push }) => {
      smtp.fault = { at: 'rcpt', code: 451, words: '4.3.0 later' };
      push.answers.set('*', { status: 503 });
    },
  },
  sweep: { dieAt: 'sending', stored: 'all', twice: true },
} satisfies Record<string, Point>;
type Name = keyof typeof POINTS;

const LONG = process.env.USHER_LONG === '1';
const ALL = Object.keys(POINTS) as Name[];
/** The worker is the same on both, and an embedded database takes long to open. */
const GATE: Record<Kind, Name[]> = {
  postgresql: ['render', 'commit', 'claim', 'push sent', 'settle'],
  pglite: ['accept', 'after DATA'],
};
const ROUNDS = LONG ? 5 : 1;

describe.each(KINDS)('kill -9 during a delivery (%s)', (kind) => {
  let storage: TestStorage;
  let smtp: SmtpSink;
  let push: PushService;
  let env: Record<string, string>;
  let usher: RunningUsher | undefined;
  const journal = { killed: 0, deliveries: 0, lost: 0, doubled: 0 };

  beforeAll(async () => {
    [storage, smtp, push] = await Promise.all([createStorage(kind), startSmtp(), startPushService()]);
    const vapid = webPush.generateVAPIDKeys();
    env = {
      HTTP_PORT: '0',
      GRPC_PORT: '0',
      DATA_DIR: storage.dataDir,
      ...databaseEnv(storage.url),
      PUSH_ALLOWED_HOSTS: push.host,
      PUSH_PUBLIC_KEY: vapid.publicKey,
      PUSH_PRIVATE_KEY: vapid.privateKey,
      PUSH_SUBJECT: 'mailto:ops@example.com',
      // Made by the first send otherwise, in a transaction of its own.
      USHER_SECRET_KEY: 'a secret key of this installation',
    };
  });
  // One that a failure left open would hold the database of all that follow, and the process of the tests.
  afterEach(async () => {
    smtp.fault = null;
    push.answers.clear();
    await usher?.close();
    usher = undefined;
  });
  afterAll(async () => {
    if (LONG) process.stderr.write(`crash journal, ${kind}: ${JSON.stringify(journal)}\n`);
    await Promise.all([smtp?.close(), push?.close(), storage?.remove()]);
  });

  /** How often each delivery arrived so far: mails, then pushes. */
  const arrived = (people: DeliveryOrders['people']): number[] => [
    ...people.map(({ to }) => smtp.mails.filter((mail) => mail.to[0] === to).length),
    ...people.map(({ to }) => push.pushes.filter(({ path }) => path.endsWith(`/${to}`)).length),
  ];

  const kill = async (orders: DeliveryOrders, { arrange }: Point): Promise<Writer> => {
    let killed: Writer | undefined;
    arrange?.({ smtp, push }, () => void killed?.kill());
    killed = spawnScript('delivery-process.ts', orders);
    expect(await killed.ended).toBe('SIGKILL');
    journal.killed++;
    // What had reached a sink by then is kept there.
    await new Promise((resolve) => setTimeout(resolve, 100));
    smtp.fault = null;
    push.answers.clear();
    return killed;
  };

  const round = async (name: Name, app: string): Promise<void> => {
    const point: Point = POINTS[name];
    const people = Array.from({ length: RECIPIENTS }, (_, index) => {
      const to = `${app}-${index}@example.com`;
      const { endpoint, keys } = push.browser(to, env.PUSH_PUBLIC_KEY ?? '');
      return { to, endpoint, ...keys };
    });
    const own = point.roles === undefined ? env : { ...env, USHER_ROLES: point.roles };
    const orders = { env: own, smtpPort: smtp.port, app, people, dieAt: point.dieAt, spare: point.spare ?? 0 };
    const { lines } = await kill(orders, point);
    expect(lines[0]).toBe('started');
    if (point.stored === 'nothing') expect(lines).not.toContain('answered 202');
    if (point.twice) {
      await endLeases(storage, kind);
      await kill({ ...orders, people: [], dieAt: 'claimed' }, { ...point, arrange: () => undefined });
    }

    const before = arrived(people);
    expect(Math.max(...before)).toBeLessThanOrEqual(1);
    await endLeases(storage, kind);
    const again = await startUsher(storage, { env });
    usher = again;
    const known = await deliveries(again.app.database, app);
    if (name === 'render' || name === 'accept') expect(before).toEqual(before.map(() => 0));

    // A caller without an answer repeats with the same key: a stored send is not stored twice.
    const headers = { 'x-internal-api-key': again.app.localKey ?? '' };
    const rest = await Rest.as(again);
    const answer = await rest.send('POST', '/api/internal/notifications', sendOf({ app, people }), headers);
    expect(answer.status).toBe(202);
    await until(
      async () => {
        // On a busy machine an attempt may fail for that alone: its pause is not what is asked about here.
        await hurry(again.app.database);
        return await deliveries(again.app.database, app);
      },
      (rows) => rows.length === DELIVERIES && rows.every(({ due }) => !due),
      60_000,
    );
    if (point.stored === 'all') expect(known).toHaveLength(DELIVERIES);

    const after = arrived(people);
    journal.deliveries += after.length;
    journal.lost += after.filter((times) => times === 0).length;
    journal.doubled += after.filter((times) => times > 1).length;
    // Again only what had arrived without anybody here knowing, and that once.
    after.forEach((times, at) => {
      expect(times - (before[at] ?? 0)).toBeLessThanOrEqual(1);
      expect(times).toBeGreaterThanOrEqual(1);
    });
    for (const { to } of people) {
      const mails = smtp.mails.filter((mail) => mail.to[0] === to);
      expect(new Set(mails.map(({ parsed }) => parsed.messageId)).size).toBe(1);
      const was = known.find((row) => row.to === to && row.channel === 'email');
      if (was?.status === 'sent') expect(mails).toHaveLength(1);
    }
    const states = await deliveries(again.app.database, app);
    expect(states.map(({ status, notification }) => `${status} ${notification}`)).toEqual(
      Array.from({ length: DELIVERIES }, () => 'sent sent'),
    );
    usher = undefined;
    await again.close();
  };

  test.each(LONG ? ALL : GATE[kind])(
    'accepted mails and pushes arrive and are marked sent: %s',
    async (name) => {
      for (let n = 0; n < ROUNDS; n++) await round(name, `${name.toLowerCase().replaceAll(' ', '-')}-${n}`);
      if (LONG) process.stderr.write(`${kind}, ${name}: ${JSON.stringify(journal)}\n`);
    },
    60_000 + ROUNDS * 90_000,
  );
});

/** The leases of the dead end by themselves, on an embedded database with the next start; nobody wants to wait here. */
async function endLeases(storage: TestStorage, kind: Kind): Promise<void> {
  if (kind === 'pglite') return;
  const database = await storage.open();
  await database.change(async (tx) => {
    await tx.kysely.updateTable('delivery').set({ dueAt: new Date() }).where('status', '=', 'sending').execute();
    return { result: null, scopes: [] };
  });
  await database.close();
}

async function deliveries(database: Database, app: string) {
  return await database.read(async (tx) => {
    const rows = await tx.kysely
      .selectFrom('notification as n')
      .innerJoin('application as a', 'a.id', 'n.applicationId')
      .innerJoin('person as p', 'p.id', 'n.personId')
      .innerJoin('delivery as d', 'd.notificationId', 'n.id')
      .select(['n.status as notification', 'd.status', 'd.channel', 'd.dueAt', 'p.email as to'])
      .where('a.code', '=', app)
      .execute();
    return rows.map(({ dueAt, ...row }) => ({ ...row, due: dueAt !== null }));
  });
}
