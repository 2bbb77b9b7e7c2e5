import { describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { LOGIN_COOKIE, LoginCookie } from '../../src/provider/login-cookie.ts';
import { useDatabase } from '../support/databases.ts';

const LOGIN = { clientId: 'usher', state: 'state-1', nonce: 'nonce-1', verifier: 'verifier-1' };

describe('the login cookie', () => {
  const fixture = useDatabase('postgresql');
  const cookies = (secret = 1) =>
    new LoginCookie({
      secret: { derive: async () => Buffer.alloc(32, secret) },
      database: fixture.database,
      clock: systemClock,
      publicUrl: () => 'https://usher.example.com',
    });
  const sealed = async () => {
    const line = await cookies().seal(LOGIN);
    return line.slice(`${LOGIN_COOKIE}=`.length, line.indexOf(';'));
  };

  test('a login cookie works once, whatever the provider answers a second time', async () => {
    const cookie = await sealed();
    await expect(cookies().open(cookie, 'state-2')).rejects.toMatchObject({ code: 'BAD_REQUEST' });
    expect(await cookies().open(cookie, 'state-1')).toEqual(LOGIN);
    await expect(cookies().open(cookie, 'state-1')).rejects.toThrow('already been completed');
  });

  test('one of two concurrent uses of a login cookie works', async () => {
    const cookie = await sealed();
    const both = await Promise.allSettled([cookies().open(cookie, 'state-1'), cookies().open(cookie, 'state-1')]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  test('a login cookie opens only with the key of this installation', async () => {
    await expect(cookies(2).open(await sealed(), 'state-1')).rejects.toMatchObject({ code: 'BAD_REQUEST' });
  });
});
