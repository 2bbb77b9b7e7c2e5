import { beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { personId } from '../support/rows.ts';
import { ADA, type Door, refusal, subject, useListDoors, WHAT, WHO } from './list-doors.ts';

describe('cursors of lists', () => {
  const world = useListDoors();
  const question = { ...WHAT, limit: 1 };
  let door: Required<Door>;
  beforeAll(() => {
    door = world.doors[0] as Required<Door>;
  });

  test('a cursor works only with its own question', async () => {
    const who = (await door.subjects({ ...WHO, limit: 1 })).next;
    const what = (await door.resources(question)).next;
    const wrong = [
      () => door.subjects({ ...WHO, permission: 'pay', cursor: who }),
      () => door.subjects({ ...WHO, app: 'strict', cursor: who }),
      () => door.subjects({ ...WHO, accessLevel: 'edit', cursor: who }),
      () => door.subjects({ ...WHO, resourceType: 'page', resourceId: '1', cursor: who }),
      () => door.subjects({ ...WHO, cursor: what }),
      () => door.resources({ ...WHAT, cursor: who }),
      () => door.resources({ ...WHAT, email: 'ben@example.com', cursor: what }),
      () => door.resources({ ...WHAT, app: 'strict', cursor: what }),
      () => door.resources({ ...WHAT, permission: 'settings', cursor: what }),
      () => door.resources({ ...WHAT, resourceType: 'invoice', cursor: what }),
      () => door.resources({ ...WHAT, accessLevel: 'view', cursor: what }),
    ];
    for (const ask of wrong) {
      expect(await refusal(ask())).toMatchObject({ reason: 'VALIDATION_FAILED', path: 'page_token' });
    }
    // The number on a page, and the spelling of the address, are no part of the question.
    expect((await door.resources({ ...WHAT, email: ADA.toUpperCase(), limit: 5, cursor: what })).said).toMatchObject({
      scope: 'all',
    });
  });

  test('a cursor with a changed character, or a cut one, is refused', async () => {
    for (const ask of [door.subjects, door.resources]) {
      const what = ask === door.subjects ? WHO : WHAT;
      const { next } = await ask({ ...what, limit: 1 });
      const damaged = [next.slice(0, -1), `${next}A`, ` ${next}`, `${next}=`];
      for (let at = 0; at < next.length; at += 7) {
        damaged.push(`${next.slice(0, at)}${next[at] === 'A' ? 'B' : 'A'}${next.slice(at + 1)}`);
      }
      for (const cursor of damaged) {
        expect(await refusal(ask({ ...what, cursor }))).toMatchObject({ reason: 'VALIDATION_FAILED' });
      }
    }
  });

  test('a cursor does not reveal its content', async () => {
    const { next } = await door.resources(question);
    expect(Buffer.from(next, 'base64url').toString('latin1')).not.toMatch(/shop|ada@|page|example/);
    expect((await door.resources(question)).next).not.toBe(next);
  });

  test.each([
    [
      'an override of the person',
      ADA,
      `update resource_override set level = 0 where resource_id = '7'`,
      `m:shop:${ADA}`,
    ],
    ['what the person is', ADA, 'select 1', `u:${ADA}`],
    ['the policy of the application', ADA, 'select 1', 'p:shop'],
    ['the application', ADA, 'select 1', 'a:shop'],
  ] as const)(
    'a cursor of resources is LIST_CHANGED on every transport after a change of %s',
    async (_, __, work, scope) => {
      const { next: cursor } = await door.resources(question);
      await world.usher.app.database.change(async (tx) => {
        await sql.raw(work).execute(tx.kysely);
        return { result: null, scopes: [scope] };
      });
      for (const one of world.doors) {
        const refused = await refusal(one.resources({ ...question, cursor }));
        // ABORTED, and 409.
        expect([refused.reason, refused.status]).toEqual(['LIST_CHANGED', one.name.startsWith('REST') ? 409 : 10]);
      }
    },
  );

  test('a cursor of resources is LIST_CHANGED once a grant has begun or ended, though the log has not moved', async () => {
    const at = async (work: string): Promise<void> => {
      await world.usher.app.database.change(async (tx) => {
        await sql.raw(work).execute(tx.kysely);
        return { result: null, scopes: [`m:shop:${ADA}`] };
      });
    };
    const ada = `person_id = (select id from person where email = '${ADA}')`;
    const override = `update resource_override set %s where ${ada} and resource_id = (
      select max(resource_id) from resource_override where ${ada})`;
    for (const set of [
      `ends_at = now() + interval '1 second'`,
      `starts_at = now() + interval '1 second', ends_at = null`,
    ]) {
      await at(override.replace('%s', set));
      const { next: cursor, revision } = await door.resources(question);
      expect((await door.resources({ ...question, cursor })).revision).toBe(revision);
      await new Promise((resolve) => setTimeout(resolve, 1000));
      for (const one of world.doors) {
        expect((await refusal(one.resources({ ...question, cursor }))).reason).toBe('LIST_CHANGED');
      }
    }
    await at(override.replace('%s', 'starts_at = null'));
    await door.resources({ ...question, cursor: (await door.resources(question)).next });
  });

  test('people whose grant has ended, or has not begun, are in no list', async () => {
    const listed = async () => {
      const { said } = await door.subjects(WHO);
      return (said as { subjects: { email: string }[] }).subjects.map(({ email }) => email);
    };
    const holds = (window: string) =>
      world.change(
        'passing@example.com',
        `insert into user_role (person_id, application_id, role_id, starts_at, ends_at)
          select p.id, r.application_id, r.id, ${window} from person p, role r
          where p.email = 'passing@example.com' and r.code = 'reader'
          on conflict (person_id, application_id, role_id) do update set starts_at = excluded.starts_at, ends_at = excluded.ends_at`,
      );
    await world.usher.app.database.change(async (tx) => {
      await personId(tx, 'passing@example.com');
      return { result: null, scopes: [] };
    });
    await holds(`null::timestamptz, now() + interval '1 hour'`);
    expect(await listed()).toContain('passing@example.com');
    await holds(`now() + interval '1 hour', null::timestamptz`);
    expect(await listed()).not.toContain('passing@example.com');
    await holds(`now() - interval '1 hour', now() - interval '1 millisecond'`);
    expect(await listed()).not.toContain('passing@example.com');
  });

  test('a cursor of resources survives changes to other people and applications', async () => {
    let { next: cursor } = await door.resources(question);
    const others = ['m:shop:ben@example.com', 'u:ben@example.com', `m:strict:${ADA}`, 'p:strict', 'a:strict'] as const;
    for (const scope of others) {
      await world.usher.app.database.change(() => Promise.resolve({ result: null, scopes: [scope] }));
      cursor = (await door.resources({ ...question, cursor })).next;
    }
    expect(cursor).not.toBe('');
  });

  test('a cursor of people survives any change', async () => {
    await world.usher.app.database.change(async (tx) => {
      await personId(tx, 'late@example.com');
      return { result: null, scopes: [] };
    });
    const { next: cursor } = await door.subjects({ ...WHO, limit: 1 });
    await world.change(
      'late@example.com',
      `insert into user_role (person_id, application_id, role_id)
      select p.id, r.application_id, r.id from person p, role r where p.email = 'late@example.com' and r.code = 'reader'`,
    );
    const { said } = await door.subjects({ ...WHO, cursor });
    expect((said as { subjects: unknown[] }).subjects).toContainEqual(subject('late@example.com', 'view', 'role'));
  });

  test('a cursor from before a restore is refused', async () => {
    const who = (await door.subjects({ ...WHO, limit: 1 })).next;
    const what = (await door.resources(question)).next;
    const refused = async () => {
      const asking = [() => door.subjects({ ...WHO, cursor: who }), () => door.resources({ ...WHAT, cursor: what })];
      for (const ask of asking)
        expect(await refusal(ask())).toMatchObject({ reason: 'VALIDATION_FAILED', path: 'page_token' });
    };
    // Another history under the same numbers.
    await world.usher.app.database.change(async (tx) => {
      await sql`update policy_change set nonce = 'other' where revision = (select max(revision) from policy_change)`.execute(
        tx.kysely,
      );
      return { result: null, scopes: [] };
    });
    await refused();
    // Fewer revisions than the cursor knows.
    await world.usher.app.database.change(async (tx) => {
      await sql`delete from policy_change where revision = (select max(revision) from policy_change)`.execute(
        tx.kysely,
      );
      return { result: null, scopes: [] };
    });
    await refused();
  });
});
