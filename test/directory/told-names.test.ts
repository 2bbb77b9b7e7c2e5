import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { asBackend, asToken, prepareBrands, rowsOf, seconds } from './people.ts';

const ME = '/api/profile/me';
const SYNC = '/api/internal/auth/profile-sync';

for (const kind of KINDS) {
  describe(`names that tokens and backends tell (${kind})`, () => {
    let storage: TestStorage;
    let usher: RunningUsher;

    beforeAll(async () => {
      storage = await createStorage(kind);
      usher = await startUsher(storage, { env: { IDP_PUBLIC_URL: 'https://idp.example.com' } });
      await prepareBrands(usher.app.database);
    }, 60_000);
    afterAll(async () => {
      await usher?.close();
      await storage?.remove();
    }, 60_000);

    test('names of a newer token are stored, and those of an older or same-second one are not (rules 4 and 5)', async () => {
      const email = 'sync@example.com';
      const token = (iat: number, name: string) => asToken(usher, email, { iat, name, given_name: name });
      const names = async (rest: Rest) => {
        const { displayName, firstName } = (await rest.get(ME)).body.data;
        return [displayName, firstName];
      };
      const shown = async (rest: Rest) => (await names(rest))[0];
      const start = seconds(-100);
      expect(await shown(await token(start, 'first'))).toBe('first');
      expect(await shown(await token(start, 'same second'))).toBe('first');
      expect(await shown(await token(start - 50, 'older'))).toBe('first');
      expect(await shown(await token(start + 1, 'newer'))).toBe('newer');

      const old = await token(start + 2, 'old token');
      const put = await old.put(ME, { displayName: 'own' });
      expect(put.body.data.displayName).toBe('own');
      const changed = await rowsOf(
        usher.app.database,
        sql<{
          at: Date;
        }>`select names_changed_at as at from profile f join person p on p.id = f.person_id where email = ${email}`,
      );
      const second = Math.floor((changed[0]?.at.getTime() ?? 0) / 1000);
      expect(await shown(old)).toBe('own');
      expect(await names(await token(second, 'this second'))).toEqual(['own', 'old token']);
      // No provider is configured here: the name that was changed here stays, the others are the token's.
      expect(await names(await token(second + 1, 'next second'))).toEqual(['own', 'next second']);
      // A token without names says nothing of them.
      expect(await names(await asToken(usher, email, { iat: second + 2 }))).toEqual(['own', 'next second']);
    });

    test('pushed names are stored, unless they are older or the user is unknown (rule 2)', async () => {
      const email = 'push@example.com';
      const own = await asToken(usher, email, { name: 'Token', iat: seconds(-10) });
      expect((await asBackend(usher, 'PUT', SYNC, { email, displayName: 'x' })).body.data).toEqual({ applied: false });
      await own.get(ME);
      const push = async (body: object) => (await asBackend(usher, 'PUT', SYNC, { email, ...body })).body;
      const at = (more: number) => new Date(Date.now() + more).toISOString();
      expect(await push({ displayName: 'Old', changedAt: at(-60_000) })).toEqual({
        success: true,
        data: { applied: false },
      });
      expect((await own.get(ME)).body.data.displayName).toBe('Token');
      expect((await push({ displayName: 'New', firstName: 'N', changedAt: at(0) })).data).toEqual({ applied: true });
      expect((await own.get(ME)).body.data).toMatchObject({ displayName: 'New', firstName: 'N', lastName: null });
      expect((await push({ lastName: 'Now' })).data).toEqual({ applied: true });
      expect((await own.get(ME)).body.data).toMatchObject({ displayName: 'New', firstName: 'N', lastName: 'Now' });
      expect((await push({ lastName: null, firstName: '' })).data).toEqual({ applied: true });
      expect((await own.get(ME)).body.data).toMatchObject({ displayName: 'New', firstName: null, lastName: null });
      for (const [body, field] of [
        [{ displayName: 'two\nlines' }, 'displayName'],
        [{ lastName: 'x'.repeat(201) }, 'lastName'],
        [{ firstName: 7 }, 'firstName'],
        [{ changedAt: 'yesterday' }, 'changedAt'],
        [{ theme: 'dark' }, 'theme'],
        [{ email: 'nobody' }, 'email'],
      ] as const) {
        const answer = await asBackend(usher, 'PUT', SYNC, { email, ...body });
        const [issue] = answer.body.details.issues;
        expect([answer.status, issue.path, issue.message]).toEqual([400, field, expect.stringMatching(/^(must|is) /)]);
      }
    });

    test('a push from an editor whose clock runs ahead does not make later changes look old', async () => {
      const email = 'ahead@example.com';
      await (await asToken(usher, email)).get(ME);
      const far = { email, displayName: 'Ahead', changedAt: '2099-01-01T00:00:00Z' };
      expect((await asBackend(usher, 'PUT', SYNC, far)).body.data).toEqual({ applied: true });
      const [kept] = await rowsOf(
        usher.app.database,
        sql<{
          at: Date;
        }>`select names_changed_at as at from profile f join person p on p.id = f.person_id where email = ${email}`,
      );
      expect(kept?.at.getTime()).toBeLessThanOrEqual(Date.now() + 30_000);
      const next = { ...far, displayName: 'Later', changedAt: new Date(Date.now() + 60_000).toISOString() };
      expect((await asBackend(usher, 'PUT', SYNC, next)).body.data).toEqual({ applied: true });
    });

    test('pushing names requires a key with the scope, and no browser', async () => {
      const body = { email: 'ada@example.com', displayName: 'x' };
      const nobody = await Rest.as(usher);
      expect((await nobody.put(SYNC, body)).status).toBe(401);
      expect((await asBackend(usher, 'PUT', SYNC, body, { 'x-internal-api-key': 'wrong' })).status).toBe(401);
      const browser = await asBackend(usher, 'PUT', SYNC, body, { origin: 'https://app.example.com' });
      expect([browser.status, browser.body.details.code]).toEqual([403, 'BROWSER_NOT_ALLOWED']);
      expect((await asBackend(usher, 'POST', SYNC, body)).status).toBe(405);
    });
  });
}
