/** Writes the data set straight into PostgreSQL, past the service: unnest in batches, one transaction, one line in the change log. */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { BenchApplication, Dataset } from './dataset.ts';

const BATCH = 10_000;

type Column = readonly (string | number | boolean | null)[];

/** `insert into TABLE(columns) select … from unnest(…)`, column by column, with `types` as the array types. */
async function insert(client: pg.Client, table: string, columns: Record<string, [type: string, values: Column]>) {
  const names = Object.keys(columns);
  const types = Object.values(columns).map(([type]) => type);
  const values = Object.values(columns).map(([, column]) => column);
  const unnest = types.map((type, i) => `$${i + 1}::${type}[]`).join(', ');
  for (let from = 0; from < (values[0]?.length ?? 0); from += BATCH) {
    await client.query(
      `insert into ${table} (${names.join(', ')}) select * from unnest(${unnest})`,
      values.map((column) => column.slice(from, from + BATCH)),
    );
  }
}

async function ids(client: pg.Client, sql: string, parameters: unknown[] = []): Promise<Map<string, number>> {
  const { rows } = await client.query<{ key: string; id: string }>(sql, parameters);
  return new Map(rows.map((row) => [row.key, Number(row.id)]));
}

function known<T>(map: ReadonlyMap<string, T>, key: string): T {
  const value = map.get(key);
  if (value === undefined) throw new Error(`${key} is not in the database`);
  return value;
}

async function insertApplication(client: pg.Client, app: BenchApplication, persons: ReadonlyMap<string, number>) {
  const { rows } = await client.query<{ id: string }>(
    'insert into application (code, name) values ($1, $2) returning id',
    [app.code, app.name],
  );
  const appId = Number(rows[0]?.id);
  const same = (values: readonly unknown[]): number[] => values.map(() => appId);
  await insert(client, 'entity', {
    application_id: ['bigint', same(app.entities)],
    code: ['text', app.entities],
    name: ['text', app.entities],
  });
  await insert(client, 'permission', {
    application_id: ['bigint', same(app.permissions)],
    code: ['text', app.permissions.map((p) => p.code)],
    tiered: ['boolean', app.permissions.map((p) => p.tiered)],
    group_name: ['text', app.permissions.map((p) => p.groupName)],
    global: ['boolean', app.permissions.map((p) => p.global)],
  });
  await insert(client, 'role', {
    application_id: ['bigint', same(app.roles)],
    code: ['text', app.roles.map((r) => r.code)],
  });
  const permissionIds = await ids(client, 'select code as key, id from permission where application_id = $1', [appId]);
  const roleIds = await ids(client, 'select code as key, id from role where application_id = $1', [appId]);
  const tiered = new Map(app.permissions.map((p) => [p.code, p.tiered]));

  const granted = app.roles.flatMap((role) =>
    [...role.levels].map(([code, level]) => ({ role: role.code, code, level })),
  );
  await insert(client, 'role_permission', {
    application_id: ['bigint', same(granted)],
    role_id: ['bigint', granted.map((g) => known(roleIds, g.role))],
    permission_id: ['bigint', granted.map((g) => known(permissionIds, g.code))],
    tiered: ['boolean', granted.map((g) => known(tiered, g.code))],
    level: ['smallint', granted.map((g) => g.level)],
  });
  const assigned = [...app.assignments].flatMap(([email, roles]) => roles.map((role) => ({ email, role })));
  await insert(client, 'user_role', {
    person_id: ['bigint', assigned.map((a) => known(persons, a.email))],
    application_id: ['bigint', same(assigned)],
    role_id: ['bigint', assigned.map((a) => known(roleIds, a.role))],
  });
  const admins = [...app.admins];
  await insert(client, 'app_admin', {
    person_id: ['bigint', admins.map((email) => known(persons, email))],
    application_id: ['bigint', same(admins)],
  });
  await insert(client, 'resource_override', {
    person_id: ['bigint', app.overrides.map((o) => known(persons, o.email))],
    application_id: ['bigint', same(app.overrides)],
    resource_type: ['text', app.overrides.map((o) => o.resourceType)],
    resource_id: ['text', app.overrides.map((o) => o.resourceId)],
    permission_id: ['bigint', app.overrides.map((o) => known(permissionIds, o.permission))],
    tiered: ['boolean', app.overrides.map((o) => known(tiered, o.permission))],
    level: ['smallint', app.overrides.map((o) => o.level)],
  });
}

/** Loads `dataset` into a migrated database that holds none of it yet, and has the planner look at it. */
export async function loadDataset(url: string, dataset: Dataset): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('begin');
    const { users } = dataset;
    const now = new Date().toISOString();
    await insert(client, 'person', {
      email: ['text', users.map((u) => u.email)],
      registered_at: ['timestamptz', users.map((u) => (u.registered ? now : null))],
      provider_active: ['boolean', users.map((u) => u.providerActive)],
      blocked: ['boolean', users.map((u) => u.blocked)],
    });
    const persons = await ids(client, 'select email as key, id from person');
    const supers = users.filter((u) => u.superadmin).map((u) => known(persons, u.email));
    await insert(client, 'superadmin', { person_id: ['bigint', supers] });
    for (const app of dataset.applications.values()) await insertApplication(client, app, persons);
    await client.query(
      `insert into policy_change (revision, nonce, scopes)
       select coalesce(max(revision), 0) + 1, $1, array['*'] from policy_change`,
      [randomBytes(12).toString('hex')],
    );
    await client.query('commit');
    await client.query('vacuum analyze');
  } finally {
    await client.end();
  }
}
