import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Route } from '../../src/gateway/route/route.ts';
import { gatewayRoutes } from '../../src/gateway/routes.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import {
  APPS,
  type AppCode,
  CALLERS,
  type Caller,
  callersOf,
  expected,
  isAdministrativeWrite,
  isPerApplication,
  nameOf,
} from './expectations.ts';

/**
 * The authorisation matrix: every route, made from the route values, by every kind of caller. Each request holds a parameter
 * that no route knows, so that a caller who passes the guard gets 400 and nothing is done: the guard's answer comes before
 * (docs/reference/http.md#order-of-checks). Whether writes decide again in their own transaction is asked in the suites of the features.
 */
const MINE = `
application: { code: mine, name: Mine }
admins: [appadmin@example.com]
`;
const OTHER = `
application: { code: other, name: Other }
admins: [foreignadmin@example.com]
`;
const PANEL = `
application: { code: auth, name: Administration }
roles: [{ code: auditor, permissions: { panel.access: allowed, applications.manage: view } }]
assignments:
  - { email: panelauditor@example.com, roles: [auditor] }
  - { email: panelview@example.com, roles: [application_manager] }
  - { email: paneledit@example.com, roles: [application_manager] }
  - { email: manager@example.com, roles: [application_manager] }
  - { email: paneladmin@example.com, roles: [panel_admin] }
overrides:
  - { email: panelview@example.com, resourceType: application, resourceId: mine, permission: applications.manage, granted: true, accessLevel: view }
  - { email: paneledit@example.com, resourceType: application, resourceId: mine, permission: applications.manage, granted: true, accessLevel: edit }
`;
const SCOPES = ['check', 'notify', 'profile', 'events', 'metrics', 'manifest'];
const keyOf = (scope: string) => `the-internal-key-for-${scope}-only`;

const routes = gatewayRoutes({ production: false });

describe('the authorisation matrix', () => {
  let storage: TestStorage;
  let usher: RunningUsher;
  const headers = new Map<Caller, Record<string, string>>();

  beforeAll(async () => {
    storage = await createStorage('postgresql');
    usher = await startUsher(storage, {
      env: {
        INTERNAL_API_KEY: SCOPES.map((scope) => `${scope}:${scope}:${keyOf(scope)}`).join(','),
        IDP_WEBHOOK_SECRET: 'the-secret-of-the-webhook-here',
        IDP_EVENT_SIGNING_KEYS: 'the-key-of-native-events-here',
        SUPERADMINS: 'superadmin@example.com',
      },
    });
    for (const text of [MINE, OTHER, PANEL]) await usher.app.manifests.apply(text, { actor: 'cli' });
    await usher.app.database.change(async (tx) => {
      await tx.kysely.insertInto('person').values({ email: 'inactive@example.com', blocked: true }).execute();
      return { result: null, scopes: ['u:inactive@example.com'] };
    });
    for (const caller of CALLERS) headers.set(caller, await credentials(caller));
  }, 60_000);
  afterAll(async () => {
    await usher?.close();
    await storage?.remove();
  }, 60_000);

  async function credentials(caller: Caller): Promise<Record<string, string>> {
    if (caller === 'nobody') return {};
    if (caller === 'wrongKey') return { 'x-internal-api-key': 'a-key-that-nobody-was-given' };
    const scope = /^key\((\w+)\)$/.exec(caller)?.[1];
    if (scope !== undefined) return { 'x-internal-api-key': keyOf(scope) };
    return { authorization: `Bearer ${await usher.token(`${caller.toLowerCase()}@example.com`)}` };
  }

  async function ask(route: Route, caller: Caller, app: AppCode): Promise<string> {
    const values: Record<string, string> = { appCode: app, email: 'target@example.com' };
    const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) => values[name] ?? '1');
    const response = await fetch(`${usher.rest}${path}?not-a-parameter=1`, {
      method: route.method.toUpperCase(),
      headers: headers.get(caller) ?? {},
      redirect: 'manual',
    });
    const { status } = response;
    await response.arrayBuffer();
    if (status === 401 || status === 403) return `${status}`;
    // Pages for people ignore what they do not know.
    return status === 400 || (route.forPeople && (status === 200 || status === 404))
      ? 'passes'
      : `an unexpected ${status}`;
  }

  test('every guard is in the table', () => {
    const unknown = routes.filter((route) => expected(route, 'nobody', 'mine') === null);
    expect(unknown.map((route) => `${nameOf(route)}: ${route.guard.name}`)).toEqual([]);
  });

  test('every route answers every caller as in the table', async () => {
    const questions = routes.flatMap((route) =>
      (isPerApplication(route) ? APPS : (['mine'] as const)).flatMap((app) =>
        callersOf(route, app).map((caller) => ({ route, caller, app })),
      ),
    );
    const wrong: string[] = [];
    const next = questions.values();
    const askAll = async () => {
      for (const { route, caller, app } of next) {
        const [should, said] = [`${expected(route, caller, app)}`, await ask(route, caller, app)];
        if (said !== should) wrong.push(`${nameOf(route)} (${app}) by ${caller}: ${said}, must be ${should}`);
      }
    };
    await Promise.all(Array.from({ length: 8 }, askAll));
    expect(wrong).toEqual([]);
    // Every kind of caller was let in somewhere, and kept out somewhere: a table of one word proves nothing.
    for (const caller of CALLERS) {
      const told = questions.filter((one) => one.caller === caller).map((one) => expected(one.route, caller, one.app));
      expect([caller, told.includes('passes')]).toEqual([caller, true]);
      expect([caller, told.some((verdict) => verdict !== 'passes')]).toEqual([caller, true]);
    }
  }, 120_000);

  test('every refused administrative write leaves a record', async () => {
    const silent = routes.filter((route) => isAdministrativeWrite(route) && route.refusal === null);
    expect(silent.map(nameOf)).toEqual([]);
    const recorded = await usher.app.database.read(
      async (tx) =>
        await tx.kysely
          .selectFrom('audit')
          .select(['action', 'actor'])
          .distinct()
          .where('action', 'like', '%.refused')
          .execute(),
    );
    const by = (actor: string) => new Set(recorded.filter((row) => row.actor === actor).map(({ action }) => action));
    const refusals = new Set(routes.filter(isAdministrativeWrite).map(({ refusal }) => refusal));
    expect([...refusals].filter((action) => action !== null && !by('user:plain@example.com').has(action))).toEqual([]);
    expect(
      [...refusals].filter((action) => action !== null && !by('user:foreignadmin@example.com').has(action)),
    ).toEqual([]);
  });
});
