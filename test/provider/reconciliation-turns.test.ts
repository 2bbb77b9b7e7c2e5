import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { systemClock } from '../../src/base/clock.ts';
import { useWorld, WEBHOOK_SECRETS } from './fixture.ts';

/** Milliseconds by which the service's clock for durations is ahead. */
let ahead = 0;
const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + ahead };
const world = useWorld({ parts: { clock } });
const LEASE = 'idp.lock:reconciliation';

async function change<T>(statement: ReturnType<typeof sql<T>>): Promise<readonly T[]> {
  const { result } = await world.usher.app.database.change(async ({ kysely }) => {
    const { rows } = await statement.execute(kysely);
    return { result: rows, scopes: [] };
  });
  return result;
}

test('a comparison that has lost its turn to another ends, and leaves the other its turn', async () => {
  const email = 'gone@people.example.com';
  const body = { eventType: 'user.created', orgId: '1', user: { email, displayName: 'Gone' } };
  await world.nobody.send('POST', '/api/idp/webhook', body, { 'x-webhook-secret': WEBHOOK_SECRETS[0] });
  let lists = 0;
  world.idp.instead = async ({ path, body: asked }) => {
    if (path !== '/v2/users' || asked.query === undefined) return null;
    lists++;
    // So long did the provider take that another worker has begun.
    await change(sql`update setting set value = '"another"', updated_at = now() where key = ${LEASE}`);
    ahead += 20_000;
    return null;
  };
  const { status, body: answer } = await world.root.post('/api/idp/reconcile', { brakePercent: 100 });
  expect([status, answer.message]).toEqual([503, expect.stringContaining('another comparison has begun')]);
  expect(lists).toBe(1);
  const holder = sql<{ value: string }>`select value from setting where key = ${LEASE}`;
  expect(await change(holder)).toEqual([{ value: 'another' }]);
  const person = sql<{ active: boolean }>`select provider_active as active from person where email = ${email}`;
  expect(await change(person)).toEqual([{ active: true }]);
});
