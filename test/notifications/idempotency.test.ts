import { describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { KINDS } from '../support/databases.ts';
import { useRegistry } from '../support/registry.ts';
import { inboxOf, writeBeside } from './reading.ts';
import { MANIFEST, OTHER, sendBySystem } from './support.ts';

const LOG = '/api/applications/billing/notifications';

describe.each(KINDS)('sends with an idempotencyKey (%s)', (kind) => {
  const registry = useRegistry(kind, [MANIFEST, OTHER], { USHER_ROLES: 'gateway,rpc' });
  const send = (body: Record<string, unknown>) => sendBySystem(registry.usher, { appCode: 'billing', ...body });
  const write = (statement: Parameters<typeof writeBeside>[1]) => writeBeside(registry.usher, statement);

  test('one idempotencyKey sends once, also concurrently and with another body', async () => {
    const body = {
      recipients: ['idem@example.com'],
      subject: 'Once',
      payload: { b: 1, a: 2 },
      idempotencyKey: 'k-1',
    };
    const answers = await Promise.all([1, 2, 3, 4].map(() => send(body)));
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
    expect(new Set(answers.map(({ body: answer }) => JSON.stringify(answer))).size).toBe(1);
    const again = await send({ ...body, recipients: ['IDEM@example.com'], payload: { a: 2, b: 1 } });
    expect(again.body).toEqual(answers[0]?.body);
    expect(await inboxOf(registry.as('idem'))).toHaveLength(1);
    const other = await send({ ...body, subject: 'Twice' });
    expect([other.status, other.body.details.code]).toEqual([409, 'IDEMPOTENCY_KEY_REUSED']);
    const elsewhere = await sendBySystem(registry.usher, { ...body, appCode: 'shop', subject: 'Twice' });
    expect(elsewhere.status).toBe(202);
    // The 24 hours are counted by the database: the row is moved into the past instead of its clock into the future.
    const age = (seconds: number) =>
      write((tx) =>
        sql`update send_request set created_at = now() - ${seconds}::int * interval '1 second'`.execute(tx.kysely),
      );
    await age(24 * 3600 - 30);
    expect((await send({ ...body, subject: 'Twice' })).status).toBe(409);
    expect((await send(body)).body).toEqual(answers[0]?.body);
    await age(24 * 3600);
    expect((await send({ ...body, subject: 'Twice' })).status).toBe(202);
    expect(await inboxOf(registry.as('idem'))).toHaveLength(3);
  });

  test('idempotency keys of backends and administrators are separate', async () => {
    const body = { recipients: ['kinds@example.com'], subject: 'By an administrator', idempotencyKey: 'order-17' };
    const byAdmins = await Promise.all([1, 2, 3].map(() => registry.as('nora').post(LOG, body)));
    expect(byAdmins.map(({ status }) => status)).toEqual([202, 202, 202]);
    const byKey = await send({ ...body, subject: 'By a backend' });
    expect(byKey.status).toBe(202);
    const ids = [...byAdmins, byKey].map((answer) => answer.body.data.notifications[0].id);
    expect(new Set(ids).size).toBe(2);
    expect((await registry.as('nora').post(LOG, body)).body).toEqual(byAdmins[0]?.body);
    expect((await send({ ...body, subject: 'By a backend' })).body).toEqual(byKey.body);
    expect((await registry.as('nora').post(LOG, { ...body, subject: 'By a backend' })).body.details.code).toBe(
      'IDEMPOTENCY_KEY_REUSED',
    );
    expect((await send(body)).body.details.code).toBe('IDEMPOTENCY_KEY_REUSED');
    expect(await inboxOf(registry.as('kinds'))).toHaveLength(2);
    await write((tx) =>
      sql`update administrator_send_request set created_at = now() - interval '24 hours'`.execute(tx.kysely),
    );
    expect((await registry.as('nora').post(LOG, { ...body, subject: 'A day later' })).status).toBe(202);
  });
});
