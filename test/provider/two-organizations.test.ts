import { beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { KINDS } from '../support/databases.ts';
import { AUDIENCE } from '../support/oidc.ts';
import type { UserRow } from '../support/provider/state.ts';
import { Rest } from '../support/rest.ts';
import { useWorld } from './fixture.ts';

const ME = '/api/profile/me';
const ADMIN = 'admin@example.com';
const EMAIL = 'two@example.com';
const NOTHING = { created: 0, updated: 0, deactivated: 0, reactivated: 0, removed: 0 };
/** Later than the names of a first sign-in. */
const CHANGED = '2100-01-01T00:00:00Z';

function user(id: string, email: string, more: Partial<UserRow> = {}): UserRow {
  return { id, email, profile: { givenName: 'Ada', familyName: 'Lovelace', displayName: 'Ada L.' }, ...more };
}

/** At a provider of many organizations one address may have a user in each (docs/reference/identity-provider.md#reconciliation). */
describe.each(KINDS)('a person with users in two organizations (%s)', (kind) => {
  const world = useWorld({
    kind,
    env: (idp) => ({ AUTH_ISSUER: idp.url, AUTH_AUDIENCE: AUDIENCE, SUPERADMINS: ADMIN }),
  });
  /** The user who signs in, and the one of the other organization. */
  let own: UserRow;
  let other: UserRow;

  const as = async (subject: string, email: string) => {
    const { oidc } = world.idp;
    return Rest.bearing(world.usher, await oidc.mint({ ...oidc.claims(subject), email }));
  };
  const run = async (query = '', body?: unknown) => (await as('admin', ADMIN)).post(`/api/idp/reconcile${query}`, body);
  const isActive = async () => (await (await as('admin', ADMIN)).get(`/api/users/${EMAIL}`)).body.data.active;

  beforeEach(async () => {
    await world.usher.app.database.change(async ({ kysely }) => {
      await sql`delete from person where email = ${EMAIL}`.execute(kysely);
      return { result: null, scopes: ['*'] };
    });
    own = user('own', EMAIL);
    const profile = { givenName: 'Grace', familyName: 'Hopper', displayName: 'Grace H.' };
    other = user('other', EMAIL, { org: '700', profile, changedAt: CHANGED });
    world.idp.state.users = [user('admin', ADMIN), own, other];
    for (const [subject, email] of [
      ['admin', ADMIN],
      ['own', EMAIL],
    ] as const) {
      expect((await (await as(subject, email)).get(ME)).status).toBe(200);
    }
    expect((await run('', { brakePercent: 100 })).status).toBe(200);
    world.idp.calls.length = 0;
  });

  test.each(['before', 'behind'])('is no deactivation where the other user, listed %s, is inactive', async (place) => {
    other.state = 'USER_STATE_INACTIVE';
    if (place === 'before') world.idp.state.users = [other, own, user('admin', ADMIN)];
    // Of two people ten percent are nobody: one deactivation would brake it.
    const { status, body } = await run();
    expect([status, body.data]).toMatchObject([
      200,
      { outcome: 'done', people: 2, brake: { deactivations: 0, allowed: 0 }, found: NOTHING },
    ]);
    expect(await isActive()).toBe(true);
  });

  test('counts once where both are inactive, and is active again by either', async () => {
    for (const one of [own, other]) one.state = 'USER_STATE_INACTIVE';
    const rehearsed = await run('?dryRun=true');
    expect(rehearsed.body.data).toMatchObject({ outcome: 'braked', brake: { deactivations: 1 } });
    expect((await run('', { brakePercent: 50 })).body.data).toMatchObject({
      brake: { deactivations: 1, allowed: 1 },
      applied: { deactivated: 1 },
    });
    expect(await isActive()).toBe(false);
    other.state = 'USER_STATE_ACTIVE';
    expect((await run()).body.data.applied).toMatchObject({ reactivated: 1 });
    expect(await isActive()).toBe(true);
    expect((await run()).body.data).toMatchObject({ found: NOTHING });
  });

  test('stays while one of the users is left', async () => {
    world.idp.state.users = [user('admin', ADMIN), other];
    expect((await run()).body.data).toMatchObject({ outcome: 'done', found: NOTHING });
    expect(await isActive()).toBe(true);
  });

  test('changes a name at the user who signs in, and at no other', async () => {
    const person = await as('own', EMAIL);
    const { status, body } = await person.put(ME, { firstName: 'Augusta' });
    expect([status, body.data?.firstName]).toEqual([200, 'Augusta']);
    expect(own.profile).toEqual({ givenName: 'Augusta', familyName: 'Lovelace', displayName: 'Ada L.' });
    expect(other.profile).toMatchObject({ givenName: 'Grace' });
    // The address alone would have found both.
    expect(world.idp.count('POST', '/v2/users')).toBe(0);
  });

  test('has the names of the user who signs in', async () => {
    const names = async () => (await (await as('own', EMAIL)).get(ME)).body.data;
    Object.assign(own, { profile: { givenName: 'Augusta', familyName: 'King', displayName: '' }, changedAt: CHANGED });
    expect((await run()).body.data.applied).toMatchObject({ updated: 1 });
    expect(await names()).toMatchObject({ firstName: 'Augusta', lastName: 'King' });
    expect((await run()).body.data).toMatchObject({ found: NOTHING });
  });
});
