import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type KyselyPlugin, sql } from 'kysely';
import { createLogger } from '../../src/base/telemetry.ts';
import { AppAdmins } from '../../src/catalog/app-admins.ts';
import { Assignments } from '../../src/catalog/assignments.ts';
import { ResourceOverrides } from '../../src/catalog/overrides.ts';
import { Level } from '../../src/engine/types.ts';
import type { Database } from '../../src/persistence/database.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { Rest, type RestAnswer } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const COUNT = 1000;
const BULK = `
application: { code: bulk, name: Bulk }
permissions:
${Array.from({ length: COUNT }, (_, index) => `  - { code: p${index}, type: tiered }`).join('\n')}
roles:
${Array.from({ length: COUNT }, (_, index) => `  - { code: r${index} }`).join('\n')}
`;
const BUSY = `
application: { code: busy, name: Busy }
entities: [{ code: keep, name: Keep }, { code: thing, name: Thing }]
permissions: [{ code: a, type: tiered }, { code: b, type: binary }, { code: c, type: binary }]
roles: [{ code: x, permissions: { a: view } }, { code: y, permissions: { a: edit } }, { code: z, permissions: { b: allowed } }]
`;

describe("large and concurrent changes of people's sets", () => {
  let storage: TestStorage;
  let usher: RunningUsher;
  let root: Rest;

  /** The service's log of errors, to explain an unexpected answer. */
  const errors: string[] = [];

  beforeAll(async () => {
    storage = await createStorage('postgresql');
    usher = await startUsher(storage, {
      parts: { log: createLogger('warn', { write: (line) => void errors.push(line) }) },
    });
    root = await Rest.as(usher, 'admin@example.com');
    for (const text of [BULK, BUSY]) await usher.app.manifests.apply(text, { actor: 'cli' });
  }, 60_000);
  afterAll(async () => {
    await usher?.close();
    await storage?.remove();
  }, 60_000);

  const idsOf = (table: 'role' | 'permission', app: string) =>
    usher.app.database.read(
      async (tx) =>
        await tx.kysely
          .selectFrom(table)
          .select(['id', 'code'])
          .where('applicationId', '=', (eb) => eb.selectFrom('application').select('id').where('code', '=', app))
          .orderBy('id')
          .execute(),
    );

  /** A database that counts the statements of the writes made through it. */
  const counting = () => {
    const seen = { statements: 0 };
    const plugin: KyselyPlugin = {
      transformQuery: ({ node }) => {
        seen.statements++;
        return node;
      },
      transformResult: async ({ result }) => result,
    };
    const { database } = usher.app;
    const counted = {
      change: (fn: Parameters<Database['change']>[0]) =>
        database.change((tx) => fn({ kysely: tx.kysely.withPlugin(plugin) })),
    } as Pick<Database, 'change'> as Database;
    return { seen, counted };
  };
  const by = { caller: { email: 'admin@example.com' }, requestId: 'request-0001' };

  test('replacing a thousand entries takes as many statements as replacing one', async () => {
    const roles = (await idsOf('role', 'bulk')).map(({ id }) => id);
    const permissions = (await idsOf('permission', 'bulk')).map(({ id }) => id);
    const resource = { resourceType: 'thing', resourceId: '1' };
    const write = async (email: string, count: number): Promise<number[]> => {
      const { seen, counted } = counting();
      const { result } = await new Assignments(counted).replaceRoles(
        'bulk',
        email,
        { field: 'roleIds', roles: roles.slice(0, count).map((reference) => ({ reference })) },
        undefined,
        by,
      );
      expect(result.roles).toHaveLength(count);
      const forRoles = seen.statements;
      const wanted = permissions
        .slice(0, count)
        .map((permission) => ({ permission, granted: true, level: Level.VIEW }));
      const made = await new ResourceOverrides(counted).replace('bulk', email, resource, wanted, undefined, by);
      expect(made.result.overrides).toHaveLength(count);
      return [forRoles, seen.statements - forRoles];
    };
    const [one, thousand] = [await write('one@example.com', 1), await write('thousand@example.com', COUNT)];
    expect(thousand).toEqual(one);
    expect(Math.max(...thousand)).toBeLessThan(20);

    // Over REST as well, there and back.
    const path = '/api/users/rest@example.com/apps/bulk/roles';
    expect((await root.put(path, { roleIds: roles })).body.data).toHaveLength(COUNT);
    expect((await root.put(path, { roleIds: roles.slice(0, 1) })).body.data).toHaveLength(1);
  });

  test('sixteen concurrent writers neither deadlock nor lose an update', async () => {
    const roles = await idsOf('role', 'busy');
    const permissions = await idsOf('permission', 'busy');
    const emails = ['ada@example.com', 'bob@example.com'];
    const random = (n: number) => Math.floor(Math.random() * n);
    const some = <T>(from: readonly T[]): T[] => from.filter(() => random(2) === 0);
    const write = (): Promise<RestAnswer> => {
      const email = emails[random(emails.length)];
      switch (random(4)) {
        case 0: {
          const wanted = some(permissions).map(({ id }) => ({ permissionId: id, granted: random(2) === 0 }));
          const path = `/api/users/${email}/apps/busy/resources/keep/1/permissions`;
          return root.put(path, { permissions: wanted });
        }
        case 1:
          return random(2) === 0
            ? root.post('/api/users/admins/apps/busy', { email })
            : root.delete(`/api/users/admins/apps/busy/${email}`);
        default: {
          const roleIds = some(roles)
            .map(({ id }) => id)
            .sort(() => random(3) - 1);
          return root.put(`/api/users/${email}/apps/busy/roles`, { roleIds });
        }
      }
    };
    const unexpected: unknown[] = [];
    errors.length = 0;
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        for (let round = 0; round < 12; round++) {
          const { status, body } = await write();
          if (![200, 201, 204, 404].includes(status)) unexpected.push({ status, body });
        }
      }),
    );
    expect({ unexpected, errors }).toEqual({ unexpected: [], errors: [] });

    // Each record's `before` is the `after` of the one before it: nobody replaced a set that they had not seen.
    const records = await usher.app.database.read(
      async (tx) =>
        await tx.kysely
          .selectFrom('audit')
          .select(['action', 'subject', 'before', 'after'])
          .where('appCode', '=', 'busy')
          .where('action', 'in', ['user_roles.replaced', 'override.replaced'])
          .orderBy('id')
          .execute(),
    );
    expect(records.length).toBeGreaterThan(40);
    const last = new Map<string, unknown>();
    for (const { action, subject, before, after } of records) {
      const key = `${action} ${subject}`;
      if (last.has(key)) expect([key, before]).toEqual([key, last.get(key)]);
      last.set(key, after);
    }
    for (const email of emails) {
      const held = (await root.get(`/api/users/${email}/apps/busy/roles`)).body.data.map(
        (row: { code: string }) => row.code,
      );
      expect(last.get(`user_roles.replaced ${email}`)).toEqual({ roles: held });
    }
  }, 60_000);

  test('an administrator removed while being added is added, then removed', async () => {
    const email = 'fay@example.com';
    const { database } = usher.app;
    await new AppAdmins(database).add('busy', email, {}, by);
    let removed: Promise<unknown> | undefined;
    // After the statement that finds the seat the removal begins, half a second before the next one.
    const plugin: KyselyPlugin = {
      transformQuery: ({ node }) => node,
      transformResult: async ({ result }) => {
        const [row] = result.rows;
        if (row === undefined || !('startsAt' in row || 'starts_at' in row)) return result;
        removed = new AppAdmins(database).remove('busy', email, by);
        await Promise.race([removed, new Promise((resolve) => setTimeout(resolve, 500))]);
        return result;
      },
    };
    const slowly = {
      change: (fn: Parameters<Database['change']>[0]) =>
        database.change((tx) => fn({ kysely: tx.kysely.withPlugin(plugin) })),
    } as Pick<Database, 'change'> as Database;
    const { result } = await new AppAdmins(slowly).add('busy', email, {}, by);
    expect(result).toMatchObject({ made: false, admin: { email } });
    await expect(removed).resolves.toMatchObject({ result: null });
  });

  test('roles deleted while being assigned cause no error and leave no assignment', async () => {
    for (let round = 0; round < 15; round++) {
      const made = await root.post('/api/applications/busy/roles', { code: `passing${round}` });
      const [put, gone] = await Promise.all([
        root.put('/api/users/eve@example.com/apps/busy/roles', { roleIds: [made.body.data.id] }),
        root.delete(`/api/applications/busy/roles/${made.body.data.id}`),
      ]);
      expect(gone.status).toBe(204);
      expect([200, 400]).toContain(put.status);
      if (put.status === 400) expect(put.body.details.code).toBe('UNKNOWN_REFERENCE');
      expect((await root.get('/api/users/eve@example.com/apps/busy/roles')).body.data).toEqual([]);
    }
  });

  test('an entity deleted while an override of its type is created stays, or the override is refused', async () => {
    const [permission] = await idsOf('permission', 'busy');
    for (let round = 0; round < 24; round++) {
      const email = `entity${round}@example.com`;
      const path = `/api/users/${email}/apps/busy/resources/thing/1/permissions`;
      // In the order of every deletion of an entity: its row first, then the references to it.
      const remove = async (): Promise<boolean> => {
        const { result } = await usher.app.database.change(async (tx) => {
          await sql`select from entity where code = 'thing' for update`.execute(tx.kysely);
          const used = await sql`select from resource_override where resource_type = 'thing'
            and application_id = (select id from application where code = 'busy') limit 1`.execute(tx.kysely);
          if (used.rows.length > 0) return { result: false, scopes: [] };
          await sql`delete from entity where code = 'thing'`.execute(tx.kysely);
          return { result: true, scopes: ['p:busy'] };
        });
        return result;
      };
      const late = new Promise<void>((resolve) => setTimeout(resolve, round % 6));
      const [put, removed] = await Promise.all([
        root.put(path, { permissions: [{ permissionId: permission?.id, granted: true }] }),
        late.then(remove),
      ]);
      expect([`${put.status} ${removed}`, put.body.details?.code ?? 'OK']).toEqual(
        removed ? ['400 true', 'UNKNOWN_RESOURCE_TYPE'] : ['200 false', 'OK'],
      );
      await root.put(path, { permissions: [] });
      if (removed) {
        await usher.app.database.change(async (tx) => {
          await sql`insert into entity (application_id, code, name)
            select id, 'thing', 'Thing' from application where code = 'busy'`.execute(tx.kysely);
          return { result: null, scopes: ['p:busy'] };
        });
      }
    }
  });
});
