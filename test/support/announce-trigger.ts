import { sql } from 'kysely';
import pg from 'pg';
import type { Database } from '../../src/persistence/database.ts';

/** Tables of which every row decides permissions, so that every commit that touches one must be in the change log. */
const POLICY_TABLES = [
  'superadmin',
  'application',
  'permission',
  'role',
  'role_permission',
  'user_role',
  'app_admin',
  'resource_override',
];

const STATEMENTS = [
  // Deferred to COMMIT. The transaction's own log row is the newest one, since it holds the lock of the numbering.
  `create function test_announced() returns trigger language plpgsql as $$
    begin
      if (select xmin from policy_change order by revision desc limit 1) is distinct from pg_current_xact_id()::xid then
        raise exception 'a commit touched % and announced nothing', tg_table_name using errcode = 'integrity_constraint_violation';
      end if;
      return null;
    end $$`,
  ...POLICY_TABLES.flatMap((table) => [
    `create constraint trigger test_announced_rows after insert or delete on ${table}
      deferrable initially deferred for each row execute function test_announced()`,
    `create constraint trigger test_announced_updates after update on ${table}
      deferrable initially deferred for each row when (old.* is distinct from new.*) execute function test_announced()`,
  ]),
  // Questions know an entity by its code alone.
  `create constraint trigger test_announced_rows after insert or delete on entity
    deferrable initially deferred for each row execute function test_announced()`,
  `create constraint trigger test_announced_updates after update on entity deferrable initially deferred
    for each row when (old.code is distinct from new.code) execute function test_announced()`,
  // Of a person only the flags count; an address that is merely mentioned decides nothing.
  `create constraint trigger test_announced_rows after insert on person deferrable initially deferred
    for each row when (new.blocked or not new.provider_active) execute function test_announced()`,
  `create constraint trigger test_announced_updates after update on person deferrable initially deferred
    for each row when (old.blocked is distinct from new.blocked or old.provider_active is distinct from new.provider_active
      or old.email is distinct from new.email) execute function test_announced()`,
  `create constraint trigger test_announced_deletes after delete on person deferrable initially deferred
    for each row execute function test_announced()`,
];

/**
 * Makes a commit fail that touched policy without a row in `policy_change`. In every database that tests are given.
 * `target` is the URL of a PostgreSQL, or an open database.
 */
export async function installAnnounceTrigger(target: string | Database): Promise<void> {
  if (typeof target !== 'string') {
    await target.change(async (tx) => {
      for (const statement of STATEMENTS) await sql.raw(statement).execute(tx.kysely);
      return { result: undefined, scopes: [] };
    });
    return;
  }
  const client = new pg.Client({ connectionString: target });
  await client.connect();
  try {
    for (const statement of STATEMENTS) await client.query(statement);
  } finally {
    await client.end();
  }
}
