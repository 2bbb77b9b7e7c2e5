import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { MAX_ATTEMPTS } from '../../src/delivery/backoff.ts';
import { follow } from '../../src/delivery/refusals.ts';
import { failureOf, LostAfterData } from '../../src/delivery/smtp-failure.ts';
import type { RefusedRow } from '../../src/persistence/delivery/refused-rows.ts';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import type { DeliveryOrders } from '../support/delivery-process.ts';
import { databaseEnv } from '../support/postgres.ts';
import { type SmtpFault, type SmtpSink, startSmtp } from '../support/smtp.ts';
import { spawnScript } from '../support/spawn-writer.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { accept, hurry, insertType, type NotificationState, settled, stateOf, until } from './rows.ts';

/** An error as the client makes it of a reply. */
const replied = (command: string, response: string, code = 'EENVELOPE'): object => ({
  command,
  code,
  response,
  responseCode: Number(response.slice(0, 3)),
});

describe('what a refusal is about', () => {
  test.each([
    ['CONN', '554 no service for you', 'account', 'EPROTOCOL'],
    ['CONN', '421 too many connections', 'account', 'EPROTOCOL'],
    ['CONN', '421 4.4.2 idle', 'transient', 'ECONNECTION'],
    ['EHLO', '550 blocked', 'account', 'ECONNECTION'],
    ['HELO', '550 blocked', 'account', 'EPROTOCOL'],
    ['STARTTLS', '454 4.7.0 not now', 'account', 'ETLS'],
    ['AUTH PLAIN', '535 5.7.8 no', 'auth', 'EAUTH'],
    ['AUTH LOGIN', '454 4.7.0 later', 'auth', 'EAUTH'],
    ['AUTH XOAUTH2', '421 4.7.0 later', 'auth', 'EAUTH'],
    ['MAIL FROM', '550 5.4.5 daily limit', 'account', 'EENVELOPE'],
    ['MAIL FROM', '554 no', 'account', 'EENVELOPE'],
    ['MAIL FROM', '451 4.3.0 later', 'account', 'EENVELOPE'],
    ['MAIL FROM', '530 5.7.0 log in first', 'auth', 'EENVELOPE'],
    ['RCPT TO', '550 5.1.1 no such user', 'permanent', 'EENVELOPE'],
    ['RCPT TO', '452 4.2.2 full', 'transient', 'EENVELOPE'],
    ['RCPT TO', '421 4.7.0 closing', 'transient', 'EENVELOPE'],
    ['RCPT TO', '530 5.7.57 not authenticated', 'auth', 'EENVELOPE'],
    ['DATA', '554 5.7.1 spam', 'permanent', 'EMESSAGE'],
    ['DATA', '451 4.3.0 later', 'transient', 'EMESSAGE'],
    ...['5.4.5', '5.7.26', '5.7.28', '5.7.57', '5.7.60', '5.7.515'].flatMap((code) => [
      ['RCPT TO', `550 ${code} about you`, 'account', 'EENVELOPE'],
      ['DATA', `554-${code} about you\r\n554 ${code} see help`, 'account', 'EMESSAGE'],
    ]),
    ['DATA', '554 5.7.2 near 5.7.26', 'permanent', 'EMESSAGE'],
    ['DATA', '554 5.7.260 no', 'permanent', 'EMESSAGE'],
  ])('%s answered with %s is %s', (command, response, kind, code) => {
    expect(failureOf(replied(command, response, code), null)).toMatchObject({ kind, code: response.slice(0, 3) });
  });

  test('a session that ended after a part of the mail was sent is unknown, a refused mail is not', () => {
    expect(failureOf(new LostAfterData({ code: 'ECONNECTION' }), null).kind).toBe('unknown');
    expect(failureOf(new LostAfterData(replied('DATA', '554 5.7.1 no', 'EMESSAGE')), null).kind).toBe('permanent');
  });

  const wordsOf = (response: string) => {
    const outcome = failureOf(replied('RCPT TO', response), null);
    return outcome.kind === 'permanent' ? outcome.words : null;
  };

  test.each([
    ['550 5.7.1 <ada@example.com>: refused', '550 5.7.1 <ben@example.org>: refused'],
    ['550 5.7.1 Refused for [192.0.2.1]', '550 5.7.1 refused  for [2001:db8::1]'],
    ['554 5.7.0 blocked d2e1a72fcca58-42 - gsmtp', '554 5.7.0 blocked 9a1b2c3d4e5f6-17 - gsmtp'],
  ])('%s and %s are the same words', (one, other) => {
    expect(wordsOf(one)).toBe(wordsOf(other));
  });

  test.each([
    ['550 5.1.1 refused', '554 5.1.1 refused'],
    ['550 5.1.1 refused', '550 5.2.2 refused'],
    ['550 5.1.1 no such user', '550 5.1.1 mailbox full'],
    ['550 mailbox 1 full', '550 mailbox 2 full'],
  ])('%s and %s are not', (one, other) => {
    expect(wordsOf(one)).not.toBe(wordsOf(other));
  });
});

describe('a row of refusals', () => {
  test('for any mails, those of a row that three recipients share are all tried again, and no others', () => {
    const end = fc.record({
      person: fc.integer({ min: 1, max: 4 }),
      refusal: fc.constantFrom('a', 'a', 'a', 'b', null),
    });
    fc.assert(
      fc.property(fc.array(fc.array(end, { maxLength: 6 }), { maxLength: 6 }), (batches) => {
        const all = batches.flat().map(({ person, refusal }, at) => ({ id: at + 1, person, refusal }));
        // In other words: the stretches of equal refusals. One with three people is of the lane, from its first mail to its last.
        const expected = new Set<number>();
        let stretch: typeof all = [];
        for (const one of all) {
          if (one.refusal === null || one.refusal !== stretch[0]?.refusal) stretch = [];
          if (one.refusal === null) continue;
          stretch.push(one);
          if (new Set(stretch.map(({ person }) => person)).size >= 3) for (const { id } of stretch) expected.add(id);
        }
        let row: RefusedRow | null = null;
        const retried: number[] = [];
        let next = 0;
        for (const batch of batches) {
          const ends = batch.map(({ person: personId, refusal }) => {
            next++;
            return { mail: { id: next, notificationId: next, personId }, refusal };
          });
          const followed = follow(row, ends);
          row = followed.row;
          retried.push(...followed.retried.map(({ id }) => id));
        }
        expect(retried.toSorted((a, b) => a - b)).toEqual([...expected].toSorted((a, b) => a - b));
      }),
    );
  });
});

describe.each(KINDS)('a brand whose server refuses (%s)', (kind) => {
  let storage: TestStorage;
  let usher: RunningUsher;
  let smtp: SmtpSink;
  let type: { app: number; type: number };
  let brandId: number;
  let count = 0;

  const start = async () => {
    usher = await startUsher(storage, {});
  };
  /** Pauses are a process's own: they end with it. */
  const restart = async () => {
    await usher.close();
    await start();
  };
  beforeAll(async () => {
    [storage, smtp] = await Promise.all([createStorage(kind), startSmtp()]);
    await start();
    type = await insertType(usher.app.database, 'billing');
  }, 60_000);
  beforeEach(async () => {
    const { result } = await usher.app.database.change(async (tx) => ({
      result: await tx.kysely
        .insertInto('brand')
        .values({ slug: `brand${++count}`, name: 'B', smtpHost: '127.0.0.1', smtpPort: smtp.port })
        .returning('id')
        .executeTakeFirstOrThrow(),
      scopes: [],
    }));
    brandId = result.id;
    smtp.refusals.length = 0;
  });
  afterEach(() => {
    smtp.fault = null;
  });
  afterAll(async () => {
    await usher?.close();
    await Promise.all([smtp?.close(), storage?.remove()]);
  }, 60_000);

  const people = (names: readonly string[]) => names.map((name) => `${name}${count}@example.com`);
  const sendTo = async (to: readonly string[]) => {
    const ids = await accept(
      usher.app.database,
      type,
      to.map((one) => ({ to: one, email: { brandId } })),
    );
    usher.app.bell.ring();
    return ids;
  };
  const states = (ids: readonly number[]) => Promise.all(ids.map((id) => stateOf(usher.app.database, id)));
  const ends = (ids: readonly number[], are: (all: NotificationState[]) => boolean) => until(() => states(ids), are);
  const waits = (error: string) => (all: NotificationState[]) =>
    all.every(({ status, deliveries: [mail] }) => status === 'queued' && mail?.error === error);
  const arrived = (to: readonly string[]) => to.map((one) => smtp.mails.filter((mail) => mail.to.includes(one)).length);
  /** The trouble is over. */
  const recover = async (ids: readonly number[]) => {
    smtp.fault = null;
    await restart();
    await hurry(usher.app.database);
    usher.app.bell.ring();
    return await ends(ids, (all) => all.every(settled));
  };

  test.each<[string, SmtpFault, string]>([
    ['MAIL FROM', { at: 'mail', code: 550, words: '5.4.5 daily sending limit' }, 'smtp_account'],
    ['MAIL FROM without an enhanced code', { at: 'mail', code: 554, words: 'no' }, 'smtp_account'],
    ['MAIL FROM for a while', { at: 'mail', code: 452, words: '4.3.1 later' }, 'smtp_account'],
    ['the connection', { at: 'greeting', code: 554 }, 'smtp_account'],
    ['a recipient, for the sender’s sake', { at: 'rcpt', code: 550, words: '5.7.515 not admitted' }, 'smtp_account'],
    ['the data, for the sender’s sake', { at: 'data', code: 550, words: '5.7.26 unauthenticated' }, 'smtp_account'],
  ])('%s is refused: the mail waits, the brand pauses, and everything arrives once', async (_, fault, error) => {
    smtp.fault = fault;
    const before = smtp.connections;
    const [first = ''] = people(['first']);
    const [id = 0] = await sendTo([first]);
    const [state] = await ends([id], waits(error));
    expect(state?.deliveries).toMatchObject([{ attempts: 1, status: 'queued' }]);
    // Others of the brand are not even tried.
    const asked = smtp.connections;
    expect(asked).toBeGreaterThan(before);
    const others = people(['second', 'third']);
    const ids = [id, ...(await sendTo(others))];
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(smtp.connections).toBe(asked);
    const all = await recover(ids);
    expect(all.map(({ status }) => status)).toEqual(['sent', 'sent', 'sent']);
    expect(arrived([first, ...others])).toEqual([1, 1, 1]);
  });

  test('three recipients in a row with the same words pause the brand, and their mails are tried again', async () => {
    smtp.fault = { at: 'rcpt', code: 550, words: (to) => `5.7.1 <${to}>: sending is suspended` };
    const to = people(['a', 'b', 'c']);
    const ids: number[] = [];
    for (const [at, one] of to.entries()) {
      const [id = 0] = await sendTo([one]);
      ids.push(id);
      if (at < 2) expect((await ends([id], (all) => all.every(settled)))[0]).toMatchObject({ reason: 'smtp_rejected' });
    }
    await ends(ids, waits('smtp_account'));
    const later = people(['d']);
    ids.push(...(await sendTo(later)));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(smtp.refusals).toEqual(to);
    expect((await recover(ids)).map(({ status }) => status)).toEqual(['sent', 'sent', 'sent', 'sent']);
    expect(arrived([...to, ...later])).toEqual([1, 1, 1, 1]);
  });

  test('the same words go on to pause the brand until a mail arrives, for eight attempts each', async () => {
    smtp.fault = { at: 'data', code: 554, words: '5.7.1 suspended' };
    const to = people(['a', 'b', 'c']);
    const ids = await sendTo(to);
    await ends(ids, waits('smtp_account'));
    for (let attempt = 2; attempt <= MAX_ATTEMPTS; attempt++) {
      await restart();
      await hurry(usher.app.database);
      usher.app.bell.ring();
      // A pause stops the others of the lane, which then wait for the next round.
      await ends(ids, (all) => all.some(({ deliveries: [mail] }) => (mail?.attempts ?? 0) >= attempt));
    }
    await ends(ids, (all) => all.some(settled));
    const all = await recover(ids);
    for (const [at, { status, deliveries }] of all.entries()) {
      const failed = deliveries[0]?.attempts === MAX_ATTEMPTS && status === 'failed';
      expect(arrived(to)[at]).toBe(failed ? 0 : 1);
    }
    expect(all.some(({ status, reason }) => status === 'failed' && reason === 'smtp_account')).toBe(true);
  });

  test.each<[string, (to: string) => string | null]>([
    ['different words', (to) => `5.1.1 unknown ${to.slice(0, 1)}`],
    ['one that arrives between', (to) => (to.startsWith('c') ? null : '5.1.1 unknown user')],
  ])('%s make no row: the refusals are the recipients’', async (_, words) => {
    smtp.fault = { at: 'rcpt', code: 550, words };
    const ids: number[] = [];
    for (const to of people(['a', 'b', 'c', 'd', 'e'])) {
      const [id = 0] = await sendTo([to]);
      ids.push(id);
      await ends([id], (all) => all.every(settled));
    }
    for (const { status, reason } of await states(ids))
      expect([status, reason]).toEqual(status === 'sent' ? ['sent', null] : ['failed', 'smtp_rejected']);
  });

  test('one recipient with many refused mails makes no row', async () => {
    smtp.fault = { at: 'rcpt', code: 550, words: '5.1.1 unknown user' };
    const [to = ''] = people(['a']);
    const ids = await sendTo([to, to, to, to]);
    for (const { reason } of await ends(ids, (all) => all.every(settled))) expect(reason).toBe('smtp_rejected');
  });

  const POINTS: readonly (readonly [NonNullable<DeliveryOrders['dieAt']>, number])[] = [
    ['sent', 2],
    ['settle:before-log', 1],
    ['settled', 0],
    ['settled', 1],
    ['settled', 2],
  ];
  // An embedded database takes long to open.
  test.each(kind === 'pglite' ? POINTS.slice(3, 4) : POINTS)(
    'a worker killed at %s (%i) forgets no mail of a row, and sends none twice',
    async (dieAt, spare) => {
      const app = `kill${++count}`;
      const to = ['a', 'b', 'c', 'd'].map((name) => `${name}-${app}@example.com`);
      const env = {
        HTTP_PORT: '0',
        GRPC_PORT: '0',
        DATA_DIR: storage.dataDir,
        ...databaseEnv(storage.url),
        USHER_SECRET_KEY: 'a secret key of this installation',
      };
      await usher.close();
      smtp.fault = { at: 'rcpt', code: 550, words: (who) => `5.7.1 ${who} suspended` };
      const orders: DeliveryOrders = { env, smtpPort: smtp.port, app, people: [], mailsTo: to, dieAt, spare };
      const killed = spawnScript('delivery-process.ts', orders);
      expect(await killed.ended).toBe('SIGKILL');
      await start();
      const { database } = usher.app;
      const ids = await database.read(async (tx) =>
        (
          await tx.kysely
            .selectFrom('notification as n')
            .innerJoin('person as p', 'p.id', 'n.personId')
            .select('n.id')
            .where('p.email', 'in', to)
            .orderBy('n.id')
            .execute()
        ).map(({ id }) => id),
      );
      expect(ids).toHaveLength(to.length);
      await until(
        async () => {
          await database.change(async (tx) => {
            await tx.kysely
              .updateTable('delivery')
              .set({ dueAt: new Date() })
              .where('status', '=', 'sending')
              .execute();
            return { result: null, scopes: [] };
          });
          return await states(ids);
        },
        (all) => all.some(({ deliveries: [mail] }) => mail?.error === 'smtp_account'),
        60_000,
      );
      expect((await recover(ids)).map(({ status }) => status)).toEqual(['sent', 'sent', 'sent', 'sent']);
      expect(arrived(to)).toEqual([1, 1, 1, 1]);
    },
    120_000,
  );
});
