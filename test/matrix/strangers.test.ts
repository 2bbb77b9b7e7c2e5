import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Route } from '../../src/gateway/route/route.ts';
import { gatewayRoutes } from '../../src/gateway/routes.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { nameOf } from './expectations.ts';

/**
 * At a provider of many organizations the owner of any may make a user with anybody's address, called verified. Every route that takes a
 * user's token, asked by such users with addresses that rule (docs/reference/callers.md#several-organizations). Each request holds a
 * parameter that no route knows, so that whoever passes the guard gets 400.
 */
const MANIFEST = `
application: { code: billing, name: Billing }
admins: [admin-of-billing@example.com]
`;
const PANEL = `
application: { code: auth, name: Administration }
assignments: [{ email: holder-of-role@example.com, roles: [application_manager] }]
overrides:
  - { email: holder-of-override@example.com, resourceType: application, resourceId: billing, permission: applications.manage, granted: true, accessLevel: view }
  - { email: holder-of-denial@example.com, resourceType: application, resourceId: billing, permission: applications.manage, granted: false }
`;
const RULING = [
  'super@example.com',
  'admin-of-billing@example.com',
  'holder-of-role@example.com',
  'holder-of-override@example.com',
  'holder-of-denial@example.com',
];
const CLAIM = 'urn:zitadel:iam:user:resourceowner:id';

const routes = gatewayRoutes({ production: false }).filter(({ guard }) => guard.scheme === 'bearer');

describe('tokens with the address of somebody who rules', () => {
  let storage: TestStorage;
  let usher: RunningUsher;

  beforeAll(async () => {
    storage = await createStorage('postgresql');
    usher = await startUsher(storage, {
      env: { AUTH_BIND_SUBJECT: 'true', AUTH_ADMIN_ORGANIZATIONS: 'corp', SUPERADMINS: 'super@example.com' },
    });
    for (const text of [MANIFEST, PANEL]) await usher.app.manifests.apply(text, { actor: 'cli' });
  }, 60_000);
  afterAll(async () => {
    await usher?.close();
    await storage?.remove();
  }, 60_000);

  const sign = (email: string, sub: string, organization?: string) =>
    usher.app.localIssuer?.sign(email, { sub, ...(organization === undefined ? {} : { [CLAIM]: organization }) });

  async function ask(route: Route, token: string | undefined): Promise<string> {
    const values: Record<string, string> = { appCode: 'billing', email: 'target@example.com' };
    const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) => values[name] ?? '1');
    const response = await fetch(`${usher.rest}${path}?not-a-parameter=1`, {
      method: route.method.toUpperCase(),
      headers: { authorization: `Bearer ${token}` },
      redirect: 'manual',
    });
    const text = await response.text();
    const reason = response.status === 403 && text !== '' ? JSON.parse(text).details?.code : '';
    return `${response.status} ${reason}`;
  }

  async function wrongAnswers(token: string | undefined, right: (said: string) => boolean): Promise<string[]> {
    const wrong: string[] = [];
    const next = routes.values();
    const askAll = async () => {
      for (const route of next) {
        const said = await ask(route, token);
        if (!right(said)) wrong.push(`${nameOf(route)}: ${said}`);
      }
    };
    await Promise.all(Array.from({ length: 8 }, askAll));
    return wrong;
  }
  const isRefused = (said: string) => said === '403 IDENTITY_CONFLICT';
  const accounts = async () =>
    await usher.app.database.read(
      async (tx) => await tx.kysely.selectFrom('person_account').select(['userId', 'mayRule']).execute(),
    );

  test.each(RULING)(
    'are refused at every route without an account, and bind nothing: %s',
    async (email) => {
      for (const organization of ['evil', undefined]) {
        expect(await wrongAnswers(await sign(email, `evil-${email}`, organization), isRefused)).toEqual([]);
      }
      expect((await accounts()).filter(({ userId }) => userId === `evil-${email}`)).toEqual([]);
      const { rows } = await usher.app.database.read((tx) =>
        sql`select before, after from audit where action = 'user.subject_bound.refused' and subject = ${email}`.execute(
          tx.kysely,
        ),
      );
      expect(rows).toEqual([
        { before: null, after: { issuer: 'urn:usher:local', subject: `evil-${email}`, organization: 'evil' } },
      ]);
    },
    60_000,
  );

  test.each(RULING)(
    'are admitted from the organization of the administrators, whose first account stays: %s',
    async (email) => {
      expect(await wrongAnswers(await sign(email, `own-${email}`, 'corp'), (said) => !isRefused(said))).toEqual([]);
      expect(await accounts()).toContainEqual({ userId: `own-${email}`, mayRule: true });
      expect(await wrongAnswers(await sign(email, `evil-${email}`, 'evil'), isRefused)).toEqual([]);
      expect(await wrongAnswers(await sign(email, `other-${email}`, 'corp'), isRefused)).toEqual([]);
    },
    60_000,
  );

  test('are refused at every route once the address has its first right, however early they were bound', async () => {
    const email = 'promoted@example.com';
    const token = await sign(email, 'early', 'evil');
    expect(await wrongAnswers(token, (said) => !isRefused(said))).toEqual([]);
    expect(await accounts()).toContainEqual({ userId: 'early', mayRule: false });
    await usher.app.manifests.apply(MANIFEST.replace(']', `, ${email}]`), { actor: 'cli' });
    expect(await wrongAnswers(token, isRefused)).toEqual([]);
    // Nor can the true owner take the address over by their own token: a SuperAdmin names their account.
    expect(await wrongAnswers(await sign(email, 'owner', 'corp'), isRefused)).toEqual([]);
    const root = await sign('super@example.com', 'own-super@example.com', 'corp');
    const named = await fetch(`${usher.rest}/api/users/${email}/account`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${root}`, 'content-type': 'application/json' },
      body: JSON.stringify({ subject: 'owner' }),
    });
    expect([named.status, await named.json()]).toEqual([
      200,
      { success: true, data: { email, issuer: 'urn:usher:local', subject: 'owner' } },
    ]);
    expect(await wrongAnswers(await sign(email, 'owner', 'evil'), (said) => !isRefused(said))).toEqual([]);
    expect(await wrongAnswers(token, isRefused)).toEqual([]);
  }, 60_000);
});
