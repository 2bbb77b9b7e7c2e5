import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createMigratingDatabase, type MigratingDatabase } from './migrating.ts';

let database: MigratingDatabase;

/** A database of the version before, with profiles. */
beforeEach(async () => {
  database = await createMigratingDatabase();
  await database.client.query(`
    drop table person_account, token_organization;
    drop function account_of_profile, profile_of_account cascade;
    delete from mikro_orm_migrations where name in ('0018-accounts', '0019-token-organizations');
    insert into person (id, email) overriding system value
      values (1, 'ann@example.com'), (2, 'ben@example.com'), (3, 'cyd@example.com');
    insert into profile (person_id, issuer, subject, updated_at)
      values (1, 'https://idp.example.com', 'a1', '2026-01-02Z'), (2, null, null, now()), (3, 'https://idp.example.com', 'a1', '2026-01-03Z')`);
}, 60_000);

afterEach(async () => {
  await database.remove();
});

test('accounts of profiles go on signing their people in, and may rule as they did', async () => {
  await database.migrate();
  const { rows } = await database.client.query(
    'select person_id::int as person, issuer, user_id, signs_in, may_rule, organization from person_account order by person_id',
  );
  const kept = { issuer: 'https://idp.example.com', user_id: 'a1', signs_in: true, may_rule: true, organization: null };
  expect(rows).toEqual([
    { person: 1, ...kept },
    { person: 3, ...kept },
  ]);
});
