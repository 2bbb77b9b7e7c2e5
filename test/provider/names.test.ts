import { beforeEach, describe, expect, test } from '@jest/globals';
import { Rest } from '../support/rest.ts';
import { useWorld } from './fixture.ts';

const ME = '/api/profile/me';

describe('names at the provider', () => {
  const world = useWorld();
  const profile = { givenName: 'Admin', familyName: 'Istrator', displayName: 'Admin I.' };

  beforeEach(() => {
    world.idp.oidc.faults.clear();
    world.idp.state.users = [{ id: '200', email: 'Admin@Example.com', profile: { ...profile } }];
    world.idp.calls.length = 0;
  });

  test('names sent are written at the provider and stored here, and others stay unchanged there', async () => {
    const answer = await world.root.put(ME, { firstName: 'Ada' });
    expect([answer.status, answer.body.data.firstName]).toEqual([200, 'Ada']);
    expect(world.idp.state.users[0]?.profile).toEqual({ ...profile, givenName: 'Ada' });
    expect((await world.root.put(ME, { lastName: 'Lovelace', displayName: 'Ada L.' })).status).toBe(200);
    expect(world.idp.state.users[0]?.profile).toEqual({
      givenName: 'Ada',
      familyName: 'Lovelace',
      displayName: 'Ada L.',
    });
    expect((await world.root.get(ME)).body.data).toMatchObject({ firstName: 'Ada', lastName: 'Lovelace' });
  });

  test('a record that is sent back clears no name at the provider that is unknown here', async () => {
    world.idp.state.users.push({ id: '201', email: 'fresh@example.com', profile: { ...profile } });
    const fresh = await Rest.as(world.usher, 'fresh@example.com');
    const { data } = (await fresh.get(ME)).body;
    expect(data).toMatchObject({ firstName: null, lastName: null, displayName: null });
    const answer = await fresh.put(ME, { ...data, theme: 'dark' });
    expect([answer.status, answer.body.data?.theme, world.idp.calls]).toEqual([200, 'dark', []]);
    expect((await fresh.put(ME, { ...data, firstName: 'Ada' })).status).toBe(200);
    expect(world.idp.state.users.at(-1)?.profile).toEqual({ ...profile, givenName: 'Ada' });
  });

  test('names that the provider refuses are not stored here', async () => {
    await world.root.put(ME, { firstName: 'Before' });
    const path = '/v2/users/human/200';
    for (const [fault, code] of [
      [{ status: 400, body: '{"code":3,"message":"invalid givenName (V2-1)"}' }, 'IDP_REJECTED'],
      [{ status: 503, body: '{}' }, 'IDP_UNREACHABLE'],
      ['reset', 'IDP_UNREACHABLE'],
      [{ status: 200, body: 'garbage' }, 'IDP_UNREACHABLE'],
    ] as const) {
      world.idp.oidc.faults.set(path, fault);
      const answer = await world.root.put(ME, { firstName: 'After' });
      expect([answer.status, answer.body.details.code]).toEqual([502, code]);
      expect((await world.root.get(ME)).body.data.firstName).toBe('Before');
    }
  });

  test('an answer of another shape is trouble, not a refusal', async () => {
    for (const body of ['[]', '{"result":{}}', '{"result":[{"userId":7}]}', 'null']) {
      world.idp.oidc.faults.set('/v2/users', { status: 200, body });
      const answer = await world.root.put(ME, { firstName: 'Never' });
      expect([body, answer.status, answer.body.details.code]).toEqual([body, 502, 'IDP_UNREACHABLE']);
    }
    expect(world.idp.count('PUT', '/200')).toBe(0);
  });

  test('a user that is unknown or ambiguous at the provider is not written to', async () => {
    await world.root.put(ME, { firstName: 'Before' });
    const [user] = world.idp.state.users;
    for (const users of [[], user === undefined ? [] : [user, { ...user, id: '201' }]]) {
      world.idp.state.users = users;
      const answer = await world.root.put(ME, { firstName: 'After' });
      expect([answer.status, answer.body.details.code]).toEqual([502, 'IDP_REJECTED']);
    }
    expect((await world.root.get(ME)).body.data.firstName).toBe('Before');
    expect(world.idp.count('PUT', '/201')).toBe(0);
  });

  test('a first or last name cannot be cleared, because the provider demands them', async () => {
    await world.root.put(ME, { firstName: 'Ada', lastName: 'Lovelace', displayName: 'Ada L.' });
    world.idp.calls.length = 0;
    for (const name of ['firstName', 'lastName']) {
      const answer = await world.root.put(ME, { [name]: null, displayName: 'Other' });
      expect([answer.status, answer.body.details.issues]).toEqual([
        400,
        [{ path: name, message: 'cannot be cleared: the identity provider demands a name of 1 to 200 characters' }],
      ]);
    }
    expect(world.idp.calls).toEqual([]);
    expect((await world.root.get(ME)).body.data).toMatchObject({ firstName: 'Ada', displayName: 'Ada L.' });
    expect((await world.root.put(ME, { displayName: null })).status).toBe(200);
    expect(world.idp.state.users[0]?.profile).toEqual({ givenName: 'Ada', familyName: 'Lovelace', displayName: '' });
  });

  test('names that the provider cannot hold are not sent, and repeating a write is harmless', async () => {
    expect((await world.root.put(ME, { theme: 'dark' })).status).toBe(200);
    expect(world.idp.calls).toEqual([]);
    world.idp.oidc.faults.set('/v2/users/human/200', {
      status: 400,
      body: '{"code":9,"message":"No changes (COMMAND-2n8fs)"}',
    });
    expect((await world.root.put(ME, { firstName: 'Admin' })).status).toBe(200);
  });
});
