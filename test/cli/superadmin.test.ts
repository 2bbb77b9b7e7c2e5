import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { startUsher } from '../support/usher.ts';
import { newFolder, usher } from './harness.ts';

const { folder } = newFolder();
const EMAIL = 'ada@example.com';

describe('usher superadmin add --account', () => {
  let storage: TestStorage;
  let env: Record<string, string>;

  beforeAll(async () => {
    storage = await createStorage('pglite');
    env = { DATABASE_EMBEDDED: 'true', DATA_DIR: storage.dataDir };
  });
  afterAll(async () => {
    await storage?.remove();
    await rm(folder, { recursive: true, force: true });
  });

  test('names the account that the address belongs to, and no other is let in', async () => {
    const add = (...more: string[]) => usher(['superadmin', 'add', EMAIL, ...more, '--json'], { env });
    expect(JSON.parse((await add()).stdout)).toEqual({ email: EMAIL, added: true });
    for (const wrong of ['', ' ', 'a\nb', 'a'.repeat(256)]) {
      expect(await add('--account', wrong)).toMatchObject({ code: 1, stdout: '' });
    }
    const named = { email: EMAIL, added: false, account: '2718' };
    for (let times = 0; times < 2; times++) expect(JSON.parse((await add('--account', '2718')).stdout)).toEqual(named);
    const service = await startUsher(storage, { env: { AUTH_BIND_SUBJECT: 'true', AUTH_ADMIN_ORGANIZATIONS: 'corp' } });
    try {
      const ask = async (sub: string) => {
        const token = await service.app.localIssuer?.sign(EMAIL, { sub });
        return (await fetch(`${service.rest}/api/admin/brands`, { headers: { authorization: `Bearer ${token}` } }))
          .status;
      };
      expect([await ask('evil'), await ask('2718')]).toEqual([403, 200]);
      const records = await service.app.database.read((tx) =>
        tx.kysely
          .selectFrom('audit')
          .select(['actor', 'before', 'after'])
          .where('action', '=', 'user.subject_named')
          .execute(),
      );
      expect(records).toEqual([{ actor: 'cli', before: null, after: { issuer: 'urn:usher:local', subject: '2718' } }]);
    } finally {
      await service.close();
    }
  }, 60_000);
});
