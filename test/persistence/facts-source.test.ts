import { describe, expect, test } from '@jest/globals';
import { CompiledQuery, sql } from 'kysely';
import type { MemberNeed, Revision } from '../../src/engine/types.ts';
import { Level } from '../../src/engine/types.ts';
import type { Database, Scope } from '../../src/persistence/database.ts';
import { readAnswers, readPolicy, readWindow } from '../../src/persistence/facts/rows.ts';
import { memberIn, policyIn } from '../../src/persistence/facts/source.ts';
import { REPLICA_MEMBERS_SQL } from '../../src/persistence/facts/sql.ts';
import { forEachDatabase } from '../support/databases.ts';
import { type AppRows, insertApplication, insertOverride, insertUserRole, personId } from '../support/rows.ts';

const need = (email: string, app: string, resourceType = '', resourceId = ''): MemberNeed => ({
  email,
  app,
  resourceType,
  resourceId,
});

const write = (database: Database, ...scopes: Scope[]) => database.change(async () => ({ result: undefined, scopes }));

/** An application `code` with everything that facts tell of, and the people in it. */
async function fill(database: Database, code: string): Promise<AppRows> {
  const { result } = await database.change(async (tx) => {
    const app = await insertApplication(tx, code, {
      permissions: { view: {}, edit: { tiered: true, groupName: 'Žluté' }, all: { global: true } },
      roles: { reader: { view: Level.ALLOWED }, writer: { view: Level.ALLOWED, edit: Level.EDIT } },
    });
    await insertUserRole(tx, app, `ann@${code}`, 'reader');
    await insertUserRole(tx, app, `ann@${code}`, 'writer');
    await insertOverride(tx, app, `ann@${code}`, {
      type: 'doc',
      id: 'Č 1"\\{}',
      permission: 'view',
      level: Level.NONE,
    });
    await insertOverride(tx, app, `ann@${code}`, {
      type: 'doc',
      id: '2',
      permission: 'edit',
      tiered: true,
      level: Level.VIEW,
    });
    const bob = await personId(tx, `bob@${code}`);
    await tx.kysely.insertInto('app_admin').values({ personId: bob, applicationId: app.id }).execute();
    const eve = await personId(tx, `eve@${code}`);
    await tx.kysely.insertInto('superadmin').values({ personId: eve }).execute();
    for (const [email, flag] of [
      ['blocked', 'blocked = true'],
      ['left', 'provider_active = false'],
    ] as const) {
      const id = await personId(tx, `${email}@${code}`);
      await sql`update person set ${sql.raw(flag)} where id = ${id}`.execute(tx.kysely);
    }
    return { result: app, scopes: ['*'] };
  });
  return result;
}

/** Makes the address a user's record; answers how many it has changed. */
async function register(database: Database, email: string): Promise<{ rows: bigint }> {
  const { result } = await database.change(async (tx) => {
    const done = await sql`update person set registered_at = now() where email = ${email}`.execute(tx.kysely);
    return { result: { rows: done.numAffectedRows ?? 0n }, scopes: [] };
  });
  return result;
}

forEachDatabase('facts', (fixture, kind) => {
  test('grounds returns all facts of one question, with the codes of roles', async () => {
    const app = await fill(fixture.database, 'why');
    const ask = async (email: string, permission: string, resource: [string, string] = ['', ''], code = 'why') => {
      const [resourceType, resourceId] = resource;
      const question = { email, app: code, permission, resourceType, resourceId };
      const { grounds, window } = await fixture.database.facts.grounds(0, question);
      expect(window.head).toBeGreaterThan(0);
      expect(window.headNonce).toEqual(expect.any(String));
      return grounds;
    };
    const edit = await ask('ann@why', 'edit', ['doc', '2']);
    expect(edit.answer).toEqual({
      person: { email: 'ann@why', active: true, superadmin: false },
      member: { app: 'why', email: 'ann@why', appId: app.id, admin: false, roleIds: expect.any(Array) },
      overrides: {
        app: 'why',
        email: 'ann@why',
        resourceType: 'doc',
        resourceId: '2',
        levels: [{ permissionId: app.permissions.edit, level: Level.VIEW }],
      },
      boundaries: { person: null, member: null, overrides: null },
    });
    expect([...edit.roles].sort((a, b) => (a.code < b.code ? -1 : 1))).toEqual([
      { id: app.roles.reader, code: 'reader' },
      { id: app.roles.writer, code: 'writer' },
    ]);
    expect(edit.policy).toMatchObject({
      appId: app.id,
      permissions: [{ id: app.permissions.edit, code: 'edit', tiered: true, global: false, groupName: 'Žluté' }],
      rolePermissions: [{ roleId: app.roles.writer, permissionId: app.permissions.edit, level: Level.EDIT }],
    });
    // Mentioned, but nobody has made a record of it.
    expect(edit.userKnown).toBe(false);
    expect(await ask('blocked@why', 'view')).toMatchObject({ answer: { person: { active: false }, overrides: null } });
    expect(await ask('eve@why', 'none')).toMatchObject({
      answer: { person: { superadmin: true } },
      policy: { permissions: [], rolePermissions: [] },
      roles: [],
    });
    expect((await ask('ann@why', 'none')).roles).toHaveLength(2);
    expect(await ask('nobody@why', 'edit', ['doc', '2'], 'nowhere')).toMatchObject({
      userKnown: false,
      policy: { appId: null, permissions: [] },
      answer: { member: { appId: null, roleIds: [] }, overrides: { levels: [] } },
    });
    const { rows } = await register(fixture.database, 'ann@why');
    expect(rows).toBe(1n);
    expect((await ask('ann@why', 'edit')).userKnown).toBe(true);
  });

  test('grants count by the clock of the database, and say how long that stays so', async () => {
    await fill(fixture.database, 'time');
    const needs = [need('ann@time', 'time', 'doc', '2'), need('ann@time', 'time'), need('bob@time', 'time')];
    const windows = (table: string, email: string, startsAt: string, endsAt: string, where = 'true') =>
      fixture.database.change(async (tx) => {
        await sql`update ${sql.table(table)} set starts_at = now() + ${sql.lit(startsAt)}::interval,
            ends_at = now() + ${sql.lit(endsAt)}::interval
          where person_id = (select id from person where email = ${email}) and ${sql.raw(where)}`.execute(tx.kysely);
        return { result: undefined, scopes: ['*'] };
      });
    const read = async () => {
      const { answers } = await fixture.database.facts.members(0, needs);
      return answers.map(({ member, overrides, boundaries }) => {
        return [member.admin || member.roleIds.length, overrides?.levels.length ?? null, boundaries];
      });
    };
    const none = { person: null, member: null, overrides: null };
    expect(await read()).toEqual([
      [2, 1, none],
      [2, null, none],
      [true, null, none],
    ]);
    const about = (ms: number) => {
      return {
        asymmetricMatch: (left: unknown) => Number.isInteger(left) && Number(left) <= ms && Number(left) > ms - 9000,
      };
    };
    await windows('user_role', 'ann@time', '-1 hour', '1 hour');
    await windows('app_admin', 'bob@time', '10 seconds', '1 hour');
    await windows('resource_override', 'ann@time', '-1 hour', '20 seconds', "resource_id = '2'");
    const member = about(3_600_000);
    expect(await read()).toEqual([
      [2, 1, { person: null, member, overrides: about(20_000) }],
      [2, null, { person: null, member, overrides: null }],
      [0, null, { person: null, member: about(10_000), overrides: null }],
    ]);
    // The override of another record has no say in it.
    await windows('resource_override', 'ann@time', '-1 hour', '-1 second', "resource_id = '2'");
    await windows('resource_override', 'ann@time', '-1 hour', '1 second', "resource_id <> '2'");
    await windows('user_role', 'ann@time', '-1 hour', '-0.001 seconds');
    await windows('app_admin', 'bob@time', '0 seconds', '10 years');
    expect(await read()).toEqual([
      [0, 0, none],
      [0, null, none],
      [true, null, { person: null, member: expect.any(Number), overrides: null }],
    ]);
    // A replica says only that there are beginnings or ends, past ones too: its own clock may be wrong.
    const replica = await fixture.database.read(async (tx) => {
      const parameters = [
        0,
        ...(['email', 'app', 'resourceType', 'resourceId'] as const).map((of) => needs.map((n) => n[of])),
      ];
      const { rows } = await tx.kysely.executeQuery(CompiledQuery.raw(REPLICA_MEMBERS_SQL, parameters));
      return readAnswers(rows[0] as Parameters<typeof readAnswers>[0], needs).map(({ boundaries }) => boundaries);
    });
    expect(replica).toEqual([
      { person: null, member: 0, overrides: 0 },
      { person: null, member: 0, overrides: null },
      { person: null, member: 0, overrides: null },
    ]);
    // Guards of writes, and explanations.
    const inWrite = await fixture.database.read((tx) => memberIn(tx, needs[0] as MemberNeed));
    expect([inWrite.member.roleIds, inWrite.overrides?.levels]).toEqual([[], []]);
    const question = { email: 'ann@time', app: 'time', permission: 'edit', resourceType: 'doc', resourceId: '2' };
    const { grounds } = await fixture.database.facts.grounds(0, question);
    expect([grounds.answer.member.roleIds, grounds.answer.overrides?.levels, grounds.roles]).toEqual([[], [], []]);
  });

  test('members returns person, member and overrides of each need, in order', async () => {
    const app = await fill(fixture.database, 'crm');
    const { answers } = await fixture.database.facts.members(0, [
      need('ann@crm', 'crm', 'doc', 'Č 1"\\{}'),
      need('ann@crm', 'crm', 'doc', '2'),
      need('ann@crm', 'crm'),
      need('bob@crm', 'crm', 'doc', '2'),
      need('eve@crm', 'none', 'doc', '2'),
      need('blocked@crm', 'crm'),
      need('left@crm', 'crm'),
      need('nobody@crm', 'crm', 'doc', '2'),
      need('ann@crm', 'crm', 'DOC', '2'),
    ]);
    const told = answers.map(({ person, member, overrides }) => [
      `${person.active ? 'active' : 'inactive'}${person.superadmin ? ' super' : ''}`,
      member.appId === app.id,
      `${member.admin ? 'admin' : ''}`,
      member.roleIds.length,
      overrides === null ? null : overrides.levels.map(({ permissionId, level }) => [permissionId, level]),
    ]);
    expect(told).toEqual([
      ['active', true, '', 2, [[app.permissions.view, Level.NONE]]],
      ['active', true, '', 2, [[app.permissions.edit, Level.VIEW]]],
      ['active', true, '', 2, null],
      ['active', true, 'admin', 0, []],
      ['active super', false, '', 0, []],
      ['inactive', true, '', 0, null],
      ['inactive', true, '', 0, null],
      ['active', true, '', 0, []],
      ['active', true, '', 2, []],
    ]);
    expect(answers[4]?.member).toEqual({ app: 'none', email: 'eve@crm', appId: null, admin: false, roleIds: [] });
    expect(answers[3]?.overrides).toMatchObject({ app: 'crm', email: 'bob@crm', resourceType: 'doc', resourceId: '2' });
  });

  test('members accepts 256 needs, each with its own answer', async () => {
    const needs = Array.from({ length: 256 }, (_, i) => need(i % 2 === 0 ? 'ann@crm' : `n${i}@crm`, 'crm'));
    const { answers } = await fixture.database.facts.members(0, needs);
    expect(answers.map(({ person }) => person.email)).toEqual(needs.map(({ email }) => email));
    expect(answers.map(({ member }) => member.roleIds.length)).toEqual(needs.map((_, i) => (i % 2 === 0 ? 2 : 0)));
    await expect(fixture.database.facts.members(0, [...needs, need('one@more', 'crm')])).rejects.toThrow(RangeError);
    await expect(fixture.database.facts.members(0, [])).rejects.toThrow(RangeError);
  });

  test('policy returns permissions and role levels, and nothing for an unknown application', async () => {
    const app = await fill(fixture.database, 'shop');
    const { policy } = await fixture.database.facts.policy(0, 'shop');
    expect(policy).toMatchObject({ app: 'shop', appId: app.id });
    expect(policy.permissions).toEqual([
      { id: app.permissions.all, code: 'all', tiered: false, global: true, groupName: null },
      { id: app.permissions.edit, code: 'edit', tiered: true, global: false, groupName: 'Žluté' },
      { id: app.permissions.view, code: 'view', tiered: false, global: false, groupName: null },
    ]);
    const grants = policy.rolePermissions.map(
      ({ roleId, permissionId, level }) => `${roleId} ${permissionId} ${level}`,
    );
    expect(grants.toSorted()).toEqual(
      [
        `${app.roles.reader} ${app.permissions.view} ${Level.ALLOWED}`,
        `${app.roles.writer} ${app.permissions.view} ${Level.ALLOWED}`,
        `${app.roles.writer} ${app.permissions.edit} ${Level.EDIT}`,
      ].toSorted(),
    );
    expect(policy).toMatchObject({ strictCodes: false, resourceTypes: [] });
    await fixture.database.change(async ({ kysely }) => {
      await sql`update application set strict_codes = true where code = 'shop'`.execute(kysely);
      await sql`insert into entity (application_id, code, name) values (${app.id}, 'page', 'Page'), (${app.id}, 'book', 'Book')`.execute(
        kysely,
      );
      return { result: null, scopes: ['p:shop'] };
    });
    const strict = await fixture.database.facts.policy(0, 'shop');
    expect(strict.policy).toMatchObject({ strictCodes: true, resourceTypes: ['book', 'page'] });
    const none = await fixture.database.facts.policy(0, 'none');
    expect(none.policy).toEqual({
      app: 'none',
      appId: null,
      strictCodes: false,
      resourceTypes: [],
      permissions: [],
      rolePermissions: [],
    });
  });

  test('every statement returns the log after `since`, and the nonce of the row at it', async () => {
    const { facts } = fixture.database;
    const { number: since } = await write(fixture.database, '*');
    const nonce = (await facts.changes(since - 1)).changes[0]?.nonce;
    await write(fixture.database, 'p:crm', 'u:ann@crm');
    const window = {
      head: since + 1,
      headNonce: expect.any(String),
      sinceNonce: nonce,
      tooMany: false,
      changes: [{ revision: since + 1, nonce: expect.any(String), scopes: ['p:crm', 'u:ann@crm'] }],
    };
    expect(nonce).toMatch(/^\d{1,15}$/);
    const now = await facts.changes(since);
    expect(now).toEqual(window);
    expect(now.headNonce).toBe(now.changes[0]?.nonce);
    expect((await facts.members(since, [need('ann@crm', 'crm')])).window).toEqual(window);
    expect((await facts.policy(since, 'crm')).window).toEqual(window);
    expect(await facts.changes(since + 1)).toMatchObject({ head: since + 1, changes: [], tooMany: false });
    expect(await facts.changes(since + 100)).toMatchObject({
      head: since + 1,
      sinceNonce: null,
      changes: [],
      tooMany: false,
    });
    expect(await facts.changes(0)).toMatchObject({ sinceNonce: null });
  });

  test('the log has at most 1,000 changes, and otherwise reports only that there are more', async () => {
    const { number: since } = await write(fixture.database, '*');
    const add = (count: number) =>
      fixture.database.change(async (tx) => {
        await sql`insert into policy_change (revision, nonce, scopes)
          select (select max(revision) from policy_change) + i, 'n' || i, '{*}' from generate_series(1, ${count}::int) i`.execute(
          tx.kysely,
        );
        return { result: 0, scopes: ['*'] };
      });
    await add(999);
    const full = await fixture.database.facts.changes(since);
    expect(full.changes.map(({ revision }) => revision)).toEqual(Array.from({ length: 1000 }, (_, i) => since + 1 + i));
    await add(0);
    expect(await fixture.database.facts.changes(since)).toMatchObject({
      head: since + 1001,
      changes: [],
      tooMany: true,
    });
  });

  test('facts read during a change do not contain it, and do not wait for it', async () => {
    const { promise: inside, resolve: isInside } = Promise.withResolvers<void>();
    const { promise: goOn, resolve: finish } = Promise.withResolvers<void>();
    const before = (await fixture.database.facts.changes(0)).head;
    const order: string[] = [];
    const changing = fixture.database
      .change(async (tx) => {
        const app = await insertApplication(tx, 'uncommitted', { permissions: { view: {} } });
        isInside();
        await goOn;
        return { result: app, scopes: ['p:uncommitted'] };
      })
      .finally(() => order.push('changed'));
    await inside;
    const reading = Promise.all([
      fixture.database.facts.policy(before, 'uncommitted'),
      fixture.database.facts.members(before, [need('ann@crm', 'uncommitted')]),
    ]).finally(() => order.push('read'));
    // PGlite has one session: the facts wait for the end of the transaction, and then show all of it.
    if (kind === 'postgresql') await reading;
    finish();
    const [{ window, policy }, members] = await reading;
    const { number: revision } = await changing;
    const seen = kind === 'postgresql' ? { head: before, permissions: 0 } : { head: revision, permissions: 1 };
    expect({ head: window.head, permissions: policy.permissions.length }).toEqual(seen);
    expect(members.window.head).toBe(seen.head);
    expect(members.answers[0]?.member.appId === null).toBe(kind === 'postgresql');
    expect(order).toEqual(kind === 'postgresql' ? ['read', 'changed'] : expect.arrayContaining(['changed', 'read']));
  });

  test('facts never contain a change that is rolled back', async () => {
    const { promise: inside, resolve: isInside } = Promise.withResolvers<void>();
    const changing = fixture.database.change<never>(async (tx) => {
      await insertApplication(tx, 'undone');
      isInside();
      await new Promise((resolve) => setTimeout(resolve, 20));
      throw new Error('undo');
    });
    await inside;
    const reading = fixture.database.facts.policy(0, 'undone');
    await expect(changing).rejects.toThrow('undo');
    expect((await reading).policy.appId).toBeNull();
  });

  test('a guard inside a change sees its own rows', async () => {
    const { result } = await fixture.database.change(async (tx) => {
      const app = await insertApplication(tx, 'guarded', { permissions: { view: {} } });
      const id = await personId(tx, 'gus@guarded');
      await tx.kysely.insertInto('app_admin').values({ personId: id, applicationId: app.id }).execute();
      const members = [
        await memberIn(tx, need('gus@guarded', 'guarded')),
        await memberIn(tx, need('eve@crm', 'guarded', 'doc', '1')),
      ];
      return { result: { app, members, policy: await policyIn(tx, 'guarded') }, scopes: ['a:guarded'] };
    });
    expect(result.policy).toMatchObject({ appId: result.app.id, permissions: [{ code: 'view' }] });
    expect(result.members[0]).toMatchObject({ member: { admin: true, appId: result.app.id }, overrides: null });
    expect(result.members[1]).toMatchObject({ person: { superadmin: true }, overrides: { levels: [] } });
  });
});

forEachDatabase('listening', (fixture, kind) => {
  test('a write wakes another instance, which finds it', async () => {
    if (kind === 'pglite') {
      // One process, one session: there is nobody else to hear of.
      await expect(fixture.database.facts.listen(() => undefined)).resolves.toEqual(expect.any(Function));
      return;
    }
    const other = await fixture.storage.open();
    let heard: (head: Revision) => void = () => undefined;
    const stop = await other.facts.listen(() => void other.facts.changes(0).then(({ head }) => heard(head)));
    const found = new Promise<Revision>((resolve) => {
      heard = (head) => head > 0 && resolve(head);
    });
    const { number: revision } = await write(fixture.database, '*');
    expect(await found).toBe(revision);
    await stop();
  });

  test('the listener reconnects when its connection is ended', async () => {
    if (kind === 'pglite') return;
    let wakes = 0;
    let woken = (): void => undefined;
    const stop = await fixture.database.facts.listen(() => {
      wakes++;
      woken();
    });
    const before = wakes;
    const again = new Promise<void>((resolve) => {
      woken = resolve;
    });
    await fixture.database.read((tx) =>
      sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'usher/2-listen'`.execute(tx.kysely),
    );
    await again;
    expect(wakes).toBeGreaterThan(before);
    await stop();
  });
});

describe('rows of the facts statements', () => {
  test('a gap in the numbers counts as too many changes', () => {
    const rows: [number, string, string[]][] = [
      [5, 'a', ['*']],
      [7, 'b', ['*']],
    ];
    expect(readWindow({ head: [7, 'b'], sinceNonce: null, changes: rows }, 4)).toMatchObject({
      tooMany: true,
      changes: [],
    });
    expect(readWindow({ head: [7, 'b'], sinceNonce: null, changes: rows.slice(1) }, 6)).toMatchObject({
      tooMany: false,
    });
    expect(readWindow({ head: [7, 'b'], sinceNonce: null, changes: null }, 6)).toMatchObject({ tooMany: true });
  });

  test('an id beyond 2^53 is refused, not rounded', () => {
    const row = {
      head: null,
      sinceNonce: null,
      changes: null,
      appId: 1,
      strictCodes: false,
      resourceTypes: null,
      rolePermissions: null,
    };
    const permissions = JSON.parse('[[9007199254740993, "view", false, false, null]]');
    expect(() => readPolicy({ ...row, permissions }, 'crm')).toThrow(RangeError);
  });
});
