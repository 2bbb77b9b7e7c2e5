import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { addSuperadmin } from '../../src/persistence/people/superadmins.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import type { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { asToken, rowsOf } from './people.ts';

const CLAIM = 'urn:zitadel:iam:user:resourceowner:id';
const SUPER = ['s1@example.com', 's2@example.com'];

describe('the first token of an address that rules (auth.bindFirst)', () => {
  let storage: TestStorage;
  const open: RunningUsher[] = [];

  beforeEach(async () => {
    storage = await createStorage('postgresql');
  }, 60_000);
  afterEach(async () => {
    for (const usher of open.splice(0)) await usher.close();
    await storage.remove();
  }, 60_000);
  afterAll(async () => {
    await Promise.all(open.map((usher) => usher.close()));
  });

  async function start(env: Record<string, string> = {}): Promise<RunningUsher> {
    const usher = await startUsher(storage, {
      env: { AUTH_BIND_SUBJECT: 'true', SUPERADMINS: SUPER.join(','), ...env },
    });
    open.push(usher);
    return usher;
  }
  const as = (usher: RunningUsher, email: string, sub: string, organization?: string): Promise<Rest> =>
    asToken(usher, email, { sub, ...(organization === undefined ? {} : { [CLAIM]: organization }) });
  const come = async (usher: RunningUsher, email: string, sub: string, organization?: string): Promise<string> => {
    const { status, body } = await (await as(usher, email, sub, organization)).get('/api/profile/me');
    return `${status} ${body.details?.code ?? ''}`.trim();
  };
  const CONFLICT = '403 IDENTITY_CONFLICT';
  const known = (usher: RunningUsher) =>
    rowsOf(usher.app.database, sql<{ id: string }>`select id from token_organization order by id`).then((rows) =>
      rows.map(({ id }) => id),
    );

  test('binds while at most one organization is known, and not from the second on', async () => {
    const usher = await start();
    expect(await come(usher, 'ann@example.com', 'ann', 'corp')).toBe('200');
    expect(await come(usher, 's1@example.com', 'evil', 'evil')).toBe(CONFLICT);
    // Who was refused was not admitted: their organization is not known by that.
    expect(await known(usher)).toEqual(['corp']);
    expect(await come(usher, 's1@example.com', 's1', 'corp')).toBe('200');
    expect(await come(usher, 'bob@example.com', 'bob', 'customer')).toBe('200');
    expect(await known(usher)).toEqual(['corp', 'customer']);
    expect(await come(usher, 's2@example.com', 's2', 'corp')).toBe(CONFLICT);
    expect(await come(usher, 's1@example.com', 's1', 'corp')).toBe('200');
    const root = await as(usher, 's1@example.com', 's1', 'corp');
    expect((await root.put('/api/users/s2@example.com/account', { subject: 's2' })).status).toBe(200);
    expect(await come(usher, 's2@example.com', 's2', 'corp')).toBe('200');
    expect(await come(usher, 's2@example.com', 'evil', 'corp')).toBe(CONFLICT);
  });

  test.each([
    [
      'brands',
      async (usher: RunningUsher) => {
        await usher.app.database.change(async (tx) => {
          await sql`insert into brand (slug, name, idp_org_id) values ('b1', 'B1', 'org-1'), ('b2', 'B2', 'org-2')`.execute(
            tx.kysely,
          );
          return { result: null, scopes: [] };
        });
      },
      {},
    ],
    [
      'set-up',
      async (usher: RunningUsher) => {
        await usher.app.database.change(async (tx) => {
          await sql`insert into organization (org_id, application_id) select o, a.id from application a, unnest('{o1,o2}'::text[]) o where a.code = 'auth'`.execute(
            tx.kysely,
          );
          return { result: null, scopes: [] };
        });
      },
      {},
    ],
    ['the configuration', async () => undefined, { IDP_ORG_TO_APP: '{"o1":"auth","o2":"auth"}' }],
  ] as const)('counts the organizations of %s, also for a token that names none', async (_, prepare, env) => {
    const usher = await start(env);
    await prepare(usher);
    expect(await come(usher, 's1@example.com', 's1', 'o1')).toBe(CONFLICT);
    expect(await come(usher, 's1@example.com', 's1')).toBe(CONFLICT);
    expect(await come(usher, 'ann@example.com', 'ann')).toBe('200');
  });

  test('says what is configured', async () => {
    const never = await start({ AUTH_BIND_FIRST: 'false' });
    expect(await come(never, 's1@example.com', 's1', 'corp')).toBe(CONFLICT);
    const always = await start({ AUTH_BIND_FIRST: 'true' });
    expect(await come(always, 'ann@example.com', 'ann', 'corp')).toBe('200');
    expect(await come(always, 'bob@example.com', 'bob', 'customer')).toBe('200');
    expect(await come(always, 's1@example.com', 's1', 'customer')).toBe('200');
    const listed = await start({ AUTH_BIND_FIRST: 'true', AUTH_ADMIN_ORGANIZATIONS: 'corp' });
    expect(await come(listed, 's2@example.com', 's2', 'customer')).toBe(CONFLICT);
    expect(await come(listed, 's2@example.com', 's2')).toBe(CONFLICT);
    expect(await come(listed, 's2@example.com', 's2', 'corp')).toBe('200');
  });

  test('of two organizations whose first tokens come to two instances at once, one binds', async () => {
    const ushers = [await start(), await start()] as const;
    for (let round = 0; round < 10; round++) {
      const fresh = [`a${round}@example.com`, `b${round}@example.com`] as const;
      await ushers[0].app.database.change(async (tx) => {
        await sql`delete from token_organization`.execute(tx.kysely);
        return { result: null, scopes: [] };
      });
      for (const email of fresh) await ushers[0].app.database.change((tx) => addSuperadmin(tx, email));
      const answers = await Promise.all([
        come(ushers[0], fresh[0], 'a', `corp${round}`),
        come(ushers[1], fresh[1], 'b', `evil${round}`),
      ]);
      expect(answers.toSorted()).toEqual(['200', CONFLICT]);
    }
  }, 60_000);

  test('of two accounts that come with one address at once, one binds, by checks too', async () => {
    const ushers = [await start({ AUTH_BIND_FIRST: 'true' }), await start({ AUTH_BIND_FIRST: 'true' })] as const;
    const question = { app: 'auth', permission: 'panel.access' };
    for (let round = 0; round < 10; round++) {
      const email = `c${round}@example.com`;
      await ushers[0].app.database.change((tx) => addSuperadmin(tx, email));
      const answers = await Promise.all(
        [0, 1, 0, 1].map(async (instance, index) => {
          const rest = await as(ushers[instance as 0 | 1], email, `account-${index}`, 'corp');
          return (await rest.post('/api/profile/me/check', question)).status;
        }),
      );
      expect(answers.toSorted((a, b) => a - b)).toEqual([200, 403, 403, 403]);
    }
  }, 60_000);

  test('a named account holds before its first token, for checks and for everything else', async () => {
    const usher = await start({ AUTH_ADMIN_ORGANIZATIONS: 'corp' });
    const root = await as(usher, 's1@example.com', 's1', 'corp');
    const name = (email: string, body: object, by = root) => by.put(`/api/users/${email}/account`, body);
    expect((await name('s2@example.com', { subject: 'named', issuer: 'urn:usher:local' })).body).toEqual({
      success: true,
      data: { email: 's2@example.com', issuer: 'urn:usher:local', subject: 'named' },
    });
    expect((await name('s2@example.com', { subject: 'named' })).status).toBe(200);
    const question = { app: 'auth', permission: 'panel.access' };
    for (const sub of ['evil', 's2']) {
      const other = await as(usher, 's2@example.com', sub, 'corp');
      expect((await other.post('/api/profile/me/check', question)).status).toBe(403);
      expect((await other.get('/api/profile/me')).status).toBe(403);
    }
    const own = await as(usher, 's2@example.com', 'named');
    expect((await own.post('/api/profile/me/check', question)).status).toBe(200);
    expect((await own.get('/api/profile/me')).status).toBe(200);
    expect((await name('nobody@example.com', { subject: 'x' })).status).toBe(404);
    for (const body of [
      {},
      { subject: '' },
      { subject: 'a\u0000' },
      { subject: 'a'.repeat(256) },
      { subject: 'a', sub: 'a' },
    ]) {
      expect((await name('s2@example.com', body)).status).toBe(400);
    }
    const plain = await as(usher, 'plain@example.com', 'plain', 'corp');
    expect((await name('plain@example.com', { subject: 'x' }, plain)).status).toBe(403);
    const records = await rowsOf(
      usher.app.database,
      sql`select action, actor, subject, before, after from audit where action like 'user.subject_named%' order by id`,
    );
    expect(records).toEqual([
      {
        action: 'user.subject_named',
        actor: 'user:s1@example.com',
        subject: 's2@example.com',
        before: null,
        after: { issuer: 'urn:usher:local', subject: 'named' },
      },
      expect.objectContaining({ action: 'user.subject_named.refused', actor: 'user:plain@example.com' }),
    ]);
  });

  test('an account that came while accounts were not bound must show that it may rule', async () => {
    const before = await start({ AUTH_BIND_SUBJECT: 'false', SUPERADMINS: SUPER.join(',') });
    expect(await come(before, 's1@example.com', 'first', 'corp')).toBe('200');
    expect(await come(before, 's1@example.com', 'second', 'evil')).toBe('200');
    const after = await start({ AUTH_ADMIN_ORGANIZATIONS: 'corp' });
    // The last one that came is kept, and may not rule: nobody ever judged it.
    expect(await come(after, 's1@example.com', 'second', 'evil')).toBe(CONFLICT);
    expect(await come(after, 's1@example.com', 'first', 'corp')).toBe(CONFLICT);
    expect(await come(after, 's1@example.com', 'second', 'corp')).toBe('200');
  });

  test('an account that was bound before its address had a right must have shown that it may rule', async () => {
    const usher = await start();
    expect(await come(usher, 'ann@example.com', 'ann', 'corp')).toBe('200');
    expect(await come(usher, 'bob@example.com', 'bob', 'customer')).toBe('200');
    for (const email of ['ann@example.com', 'bob@example.com']) {
      await usher.app.database.change((tx) => addSuperadmin(tx, email));
    }
    const answers = async (email: string, sub: string, organization: string) => {
      const rest = await as(usher, email, sub, organization);
      const asked = await rest.post('/api/profile/me/check', { app: 'auth', permission: 'panel.access' });
      return [asked.status, (await rest.get('/api/users')).status, (await rest.get('/api/profile/me')).status];
    };
    // A second organization was known when the first token of this one came.
    expect(await answers('bob@example.com', 'bob', 'customer')).toEqual([403, 403, 403]);
    expect(await answers('ann@example.com', 'ann', 'corp')).toEqual([200, 200, 200]);
  });
});
