import { describe, expect, test } from '@jest/globals';
import { UsherError } from '../../src/base/errors.ts';
import { Level } from '../../src/engine/types.ts';
import {
  accountSettler,
  anyAdministrator,
  applicationLevel,
  type Guard,
  key,
  managerOfAll,
  open,
  profileOwner,
  signedIn,
  signedInEvenInactive,
  superAdmin,
} from '../../src/gateway/route/guards.ts';
import { CHECK_KEY, NOTIFY_KEY, useWorld } from './fixture.ts';

const NOBODY = 'nobody@example.com';
const people = {
  root: 'root@example.com',
  goneRoot: 'gone-root@example.com',
  crmAdmin: 'crm-admin@example.com',
  goneAdmin: 'gone-admin@example.com',
  authAdmin: 'auth-admin@example.com',
  panelAdmin: 'panel-admin@example.com',
  panelViewer: 'panel-viewer@example.com',
  crmManager: 'crm-manager@example.com',
  crmViewer: 'crm-viewer@example.com',
  noEntry: 'no-entry@example.com',
  entryOnly: 'entry-only@example.com',
  barred: 'barred@example.com',
  nobody: NOBODY,
};

// The application `auth` as docs/reference/administration.md#the-systems-own-records says.
const world = useWorld({
  fill: (facts) => {
    for (const app of ['auth', 'crm', 'shop']) facts.application(app);
    facts.permission('auth', 'panel.access', { global: true });
    facts.permission('auth', 'applications.manage', { tiered: true });
    const manager = facts.role('auth', { 'panel.access': Level.ALLOWED });
    const panelAdmin = facts.role('auth', { 'panel.access': Level.ALLOWED, 'applications.manage': Level.EDIT });
    const panelViewer = facts.role('auth', { 'panel.access': Level.ALLOWED, 'applications.manage': Level.VIEW });
    const noEntry = facts.role('auth', { 'applications.manage': Level.EDIT });
    facts.superadmin(people.root);
    facts.superadmin(people.goneRoot);
    facts.deactivate(people.goneRoot);
    facts.admin('crm', people.crmAdmin);
    facts.admin('crm', people.goneAdmin);
    facts.deactivate(people.goneAdmin);
    facts.admin('auth', people.authAdmin);
    facts.assign('auth', people.panelAdmin, panelAdmin);
    facts.assign('auth', people.barred, panelAdmin);
    facts.override('auth', people.barred, ['application', 'crm'], 'applications.manage', Level.NONE);
    facts.assign('auth', people.panelViewer, panelViewer);
    for (const who of [people.crmManager, people.crmViewer, people.entryOnly]) facts.assign('auth', who, manager);
    facts.override('auth', people.crmManager, ['application', 'crm'], 'applications.manage', Level.EDIT);
    facts.override('auth', people.crmViewer, ['application', 'crm'], 'applications.manage', Level.VIEW);
    facts.assign('auth', people.noEntry, noEntry);
  },
});

type Person = keyof typeof people;

/** `ok`, or the precise reason of the refusal. */
async function verdict(
  guard: Guard<never>,
  headers: Record<string, string>,
  params: Record<string, string> = {},
): Promise<string> {
  const { signal } = new AbortController();
  const request = { header: (name: string) => headers[name], params, requestId: 'request-1', signal };
  try {
    const caller = (await guard.identify(world.services, request)) as never;
    await guard.permit?.(world.services, request, caller);
    return 'ok';
  } catch (error) {
    if (error instanceof UsherError) return error.reason ?? error.code;
    throw error;
  }
}

async function judge(guard: Guard<never>, person: Person, appCode?: string): Promise<string> {
  const params: Record<string, string> = appCode === undefined ? {} : { appCode };
  return verdict(guard, { authorization: await world.bearer(people[person]) }, params);
}

/** Who passes; everybody else is refused with `reason`, and inactive users with USER_INACTIVE. */
async function expectOnly(
  guard: Guard<never>,
  allowed: readonly Person[],
  reason: string,
  appCode?: string,
): Promise<void> {
  const verdicts = await Promise.all(
    (Object.keys(people) as Person[]).map(async (person) => [person, await judge(guard, person, appCode)]),
  );
  const expected = (Object.keys(people) as Person[]).map((person) => [
    person,
    person.startsWith('gone') ? 'USER_INACTIVE' : allowed.includes(person) ? 'ok' : reason,
  ]);
  expect(verdicts).toEqual(expected);
}

const view = applicationLevel('view') as Guard<never>;
const edit = applicationLevel('edit') as Guard<never>;
const delegated = applicationLevel('edit', { delegated: true }) as Guard<never>;

describe('panel levels', () => {
  test('`view` of an application admits readers', async () => {
    const allowed: Person[] = ['root', 'crmAdmin', 'authAdmin', 'panelAdmin', 'panelViewer', 'crmManager', 'crmViewer'];
    await expectOnly(view, allowed, 'NO_APPLICATION_LEVEL', 'crm');
  });

  test('`edit` of an application admits writers', async () => {
    const allowed: Person[] = ['root', 'crmAdmin', 'authAdmin', 'panelAdmin', 'crmManager'];
    await expectOnly(edit, allowed, 'NO_APPLICATION_LEVEL', 'crm');
    await expectOnly(delegated, allowed, 'NO_APPLICATION_LEVEL', 'crm');
  });

  test('a level on one application does not apply to another', async () => {
    await expectOnly(edit, ['root', 'authAdmin', 'panelAdmin', 'barred'], 'NO_APPLICATION_LEVEL', 'shop');
  });

  test('only a SuperAdmin writes in `auth` itself', async () => {
    await expectOnly(edit, ['root'], 'NO_APPLICATION_LEVEL', 'auth');
    await expectOnly(
      view,
      ['root', 'authAdmin', 'panelAdmin', 'panelViewer', 'barred'],
      'NO_APPLICATION_LEVEL',
      'auth',
    );
  });

  test('holders of the global level write roles and overrides in `auth`', async () => {
    await expectOnly(delegated, ['root', 'authAdmin', 'panelAdmin', 'barred'], 'NO_APPLICATION_LEVEL', 'auth');
  });

  test.each(['nowhere', 'CRM', '', 'inbox', 'a/b', '__proto__'])(
    'an unknown application %p looks forbidden',
    async (app) => {
      await expectOnly(edit, ['root'], 'NO_APPLICATION_LEVEL', app);
      await expectOnly(view, ['root'], 'NO_APPLICATION_LEVEL', app);
    },
  );

  test('a revoked administrator is refused at once', async () => {
    const email = 'short@example.com';
    const authorization = await world.bearer(email);
    world.facts.admin('shop', email);
    await world.engine.reach({ number: world.facts.head, nonce: null });
    expect(await verdict(edit, { authorization }, { appCode: 'shop' })).toBe('ok');
    world.facts.dismiss('shop', email);
    await world.engine.reach({ number: world.facts.head, nonce: null });
    expect(await verdict(edit, { authorization }, { appCode: 'shop' })).toBe('NO_APPLICATION_LEVEL');
  });
});

describe('the other guards', () => {
  test('the SuperAdmin guard admits SuperAdmins only', () =>
    expectOnly(superAdmin as Guard<never>, ['root'], 'FORBIDDEN'));

  test('the guard of administrators admits SuperAdmins, AppAdmins and users of the panel', () => {
    const panel: Person[] = ['panelAdmin', 'panelViewer', 'barred', 'crmManager', 'crmViewer', 'entryOnly'];
    return expectOnly(anyAdministrator as Guard<never>, ['root', 'crmAdmin', 'authAdmin', ...panel], 'FORBIDDEN');
  });

  test('the guard of managers admits those of all applications', async () => {
    const managers: Person[] = ['root', 'authAdmin', 'panelAdmin', 'barred'];
    await expectOnly(managerOfAll() as Guard<never>, managers, 'FORBIDDEN');
  });

  test('the guard of deletion also requires a level on the application', async () => {
    const guard = managerOfAll('appCode') as Guard<never>;
    for (const [person, expected] of [
      ['root', 'ok'],
      ['panelAdmin', 'ok'],
      ['barred', 'NO_APPLICATION_LEVEL'],
      ['panelViewer', 'NO_APPLICATION_LEVEL'],
      ['crmManager', 'FORBIDDEN'],
      ['crmAdmin', 'FORBIDDEN'],
      ['goneRoot', 'USER_INACTIVE'],
    ] as const) {
      expect([person, await judge(guard, person, 'crm')]).toEqual([person, expected]);
    }
    expect(await judge(guard, 'panelAdmin', 'nowhere')).toBe('NO_APPLICATION_LEVEL');
    expect(await judge(guard, 'panelAdmin', 'auth')).toBe('NO_APPLICATION_LEVEL');
  });

  test('the signed-in guard admits active users', () =>
    expectOnly(signedIn as Guard<never>, Object.keys(people) as Person[], ''));

  test('the signed-in guard of checks admits inactive users, too', async () => {
    expect(await judge(signedInEvenInactive as Guard<never>, 'goneRoot')).toBe('ok');
    expect(await verdict(signedInEvenInactive as Guard<never>, {})).toBe('UNAUTHENTICATED');
  });

  test('key guards admit by scope', async () => {
    const scoped = (value?: string) =>
      verdict(key('check') as Guard<never>, value === undefined ? {} : { 'x-internal-api-key': value });
    expect(await scoped(CHECK_KEY)).toBe('ok');
    expect(await scoped(NOTIFY_KEY)).toBe('KEY_SCOPE');
    expect(await scoped('')).toBe('UNAUTHENTICATED');
    expect(await scoped()).toBe('UNAUTHENTICATED');
  });

  test('trouble in a guard is 503, never a refusal', async () => {
    const authorization = await world.bearer('unseen@example.com');
    world.facts.away = true;
    try {
      for (const guard of [
        signedIn,
        profileOwner,
        accountSettler,
        superAdmin,
        anyAdministrator,
        view,
        edit,
      ] as Guard<never>[]) {
        expect(await verdict(guard, { authorization }, { appCode: 'crm' })).toBe('UNAVAILABLE');
      }
    } finally {
      world.facts.away = false;
    }
  });

  test('every guard has a name of its own and documents its refusals', () => {
    const guards = [
      open,
      key('check'),
      key('notify'),
      signedIn,
      signedInEvenInactive,
      profileOwner,
      accountSettler,
      superAdmin,
      anyAdministrator,
      managerOfAll(),
      managerOfAll('appCode'),
      view,
      edit,
      delegated,
    ];
    expect(new Set(guards.map(({ name }) => name)).size).toBe(guards.length);
    for (const { scheme, errors, description } of guards) {
      expect(description).toMatch(/\.$/);
      expect(errors.includes('UNAUTHENTICATED')).toBe(scheme !== null);
    }
    expect(superAdmin.errors).toEqual(expect.arrayContaining(['USER_INACTIVE', 'FORBIDDEN']));
    expect(view.errors).toContain('NO_APPLICATION_LEVEL');
  });
});
