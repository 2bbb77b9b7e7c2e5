import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { Rest, type RestAnswer } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { alter, asToken, prepareBrands, rowsOf } from './people.ts';

const LONG = process.env.USHER_LONG === '1';
const PEOPLE = LONG ? 10_000 : 400;
const AT_ONCE = LONG ? 500 : 200;
const MANIFEST = 'application: { code: billing, name: Billing }';

/**
 * Asks again after 503, as callers are told to: on a busy machine a few of a crowd wait for a connection for longer than a request
 * may. Such a request has changed nothing, but for OUTCOME_UNKNOWN, which is not repeated: what is counted afterwards stays exact.
 */
async function answered(ask: () => Promise<RestAnswer>): Promise<RestAnswer> {
  for (let times = 1; ; times++) {
    const answer = await ask();
    if (answer.status !== 503 || answer.body.details?.code === 'OUTCOME_UNKNOWN' || times === 10) return answer;
    await pause(1000);
  }
}

/** The system's clock, of which the monotonic hand can be moved on. */
function movableClock(): Clock & { move(ms: number): void } {
  let moved = 0;
  return {
    ...systemClock,
    monotonic: () => systemClock.monotonic() + moved,
    move: (ms) => {
      moved += ms;
    },
  };
}

describe('everybody signing in at once', () => {
  let storage: TestStorage;
  let usher: RunningUsher;

  beforeAll(async () => {
    storage = await createStorage('postgresql');
    usher = await startUsher(storage);
    await prepareBrands(usher.app.database);
    await usher.app.manifests.apply(MANIFEST, { actor: 'cli' });
  });
  afterAll(async () => {
    await usher?.close();
    await storage?.remove();
  });

  test(`${PEOPLE} first requests, ${AT_ONCE} at a time, cause no duplicate and no error`, async () => {
    const ids = new Set<number>();
    const statuses = new Map<number, number>();
    const problems = new Set<string>();
    let next = 0;
    const come = async (): Promise<void> => {
      for (let index = next++; index < PEOPLE; index = next++) {
        const rest = await asToken(usher, `p${index}@example.com`, { name: `Person ${index}` });
        const { status, body } = await answered(() => rest.get('/api/profile/me'));
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        // Nobody is ever handed what others asked at the same moment.
        const { email, displayName } = body.data ?? {};
        if (email === `p${index}@example.com` && displayName === `Person ${index}`) ids.add(body.data.id);
        else problems.add(body.message ?? `p${index} was shown ${body.data.email}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, come));
    expect([[...statuses], [...problems]]).toEqual([[[200, PEOPLE]], []]);
    expect(ids.size).toBe(PEOPLE);
  });

  test('everybody can log in at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: AT_ONCE }, async (_, index) => {
        const rest = await asToken(usher, `p${index}@example.com`);
        return await answered(() => rest.get('/api/profile/me/apps/billing'));
      }),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const [counted] = await rowsOf(
      usher.app.database,
      sql<{
        logins: number;
        people: number;
      }>`select sum(login_count)::int as logins, count(*)::int as people from app_preference`,
    );
    expect(counted).toEqual({ logins: AT_ONCE, people: AT_ONCE });
  });
});

describe('activity across instances', () => {
  let storage: TestStorage;
  let clock: ReturnType<typeof movableClock>;
  let instances: RunningUsher[];

  beforeAll(async () => {
    storage = await createStorage('postgresql');
    clock = movableClock();
    instances = [await startUsher(storage, { parts: { clock } }), await startUsher(storage, { parts: { clock } })];
    await prepareBrands(first().app.database);
    await first().app.manifests.apply(MANIFEST, { actor: 'cli' });
  });
  afterAll(async () => {
    for (const instance of instances ?? []) await instance.close();
    await storage?.remove();
  });

  function first(): RunningUsher {
    const [instance] = instances;
    if (instance === undefined) throw new Error('no instance');
    return instance;
  }

  test('people new to both instances at once, in different orders, are created once', async () => {
    const people = Array.from({ length: 60 }, (_, index) => `both${index}@example.com`);
    const come = async (instance: RunningUsher, emails: readonly string[]) =>
      await Promise.all(
        emails.map(async (email) => {
          const rest = await Rest.as(instance, email);
          return await answered(() => rest.get('/api/profile/me'));
        }),
      );
    const [one, other] = instances as [RunningUsher, RunningUsher];
    const answers = (await Promise.all([come(one, people), come(other, people.toReversed())])).flat();
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const ids = new Map(people.map((email) => [email, new Set<number>()]));
    for (const { body } of answers) ids.get(body.data.email)?.add(body.data.id);
    expect([...ids.values()].map(({ size }) => size)).toEqual(people.map(() => 1));
  });

  test('activity takes one write in five minutes, and none in between', async () => {
    const rests = await Promise.all(instances.map((instance) => Rest.as(instance, 'ada@example.com')));
    const tell = async (): Promise<number> => {
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, index) =>
          (rests[index % rests.length] as Rest).post('/api/profile/me/apps/billing/activity'),
        ),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      return answers.filter(({ body }) => body.data.recorded).length;
    };
    const age = (seconds: number) =>
      alter(
        first().app.database,
        sql`update app_preference set last_activity_at = last_activity_at - make_interval(secs => ${seconds})`,
      );
    expect(await tell()).toBe(1);
    // Inside the five minutes the database is not even asked: what it would say now is not noticed.
    await age(300);
    expect(await tell()).toBe(0);
    clock.move(300_000);
    expect(await tell()).toBe(1);
    await age(290);
    clock.move(300_000);
    expect(await tell()).toBe(0);
    // What is left of the five minutes was learnt from the row.
    await age(10);
    clock.move(10_000);
    expect(await tell()).toBe(1);
  });

  test('concurrent activity of many people on both instances takes one write each, whatever their account', async () => {
    const people = Array.from({ length: 80 }, (_, index) => `many${index}@example.com`);
    const tell = async (instance: RunningUsher, email: string, sub: string) => {
      const rest = await asToken(instance, email, { sub });
      const { status, body } = await answered(() => rest.post('/api/profile/me/apps/billing/activity'));
      return [email, status, body.data.recorded] as const;
    };
    const come = (subs: readonly string[]) =>
      Promise.all(instances.flatMap((one) => people.flatMap((email) => subs.map((sub) => tell(one, email, sub)))));
    const told = [...(await come(['first'])), ...(await come(['first', 'second']))];
    expect(told.filter(([, status]) => status !== 200)).toEqual([]);
    const recorded = told.filter(([, , is]) => is).map(([email]) => email);
    expect(recorded.toSorted()).toEqual(people.toSorted());
    const [counted] = await rowsOf(
      first().app.database,
      sql<{ rows: number; changed: number }>`select
        (select count(*)::int from app_preference f join person p on p.id = f.person_id where p.email like 'many%') as rows,
        (select count(distinct subject)::int from audit where action = 'user.subject_changed' and subject like 'many%') as changed`,
    );
    expect(counted).toEqual({ rows: people.length, changed: people.length });
  });

  test('activity in a deleted application is unknown, and starts again when the application is created again', async () => {
    const bob = await Rest.as(first(), 'bob@example.com');
    const path = '/api/profile/me/apps/billing/activity';
    expect((await bob.post(path)).body.data).toEqual({ recorded: true });
    expect((await bob.post(path)).body.data).toEqual({ recorded: false });
    await first().app.database.change(async (tx) => {
      await sql`delete from application where code = 'billing'`.execute(tx.kysely);
      return { result: null, scopes: ['a:billing'] };
    });
    expect((await bob.post(path)).status).toBe(404);
    await first().app.manifests.apply(MANIFEST, { actor: 'cli' });
    expect((await bob.post(path)).body.data).toEqual({ recorded: true });
  });
});
