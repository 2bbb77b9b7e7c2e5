import { sql } from 'kysely';
import type { Outcome, Tx } from '../../src/persistence/database.ts';
import { ensurePeople } from '../../src/persistence/people/people.ts';
import type { Operation } from '../oracle/rows.ts';

/**
 * Carries an operation of the oracle's world out in the real tables, and answers what of it was done: beside other writers, a
 * role or permission that it names may be gone. Null when nothing was done. The row locks that it takes make the order of
 * effects the order of revisions, so that a History can replay what every writer answered.
 */
export async function carryOut(tx: Tx, operation: Operation): Promise<Outcome<Operation | null>> {
  switch (operation.kind) {
    case 'user':
    case 'superadmin':
      return await ofPerson(tx, operation);
    case 'app-admin':
    case 'roles-of-user':
    case 'overrides-of-user':
      return await ofMember(tx, operation);
    default:
      return await ofPolicy(tx, operation);
  }
}

const NOTHING: Outcome<null> = { result: null, scopes: [] };

async function ofPerson(
  tx: Tx,
  operation: Extract<Operation, { kind: 'user' | 'superadmin' }>,
): Promise<Outcome<Operation>> {
  const { email } = operation;
  const id = await lockPerson(tx, email);
  if (operation.kind === 'user') {
    await sql`update person set registered_at = coalesce(registered_at, now()), blocked = ${!operation.active}
      where id = ${id}`.execute(tx.kysely);
  } else if (operation.is) {
    await sql`insert into superadmin (person_id) values (${id}) on conflict do nothing`.execute(tx.kysely);
  } else {
    await sql`delete from superadmin where person_id = ${id}`.execute(tx.kysely);
  }
  return { result: operation, scopes: [`u:${email}`] };
}

async function ofMember(
  tx: Tx,
  operation: Extract<Operation, { kind: 'app-admin' | 'roles-of-user' | 'overrides-of-user' }>,
): Promise<Outcome<Operation | null>> {
  const { app, email } = operation;
  const appId = await holdApp(tx, app);
  if (appId === undefined) return NOTHING;
  const person = await lockPerson(tx, email);
  const scopes = [`m:${app}:${email}`] as const;
  if (operation.kind === 'app-admin') {
    const { startsAt, endsAt } = operation.window ?? {};
    await (operation.is
      ? sql`insert into app_admin (person_id, application_id, starts_at, ends_at)
          values (${person}, ${appId}, ${time(startsAt)}, ${time(endsAt)})
          on conflict (person_id, application_id) do update set starts_at = excluded.starts_at, ends_at = excluded.ends_at`
      : sql`delete from app_admin where person_id = ${person} and application_id = ${appId}`
    ).execute(tx.kysely);
    return { result: operation, scopes };
  }
  if (operation.kind === 'roles-of-user') {
    await sql`delete from user_role where person_id = ${person} and application_id = ${appId}`.execute(tx.kysely);
    const { rows } = await sql<{ code: string }>`
      with held as (select r.id, r.code, w.starts_at, w.ends_at
        from unnest(${operation.roles}::text[], ${operation.roles.map((_, index) => operation.windows?.[index]?.startsAt ?? null)}::float8[],
          ${operation.roles.map((_, index) => operation.windows?.[index]?.endsAt ?? null)}::float8[]) as w (code, starts_at, ends_at)
        join role r on r.application_id = ${appId} and r.code = w.code
        order by r.id for key share of r),
      made as (insert into user_role (person_id, application_id, role_id, starts_at, ends_at)
        select ${person}, ${appId}, id, ${instant('starts_at')}, ${instant('ends_at')} from held)
      select code from held`.execute(tx.kysely);
    const roles = rows.map(({ code }) => code);
    const windows = roles.map((role) => operation.windows?.[operation.roles.indexOf(role)] ?? {});
    return { result: { ...operation, roles, windows }, scopes };
  }
  const { resourceType, resourceId, overrides } = operation;
  await sql`delete from resource_override where person_id = ${person} and application_id = ${appId}
    and resource_type = ${resourceType} and resource_id = ${resourceId}`.execute(tx.kysely);
  const levels = overrides.map(({ granted, accessLevel }) => (granted ? LEVELS[accessLevel ?? 'allowed'] : 0));
  const codes = overrides.map(({ permission }) => permission);
  const { rows } = await sql<{ code: string }>`
    with held as (select p.id, p.code, p.tiered, w.level, w.starts_at, w.ends_at
      from unnest(${codes}::text[], ${levels}::smallint[], ${overrides.map(({ startsAt }) => startsAt ?? null)}::float8[],
        ${overrides.map(({ endsAt }) => endsAt ?? null)}::float8[]) as w (code, level, starts_at, ends_at)
      join permission p on p.application_id = ${appId} and p.code = w.code and (w.level = 0 or p.tiered = (w.level > 1))
      order by p.id for key share of p),
    made as (insert into resource_override
        (person_id, application_id, resource_type, resource_id, permission_id, tiered, level, starts_at, ends_at)
      select ${person}, ${appId}, ${resourceType}, ${resourceId}, id, tiered, level, ${instant('starts_at')},
        ${instant('ends_at')} from held)
    select code from held`.execute(tx.kysely);
  const done = new Set(rows.map(({ code }) => code));
  return { result: { ...operation, overrides: overrides.filter(({ permission }) => done.has(permission)) }, scopes };
}

/** Milliseconds since the epoch as a time: exact, which to_timestamp of a fraction is not. */
const instant = (column: string) => sql.raw(`timestamptz 'epoch' + ${column} * interval '1 millisecond'`);
const time = (ms: number | undefined) => sql`timestamptz 'epoch' + ${ms ?? null}::float8 * interval '1 millisecond'`;

type PolicyOperation = Exclude<Operation, { kind: 'user' | 'superadmin' | 'app-admin' | `${string}-of-user` }>;

async function ofPolicy(tx: Tx, operation: PolicyOperation): Promise<Outcome<Operation | null>> {
  const { app } = operation;
  const done = await (operation.kind === 'permissions-of-role' ? replaceHeld(tx, operation) : single(tx, operation));
  return done === null ? NOTHING : { result: done, scopes: [`p:${app}`] };
}

async function replaceHeld(
  tx: Tx,
  operation: Extract<Operation, { kind: 'permissions-of-role' }>,
): Promise<Operation | null> {
  const { app, role, permissions } = operation;
  const appId = await holdApp(tx, app);
  if (appId === undefined) return null;
  const locked = await sql<{ id: number }>`
    select id from role where application_id = ${appId} and code = ${role} for no key update`.execute(tx.kysely);
  const id = locked.rows[0]?.id;
  if (id === undefined) return null;
  await sql`delete from role_permission where application_id = ${appId} and role_id = ${id}`.execute(tx.kysely);
  const { rows } = await sql<{ code: string }>`
    with held as (select p.id, p.code, p.tiered, w.level
      from unnest(${permissions.map((held) => held.permission)}::text[],
        ${permissions.map((held) => LEVELS[held.accessLevel])}::smallint[]) as w (code, level)
      join permission p on p.application_id = ${appId} and p.code = w.code and p.tiered = (w.level > 1)
      order by p.id for key share of p),
    made as (insert into role_permission (application_id, role_id, permission_id, tiered, level)
      select ${appId}, ${id}, id, tiered, level from held)
    select code from held`.execute(tx.kysely);
  const done = new Set(rows.map(({ code }) => code));
  return { ...operation, permissions: permissions.filter(({ permission }) => done.has(permission)) };
}

/** Statements of one row each: done when there was a row. */
async function single(
  tx: Tx,
  operation: Exclude<PolicyOperation, { kind: 'permissions-of-role' }>,
): Promise<Operation | null> {
  const { app, kind } = operation;
  if (kind === 'create-app') {
    const made =
      await sql`insert into application (code, name) values (${app}, ${app}) on conflict do nothing returning id`.execute(
        tx.kysely,
      );
    return made.rows.length === 0 ? null : operation;
  }
  if (kind === 'delete-app') {
    const gone = await sql`delete from application where code = ${app} returning id`.execute(tx.kysely);
    return gone.rows.length === 0 ? null : operation;
  }
  const appId = await holdApp(tx, app);
  if (appId === undefined) return null;
  const statement = {
    'define-permission': () => {
      const { permission, type, global, groupName } = operation as Extract<Operation, { kind: 'define-permission' }>;
      return sql`insert into permission (application_id, code, tiered, global, group_name)
        values (${appId}, ${permission}, ${type === 'tiered'}, ${global}, ${groupName}) on conflict do nothing returning id`;
    },
    'set-global': () => {
      const { permission, global } = operation as Extract<Operation, { kind: 'set-global' }>;
      return sql`update permission set global = ${global} where application_id = ${appId} and code = ${permission} returning id`;
    },
    'delete-permission': () => {
      const { permission } = operation as Extract<Operation, { kind: 'delete-permission' }>;
      return sql`delete from permission where application_id = ${appId} and code = ${permission} returning id`;
    },
    'define-role': () => {
      const { role } = operation as Extract<Operation, { kind: 'define-role' }>;
      return sql`insert into role (application_id, code) values (${appId}, ${role}) on conflict do nothing returning id`;
    },
    'delete-role': () => {
      const { role } = operation as Extract<Operation, { kind: 'delete-role' }>;
      return sql`delete from role where application_id = ${appId} and code = ${role} returning id`;
    },
    'define-entity': () => {
      const { entity } = operation as Extract<Operation, { kind: 'define-entity' }>;
      return sql`insert into entity (application_id, code, name) values (${appId}, ${entity}, ${entity})
        on conflict do nothing returning id`;
    },
    'delete-entity': () => {
      const { entity } = operation as Extract<Operation, { kind: 'delete-entity' }>;
      return sql`delete from entity where application_id = ${appId} and code = ${entity} returning id`;
    },
    'set-strict': () => {
      const { strict } = operation as Extract<Operation, { kind: 'set-strict' }>;
      return sql`update application set strict_codes = ${strict} where id = ${appId} returning id`;
    },
  }[kind]();
  const { rows } = await statement.execute(tx.kysely);
  return rows.length === 0 ? null : operation;
}

const LEVELS = { allowed: 1, view: 2, edit: 3 } as const;

async function lockPerson(tx: Tx, email: string): Promise<number> {
  const id = (await ensurePeople(tx, [email])).get(email);
  await sql`select id from person where id = ${id} for no key update`.execute(tx.kysely);
  return id as number;
}

async function holdApp(tx: Tx, app: string): Promise<number | undefined> {
  const { rows } = await sql<{ id: number }>`select id from application where code = ${app} for key share`.execute(
    tx.kysely,
  );
  return rows[0]?.id;
}
