import { beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { reachIn, sightIn } from '../../src/administration/reach.ts';
import { applicationsOfPeople } from '../../src/persistence/administration/changes.ts';
import { nextBoundary } from '../../src/persistence/administration/impact.ts';
import { countEndingSoon, countRegistry } from '../../src/persistence/administration/overview.ts';
import {
  countContents,
  countPeople,
  deleteOverridesOfResource,
  listApplications,
  readApplication,
  readApplications,
} from '../../src/persistence/catalog/applications.ts';
import { countHolders, deleteHolders, holdersAmong } from '../../src/persistence/catalog/assignments.ts';
import { findEntity, isResourceTypeUsed, listEntities } from '../../src/persistence/catalog/entities.ts';
import { usersOfLanguage } from '../../src/persistence/catalog/languages.ts';
import { readTypeTexts, usedNotificationTypes } from '../../src/persistence/catalog/notification-types.ts';
import { deleteOverrides, findOverrides, listAppOverrides } from '../../src/persistence/catalog/overrides.ts';
import { isBelow, isPermissionUsed, listPermissions } from '../../src/persistence/catalog/permissions.ts';
import type { Tx } from '../../src/persistence/database.ts';
import { findUserIds, readUsers } from '../../src/persistence/directory/users.ts';
import { useDatabase } from '../support/databases.ts';
import { plansOf, scannedTables } from '../support/plans.ts';

/** Tables that grow with users; all others of the registry are small, and come whole. */
const GROW = [
  'person',
  'user_role',
  'app_admin',
  'app_preference',
  'resource_override',
  'profile',
  'notification',
  'template',
  'audit',
];

const LOAD = [
  `insert into language (code, name, native_name) values ('en', 'E', 'E'), ('cs', 'C', 'C'), ('mt', 'M', 'M')`,
  `insert into person (id, email) overriding system value
    select i, 'user' || i || '@example.com' from generate_series(1, 20000) i`,
  `insert into application (id, code, name) overriding system value
    select i, case i when 1 then 'auth' else 'app' || i end, 'App' from generate_series(1, 10) i`,
  `insert into entity (application_id, code, name) select a.id, 'e' || i, 'E' from application a, generate_series(1, 20) i`,
  `insert into permission (id, application_id, code, tiered) overriding system value
    select i, (i - 1) / 50 + 1, 'p' || i, false from generate_series(1, 500) i`,
  `insert into role (id, application_id, code) overriding system value
    select i, (i - 1) / 20 + 1, 'r' || i from generate_series(1, 200) i`,
  `insert into role_permission (application_id, role_id, permission_id, tiered, level)
    select r.application_id, r.id, p.id, false, 1 from role r join permission p using (application_id)`,
  `insert into user_role (person_id, application_id, role_id)
    select i, i % 10 + 1, (i % 10) * 20 + 1 from generate_series(1, 20000) i`,
  `insert into app_admin (person_id, application_id) select i, i % 10 + 1 from generate_series(1, 20000, 10) i`,
  `insert into resource_override (person_id, application_id, resource_type, resource_id, permission_id, tiered, level)
    select i, i % 10 + 1, 'e' || i % 20, i::text, (i % 10) * 50 + 1, false, 1 from generate_series(1, 20000) i`,
  `insert into profile (person_id, locale) select i, case when i % 3 = 0 then 'cs' end from generate_series(1, 20000) i`,
  `insert into app_preference (person_id, application_id, last_login_at) select i, i % 10 + 1, now() from generate_series(1, 20000) i`,
  `insert into notification_type (id, application_id, code, name) overriding system value
    select i, i, 'generic', 'G' from generate_series(1, 10) i`,
  `insert into template (application_id, notification_type_id, key, locale, subject, html)
    select i % 9 + 1, i % 9 + 1, 'k' || i, 'cs', 's', 'h' from generate_series(1, 5000) i`,
  `insert into notification (application_id, notification_type_id, person_id, subject, payload, status, locale)
    select i % 9 + 1, i % 9 + 1, i, 's', '{}', 'sent', 'en' from generate_series(1, 20000) i`,
  `update user_role set ends_at = now() + interval '3 days' where person_id % 100 = 7`,
  `update app_admin set ends_at = now() + interval '3 days' where person_id % 200 = 11`,
  `update resource_override set ends_at = now() + interval '3 days' where person_id % 100 = 9`,
  'analyze',
];

const PAGE = Array.from({ length: 201 }, (_, i) => i * 90 + 1);

const ANY = { person: null, permission: null, resourceType: null, resourceId: null, endingWithinDays: null };
const FIRST = { limit: 51, after: null };
const NEXT = { limit: 51, after: { permissionId: 101, resourceType: 'e12', resourceId: '12', personId: 12 } };
const KEYS = PAGE.map((personId) => ({ personId, resourceType: 'e1', resourceId: `${personId}`, permissionId: 101 }));

const STATEMENTS: [name: string, run: (tx: Tx) => Promise<unknown>][] = [
  ['the applications', listApplications],
  ['how much applications hold', (tx) => countContents(tx, [1, 2, 3])],
  ['users of applications', (tx) => countPeople(tx, [1, 2, 3])],
  ['some applications', (tx) => readApplications(tx, [1, 2, 3])],
  ['one application', (tx) => readApplication(tx, 'app3')],
  ['what somebody administers', (tx) => reachIn(tx, 'user77@example.com')],
  ['whose people somebody sees', (tx) => sightIn(tx, 'user77@example.com', null)],
  ['the same of one application', (tx) => sightIn(tx, 'user77@example.com', 'app3')],
  ['what an application holds', (tx) => countRegistry(tx, [3])],
  ['the applications of some people', (tx) => applicationsOfPeople(tx, ['user77@example.com', 'user78@example.com'])],
  ['a page of users', (tx) => readUsers(tx, PAGE, null)],
  ['a page of users of some applications', (tx) => readUsers(tx, PAGE, [1, 2, 3])],
  ['the levels that end with an application', (tx) => deleteOverridesOfResource(tx, 'auth', 'e0', '20')],
  ['an entity', (tx) => findEntity(tx, 'app3', 'e7')],
  ['the entities', (tx) => listEntities(tx, 3)],
  ['whether a resource type is used', (tx) => isResourceTypeUsed(tx, 3, 'e999')],
  ['the permissions', (tx) => listPermissions(tx, 3)],
  ['whether a permission is used', (tx) => isPermissionUsed(tx, 3, 149)],
  ['overrides of an application', (tx) => listAppOverrides(tx, 3, ANY, FIRST)],
  ['the next overrides of an application', (tx) => listAppOverrides(tx, 3, ANY, NEXT)],
  ['overrides of a type', (tx) => listAppOverrides(tx, 3, { ...ANY, resourceType: 'e2' }, NEXT)],
  ['overrides for a record', (tx) => listAppOverrides(tx, 3, { ...ANY, resourceType: 'e2', resourceId: '42' }, FIRST)],
  ['overrides of a permission', (tx) => listAppOverrides(tx, 3, { ...ANY, permission: 101 }, NEXT)],
  ['overrides of a person', (tx) => listAppOverrides(tx, 3, { ...ANY, person: 42 }, FIRST)],
  [
    'overrides of an application that end soon',
    (tx) => listAppOverrides(tx, 3, { ...ANY, endingWithinDays: 7 }, FIRST),
  ],
  ['grants that end soon', (tx) => countEndingSoon(tx, [3])],
  ['what begins or ends next', (tx) => nextBoundary(tx, [{ apps: ['app3'], people: null, overrides: true }])],
  [
    'the people of whom something ends soon',
    (tx) => findUserIds(tx, { search: null, active: null, apps: [3], endingWithinDays: 7 }, FIRST),
  ],
  ['some overrides', (tx) => findOverrides(tx, 3, KEYS)],
  ['deleting some overrides', (tx) => deleteOverrides(tx, 3, KEYS)],
  ['the holders among some people', (tx) => holdersAmong(tx, 3, 41, PAGE)],
  ['taking a role from some people', (tx) => deleteHolders(tx, 3, 41, PAGE)],
  ['the number of holders of each role', (tx) => countHolders(tx, 3)],
  ['the line of a permission', (tx) => isBelow(tx, 3, 101, 102)],
  ['what uses a language', (tx) => usersOfLanguage(tx, 'mt')],
  ['the texts', (tx) => readTypeTexts(tx, 3)],
  ['types in use', (tx) => usedNotificationTypes(tx, 10, ['generic'], true)],
];

describe('query plans of the registry with 20,000 people', () => {
  const fixture = useDatabase('postgresql');

  beforeAll(async () => {
    await fixture.database.change(async ({ kysely }) => {
      await sql`set local session_replication_role = replica`.execute(kysely);
      for (const statement of LOAD) await sql.raw(statement).execute(kysely);
      return { result: null, scopes: ['*'] };
    });
  }, 60_000);

  test.each(STATEMENTS)('growing tables are probed by index: %s', async (_name, run) => {
    const { result: plans } = await fixture.database.change(async (tx) => {
      return { result: await plansOf(tx, run), scopes: ['*'] };
    });
    expect(plans.length).toBeGreaterThan(0);
    expect(plans.flatMap(scannedTables).filter((table) => GROW.includes(table))).toEqual([]);
  });
});
