import { beforeAll, describe, expect, test } from '@jest/globals';
import {
  administer,
  editorOf,
  managerOfAll,
  superAdmin,
  type WriteGuard,
} from '../../src/administration/administer.ts';
import { reachIn } from '../../src/administration/reach.ts';
import { Level } from '../../src/engine/types.ts';
import { useDatabase } from '../support/databases.ts';
import { insertApplication, insertOverride, insertUserRole, personId } from '../support/rows.ts';

/**
 * The guards of writes by themselves, without those of the doors in front of them: each decides alone, on rows of the write's own
 * transaction, because an admitted caller may have lost every right by then (docs/reference/callers.md#guards-of-writes).
 */
const people = {
  root: 'root@example.com',
  goneRoot: 'gone-root@example.com',
  blockedRoot: 'blocked-root@example.com',
  crmAdmin: 'crm-admin@example.com',
  goneAdmin: 'gone-admin@example.com',
  authAdmin: 'auth-admin@example.com',
  panelAdmin: 'panel-admin@example.com',
  goneManager: 'gone-manager@example.com',
  panelViewer: 'panel-viewer@example.com',
  crmManager: 'crm-manager@example.com',
  crmViewer: 'crm-viewer@example.com',
  noEntry: 'no-entry@example.com',
  entryOnly: 'entry-only@example.com',
  barred: 'barred@example.com',
  nobody: 'nobody@example.com',
};
type Person = keyof typeof people;
const GONE: readonly Person[] = ['goneRoot', 'blockedRoot', 'goneAdmin', 'goneManager'];

describe('guards of writes', () => {
  const fixture = useDatabase('postgresql');

  beforeAll(async () => {
    await fixture.database.change(async (tx) => {
      const crm = await insertApplication(tx, 'crm');
      await insertApplication(tx, 'shop');
      const entry = { 'panel.access': Level.ALLOWED };
      const auth = await insertApplication(tx, 'auth', {
        permissions: { 'panel.access': { global: true }, 'applications.manage': { tiered: true } },
        roles: {
          entry,
          all: { ...entry, 'applications.manage': Level.EDIT },
          view: { ...entry, 'applications.manage': Level.VIEW },
          outside: { 'applications.manage': Level.EDIT },
        },
      });
      const idOf = (person: Person) => personId(tx, people[person]);
      const insert = async (table: 'superadmin' | 'app_admin', person: Person, app?: number) => {
        const personId = await idOf(person);
        if (table === 'superadmin') await tx.kysely.insertInto(table).values({ personId }).execute();
        else
          await tx.kysely
            .insertInto(table)
            .values({ personId, applicationId: app ?? 0 })
            .execute();
      };
      const set = async (person: Person, flags: { providerActive: boolean } | { blocked: boolean }) => {
        await tx.kysely
          .updateTable('person')
          .set(flags)
          .where('id', '=', await idOf(person))
          .execute();
      };
      for (const root of ['root', 'goneRoot', 'blockedRoot'] as const) await insert('superadmin', root);
      await insert('app_admin', 'crmAdmin', crm.id);
      await insert('app_admin', 'goneAdmin', crm.id);
      await insert('app_admin', 'authAdmin', auth.id);
      const roles = {
        panelAdmin: 'all',
        goneManager: 'all',
        barred: 'all',
        panelViewer: 'view',
        noEntry: 'outside',
        crmManager: 'entry',
        crmViewer: 'entry',
        entryOnly: 'entry',
      };
      for (const [person, role] of Object.entries(roles)) {
        await insertUserRole(tx, auth, people[person as Person], role);
      }
      const levels = { barred: Level.NONE, crmManager: Level.EDIT, crmViewer: Level.VIEW };
      for (const [person, level] of Object.entries(levels)) {
        const of = { type: 'application', id: 'crm', permission: 'applications.manage', tiered: true, level };
        await insertOverride(tx, auth, people[person as Person], of);
      }
      for (const person of ['goneRoot', 'goneAdmin', 'goneManager'] as const)
        await set(person, { providerActive: false });
      await set('blockedRoot', { blocked: true });
      return { result: null, scopes: ['*'] };
    });
  }, 60_000);

  /** Who passes; the others are refused with `reason`, and inactive users with USER_INACTIVE. */
  async function expectOnly(guard: WriteGuard, allowed: readonly Person[], reason: string): Promise<void> {
    const verdicts = await fixture.database.read(async (tx) => {
      const all: [string, string][] = [];
      for (const [person, email] of Object.entries(people)) {
        const refused = await guard(tx, email);
        all.push([person, refused === null ? 'ok' : (refused.reason ?? refused.code)]);
      }
      return all;
    });
    const expected = (Object.keys(people) as Person[]).map((person) => {
      const refused = GONE.includes(person) ? 'USER_INACTIVE' : reason;
      return [person, allowed.includes(person) ? 'ok' : refused];
    });
    expect(verdicts).toEqual(expected);
  }

  test('only a SuperAdmin passes the SuperAdmin guard', () => expectOnly(superAdmin('do it'), ['root'], 'FORBIDDEN'));

  // The administrator of `auth` holds all that it defines, the levels on all applications among it.
  test('only a manager of every application passes the manager guard', () => {
    // A denying override on one application is that application's own guard's to heed.
    return expectOnly(managerOfAll('do it'), ['root', 'authAdmin', 'panelAdmin', 'barred'], 'FORBIDDEN');
  });

  test('only editors of the application pass its editor guard', async () => {
    await expectOnly(
      editorOf('crm'),
      ['root', 'crmAdmin', 'authAdmin', 'panelAdmin', 'crmManager'],
      'NO_APPLICATION_LEVEL',
    );
    await expectOnly(editorOf('shop'), ['root', 'authAdmin', 'panelAdmin', 'barred'], 'NO_APPLICATION_LEVEL');
  });

  test('only SuperAdmins write in `auth` and to unknown applications', async () => {
    for (const app of ['auth', 'nowhere', '']) await expectOnly(editorOf(app), ['root'], 'NO_APPLICATION_LEVEL');
  });

  test.each([
    ['a stranger', 'nobody', 'NO_APPLICATION_LEVEL', ['write.refused']],
    ['the administrator', 'crmAdmin', null, ['write']],
  ] as const)('the transaction of a write decides whether %s may make it', async (_, person, refused, actions) => {
    const requestId = `request-${person}`;
    const by = { caller: { email: people[person] }, requestId };
    const about = { app: 'crm', action: 'write', guard: editorOf('crm') };
    const written = administer(fixture.database, by, about, async ({ tx, audit }) => {
      await tx.kysely.updateTable('application').set({ name: requestId }).where('code', '=', 'crm').execute();
      audit({ action: 'write', subject: 'crm' });
      return { result: 'done', scopes: ['p:crm'] };
    });
    if (refused === null) await expect(written).resolves.toMatchObject({ result: 'done' });
    else await expect(written).rejects.toMatchObject({ reason: refused });
    const left = await fixture.database.read(async ({ kysely }) => ({
      named: await kysely.selectFrom('application').select('code').where('name', '=', requestId).execute(),
      audit: await kysely.selectFrom('audit').select(['action', 'actor']).where('requestId', '=', requestId).execute(),
    }));
    expect(left).toEqual({
      named: refused === null ? [{ code: 'crm' }] : [],
      audit: actions.map((action) => ({ action, actor: `user:${people[person]}` })),
    });
  });

  test('an inactive person reaches no application', async () => {
    const reached = await fixture.database.read(async (tx) => {
      const all = new Map<Person, string>();
      for (const person of Object.keys(people) as Person[]) {
        const { applications } = await reachIn(tx, people[person]);
        all.set(
          person,
          applications.map(({ code, level }) => `${code} ${level === Level.EDIT ? 'edit' : 'view'}`).join(),
        );
      }
      return all;
    });
    expect(GONE.map((person) => reached.get(person))).toEqual(['', '', '', '']);
    expect(reached.get('crmAdmin')).toBe('crm edit');
    expect(reached.get('barred')).toBe('auth edit,shop edit');
    expect(reached.get('crmViewer')).toBe('crm view');
    expect(reached.get('noEntry')).toBe('');
  });
});
