/**
 * A registry of the size that administration is measured at, made by the database itself: 100,000 users, 1,000,000 overrides, 1,000
 * applications, 500,000 audit records, 200,000 notifications. One application, `big`, has every user as a holder of one role, the
 * last one every second user.
 */
import pg from 'pg';

export interface RegistrySize {
  users: number;
  overrides: number;
  applications: number;
  auditRecords: number;
  notifications: number;
  /** Seconds between two of these; by default one. */
  secondsApart?: number;
}

export function sizeOf(users: number): RegistrySize {
  return { users, overrides: users * 10, applications: users / 100, auditRecords: users * 5, notifications: users * 2 };
}

/** Of each application but the seeded one. */
export const PERMISSIONS = 20;
export const ROLES = 8;
/** Ids of what is made here begin above this, so that they are known. */
export const BASE = 10_000;

/** The id of the first permission, or role, of application number `app` (1 is `big`). */
export function firstPermission(app: number): number {
  return BASE + (app - 1) * PERMISSIONS + 1;
}
export function firstRole(app: number): number {
  return BASE + (app - 1) * ROLES + 1;
}
export function appCode(app: number): string {
  return app === 1 ? 'big' : `app${app}`;
}
export function email(user: number): string {
  return `${FIRST[user % FIRST.length]}.${LAST[user % LAST.length]}${user}@example.com`;
}

const FIRST = ['ada', 'bohumil', 'carla', 'david', 'emil', 'franziska', 'grace'];
const LAST = [
  'novak',
  'lovelace',
  'svoboda',
  'hopper',
  'becker',
  'marchetti',
  'dvorak',
  'smith',
  'ng',
  'fischer',
  'rossi',
];

const pick = (names: readonly string[], number: string): string =>
  `(array[${names.map((name) => `'${name}'`).join(', ')}])[${number} % ${names.length} + 1]`;

function statements(size: RegistrySize): string[] {
  const { users, overrides, applications, auditRecords, notifications, secondsApart = 1 } = size;
  const person = (number: string): string => `${BASE} + ${number}`;
  return [
    `insert into person (id, email, registered_at, blocked, provider_active) overriding system value
      select ${person('i')}, ${pick(FIRST, 'i')} || '.' || ${pick(LAST, 'i')} || i || '@example.com',
        case when i % 50 <> 0 then now() end, i % 211 = 0, i % 307 <> 0
      from generate_series(1, ${users}) i`,
    `insert into profile (person_id, first_name, last_name, display_name)
      select ${person('i')}, initcap(${pick(FIRST, 'i')}), initcap(${pick(LAST, 'i')}),
        initcap(${pick(FIRST, 'i')}) || ' ' || initcap(${pick(LAST, 'i')}) || case when i % 10 = 1 then ' Oddfellow' else '' end
        || case when i > ${users * 0.7} then ' Latecomer' else '' end
      from generate_series(1, ${users}) i where i % 50 <> 0`,
    `insert into person_account (issuer, user_id, person_id, signs_in, may_rule)
      select 'urn:bench', i::text, ${person('i')}, true, true from generate_series(1, ${users}) i where i % 50 <> 0`,
    // What triggers make of them, which do not fire here.
    `insert into person_search (person_id, searched)
      select p.id, folded_search(p.email, f.display_name, f.first_name, f.last_name) from person p left join profile f on f.person_id = p.id
      where p.id > ${BASE} order by p.id`,
    `insert into application (id, code, name) overriding system value
      select ${BASE} + i, case i when 1 then 'big' else 'app' || i end, 'Application ' || i
      from generate_series(1, ${applications}) i`,
    `insert into entity (application_id, code, name)
      select ${BASE} + i, e, initcap(e) from generate_series(1, ${applications}) i, unnest(array['document', 'project', 'invoice']) e`,
    `insert into permission (id, application_id, code, tiered, group_name) overriding system value
      select ${BASE} + i, ${BASE} + (i - 1) / ${PERMISSIONS} + 1, 'thing' || i % ${PERMISSIONS} || '.use', i % 2 = 0, 'Group ' || i % 4
      from generate_series(1, ${applications * PERMISSIONS}) i`,
    `insert into role (id, application_id, code) overriding system value
      select ${BASE} + i, ${BASE} + (i - 1) / ${ROLES} + 1, 'role' || i % ${ROLES} from generate_series(1, ${applications * ROLES}) i`,
    `insert into role_permission (application_id, role_id, permission_id, tiered, level)
      select r.application_id, r.id, p.id, p.tiered, case when p.tiered then 2 else 1 end
      from role r join permission p using (application_id) where r.id > ${BASE} and (p.id + r.id) % 3 = 0`,
    // Two roles each somewhere; and of the big application everybody the first.
    `insert into user_role (person_id, application_id, role_id)
      select ${person('i')}, ${BASE} + a, ${BASE} + (a - 1) * ${ROLES} + i % ${ROLES} + 1
      from (select i, (i * k) % ${applications - 1} + 2 as a from generate_series(1, ${users}) i, unnest(array[1, 7]) k) x on conflict do nothing`,
    `insert into user_role (person_id, application_id, role_id)
      select ${person('i')}, ${BASE + 1}, ${BASE + 1} from generate_series(1, ${users}) i`,
    // Half of all are of the last application, and none of them is called Oddfellow, as one in ten of all is.
    `insert into user_role (person_id, application_id, role_id)
      select ${person('i')}, ${BASE + applications}, ${firstRole(applications)} from generate_series(2, ${users}, 2) i on conflict do nothing`,
    `insert into app_admin (person_id, application_id)
      select ${person('i')}, ${BASE} + i % ${applications} + 1 from generate_series(1, ${users}, 50) i`,
    // One of ten in the big application; the first user has a hundredth of all in the second one.
    `insert into resource_override (person_id, application_id, resource_type, resource_id, permission_id, tiered, level)
      select ${BASE} + (i - 1) % ${users} + 1, ${BASE} + a, 'document', i::text, ${BASE} + (a - 1) * ${PERMISSIONS} + i % ${PERMISSIONS} + 1,
        i % 2 = 1, case when i % 2 = 1 then 2 else i / 2 % 2 end
      from (select i, case when i <= ${users} then 1 else (i * 13) % ${applications} + 1 end as a
        from generate_series(1, ${overrides - overrides / 100}) i) x`,
    `insert into resource_override (person_id, application_id, resource_type, resource_id, permission_id, tiered, level)
      select ${person('1')}, ${BASE + 2}, 'invoice', 'r' || i, ${BASE} + ${PERMISSIONS} + i % ${PERMISSIONS} + 1, i % 2 = 1,
        case when i % 2 = 1 then 3 else 1 end
      from generate_series(1, ${overrides / 100}) i`,
    `insert into app_preference (person_id, application_id, login_count, first_login_at, last_login_at, last_activity_at)
      select ${person('i')}, ${BASE} + a, 1, now(), now(), now()
      from (select i, (i * k) % ${applications} + 1 as a from generate_series(1, ${users}) i, unnest(array[1, 3]) k) x on conflict do nothing`,
    // A tenth concerns the big application; one of a thousand was refused; fifty administrators did all of it in a year.
    `insert into audit (at, actor, action, app_code, subject, after)
      select now() - (${auditRecords} - i) * interval '1 minute', 'user:' || 'admin' || i % 50 || '@example.com',
        case when i % 1000 = 7 then 'role.deleted.refused' else (array['user_roles.replaced', 'override.replaced', 'role.created'])[i % 3 + 1] end,
        case when i % 10 = 0 then 'big' else 'app' || i % ${applications} + 1 end,
        ${pick(FIRST, 'i')} || '.' || ${pick(LAST, 'i')} || i % ${users} || '@example.com', '{"roles": ["role1", "role2"]}'
      from generate_series(1, ${auditRecords}) i`,
    `insert into notification_type (id, application_id, code, name) overriding system value
      select ${BASE} + i * 3 + k, ${BASE} + i, (array['generic', 'invoice-due', 'rare'])[k], 'Type'
      from generate_series(1, ${applications}) i, generate_series(1, 3) k`,
    // Half of them of the big application; few failed; one type is hardly ever sent.
    `insert into notification (id, application_id, notification_type_id, person_id, subject, payload, status, locale, created_at) overriding system value
      select ${BASE} + i, ${BASE} + a, ${BASE} + a * 3 + case when i % 5000 < 2 then 3 else i % 3 % 2 + 1 end, ${BASE} + i % ${users} + 1, 'Hello', '{}',
        case when i % 400 < 2 then 'failed' else 'sent' end, 'en', now() - (${notifications} - i) * interval '${secondsApart} second'
      from (select i, case when i % 2 = 0 then 1 else i % ${applications} + 1 end as a from generate_series(1, ${notifications}) i) x`,
    `insert into delivery (notification_id, channel, status, content, lane, attempts, due_at, sent_at)
      select ${BASE} + i, 'email', case when i % 400 < 2 then 'failed' else 'sent' end, '{}', 'brand:1', 1, null, case when i % 400 < 2 then null else now() end
      from generate_series(1, ${notifications}) i`,
    ...['person', 'application', 'permission', 'role', 'notification_type', 'notification'].map(
      (table) => `select setval(pg_get_serial_sequence('${table}', 'id'), (select max(id) from ${table}))`,
    ),
    `insert into policy_change (revision, nonce, scopes) select coalesce(max(revision), 0) + 1, 'bench', array['*'] from policy_change`,
  ];
}

/** Those whose indexes are made at the end, all at once. */
const LARGE_TABLES = [
  'resource_override',
  'audit',
  'person',
  'person_search',
  'profile',
  'user_role',
  'app_preference',
  'notification',
  'delivery',
];

/** Fills a migrated and seeded database, past the service, which must not run meanwhile. */
export async function loadLargeRegistry(url: string, size: RegistrySize): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    // Whether the rows fit together is not what is measured; they are made so that they do.
    await client.query(`set session_replication_role = replica; set maintenance_work_mem = '256MB'`);
    const restore: string[] = [];
    for (const table of LARGE_TABLES) restore.push(...(await withoutIndexes(client, table)));
    for (const statement of statements(size)) await client.query(statement);
    for (const statement of restore) await client.query(statement);
    await client.query('vacuum analyze');
  } finally {
    await client.end();
  }
}

/** Those to which no statement of a load says `on conflict`, nor any foreign key refers: they can do without their keys, too. */
const KEYLESS = ['resource_override', 'notification', 'delivery'];

/**
 * Drops a table's indexes, but for those that foreign keys need, for loading it; answers the statements that make them again, those of
 * partitions as well.
 */
export async function withoutIndexes(client: pg.Client, table: string): Promise<string[]> {
  const { rows } = await client.query<{ drop: string; make: string }>(
    `select case when c.oid is null then format('drop index %I', i.relname)
                 else format('alter table %I drop constraint %I', $1::text, c.conname) end as drop,
            case when c.oid is null then replace(pg_get_indexdef(i.oid), ' ON ONLY ', ' ON ')
                 else format('alter table %I add constraint %I %s', $1::text, c.conname, pg_get_constraintdef(c.oid)) end as make
       from pg_index x join pg_class i on i.oid = x.indexrelid
       left join pg_constraint c on c.conindid = i.oid and c.contype in ('p', 'u')
      where x.indrelid = $1::text::regclass and not exists (select from pg_constraint k where k.conindid = i.oid and k.contype = 'f')
        and (c.oid is null or $1 = any($2::text[]))`,
    [table, KEYLESS],
  );
  for (const { drop } of rows) await client.query(drop);
  return rows.map(({ make }) => make);
}
