import fc from 'fast-check';
import { sql } from 'kysely';
import type { Members } from '../../src/persistence/people/members.ts';
import type { PeopleFilter } from '../../src/persistence/people/person-search.ts';

/** A few people, members of applications by each table, for filters and orders of people: every list is known by definition. */
const PERSONS = 150;
export const ALL_TABLES: Members['tables'] = ['user_role', 'resource_override', 'app_preference', 'app_admin'];
/** Application 1 is of every second person, 2 of the first, 3 of the last, 4 of one in forty, 5 of nobody; by which table goes by the person. */
const OF_APP: readonly ((person: number) => boolean)[] = [
  (person) => person % 2 === 0,
  (person) => person <= 60,
  (person) => person > 90,
  (person) => person % 40 === 7,
  () => false,
];
const TEXTS = ['@', 'kim', 'Oddfellow', 'late', 'xena', 'e', 'nobody is so called', 'Şule', '9', '99'];

/** Half are Kim; one in ten is Oddfellow, none of whom is of application 1; the last ones are late, one is Xena, one of another alphabet. */
function nameOf(person: number): string {
  const parts = [person % 4 < 2 ? 'Kim' : 'Lee'];
  if (person % 10 === 1) parts.push('Oddfellow');
  if (person > 100) parts.push('Latecomer');
  if (person === 77) parts.push('Xena');
  if (person === 120) parts.push('Şule');
  return parts.join(' ');
}

export const emailOf = (person: number): string => `user${person}@example.com`;
const isActive = (person: number): boolean => person % 3 !== 0 && person < 140;
const tableOf = (person: number, app: number): number => (person + app) % ALL_TABLES.length;
export const people = Array.from({ length: PERSONS }, (_, at) => at + 1);

/** Two SuperAdmins are members of little. */
const SUPERADMINS = [33, 120];

function isMember({ tables, apps, roles, superadmins }: Members, person: number): boolean {
  if (superadmins === true && SUPERADMINS.includes(person)) return true;
  return OF_APP.some((isOf, at) => {
    const [app, table] = [at + 1, ALL_TABLES[tableOf(person, at + 1)]];
    if (!isOf(person) || table === undefined || !tables.includes(table)) return false;
    return (
      (apps === null || apps.includes(app)) && (table !== 'user_role' || roles === undefined || roles.includes(app))
    );
  });
}

/** By definition: everybody whom the filter lets through, in order. */
export function naive({ search, active, members, also = [], emailPrefix = '' }: PeopleFilter): number[] {
  return people.filter((person) => {
    const texts = [emailOf(person), nameOf(person)].map((text) => text.toLowerCase());
    if (search !== null && !texts.some((text) => text.includes(search.toLowerCase()))) return false;
    if (active !== null && isActive(person) !== active) return false;
    if (!emailOf(person).startsWith(emailPrefix)) return false;
    return [...(members === null ? [] : [members]), ...also].every((group) => isMember(group, person));
  });
}

const apps = fc.subarray([1, 2, 3, 4, 5]);
const members: fc.Arbitrary<Members> = fc.oneof(
  fc.record({ tables: fc.constant(ALL_TABLES), apps }),
  fc.constantFrom(1, 2, 3).map((app) => ({ tables: ['user_role'] as const, apps: [app], roles: [app] })),
  // To whom a permission is allowed: by roles, an administration, or as a SuperAdmin.
  fc.constantFrom(1, 2, 3).map((app) => {
    return { tables: ['user_role', 'app_admin'] as const, apps: [app], roles: [app, 9], superadmins: true };
  }),
);
const group = fc.record({
  tables: fc.constant(['user_role', 'resource_override', 'app_admin'] as const),
  apps: fc.option(apps),
  superadmins: fc.boolean(),
});
export const filters: fc.Arbitrary<PeopleFilter> = fc.record(
  {
    search: fc.option(fc.constantFrom(...TEXTS)),
    active: fc.constantFrom(null, true, false),
    members: fc.option(members, { freq: 3 }),
    also: fc.array(group, { maxLength: 1 }),
    emailPrefix: fc.constantFrom('user1', 'user12', 'xyz'),
  },
  { requiredKeys: ['search', 'active', 'members'] },
);

/** Who is of an application by one of the tables: two columns. */
function membersBy(table: number) {
  const rows = people.flatMap((person) =>
    OF_APP.flatMap((isOf, at) => (isOf(person) && tableOf(person, at + 1) === table ? [{ person, app: at + 1 }] : [])),
  );
  return sql`unnest(${rows.map(({ person }) => person)}::bigint[], ${rows.map(({ app }) => app)}::bigint[]) as r (person, app)`;
}

export const LOAD = [
  sql`insert into person (id, email, blocked) overriding system value select * from unnest(
    ${people}::bigint[], ${people.map(emailOf)}::text[], ${people.map((person) => !isActive(person))}::boolean[])`,
  sql`insert into profile (person_id, display_name) select * from unnest(${people}::bigint[], ${people.map(nameOf)}::text[])`,
  sql`insert into application (id, code, name) overriding system value
    select i, 'app' || i, 'App' from generate_series(1, ${OF_APP.length}::int) i`,
  sql`insert into permission (id, application_id, code, tiered) overriding system value
    select i, i, 'read', false from generate_series(1, ${OF_APP.length}::int) i`,
  sql`insert into role (id, application_id, code) overriding system value
    select i, i, 'reader' from generate_series(1, ${OF_APP.length}::int) i`,
  sql`insert into user_role (person_id, application_id, role_id) select person, app, app from ${membersBy(0)}`,
  // Several of each: a person is one of the members nevertheless.
  sql`insert into resource_override (person_id, application_id, resource_type, resource_id, permission_id, tiered, level)
    select person, app, 'document', i::text, app, false, 1 from ${membersBy(1)}, generate_series(1, 3) i`,
  sql`insert into app_preference (person_id, application_id) select person, app from ${membersBy(2)}`,
  sql`insert into app_admin (person_id, application_id) select person, app from ${membersBy(3)}`,
  sql`insert into superadmin (person_id) select unnest(${SUPERADMINS}::bigint[])`,
];
