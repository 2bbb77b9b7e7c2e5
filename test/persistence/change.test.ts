import { describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { systemClock } from '../../src/base/clock.ts';
import { UsherError } from '../../src/base/errors.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { formatRevision } from '../../src/engine/types.ts';
import { record } from '../../src/persistence/audit.ts';
import { collapse, pruneChangeLog } from '../../src/persistence/change-log.ts';
import type { Database, Scope, Tx } from '../../src/persistence/database.ts';
import { forEachDatabase } from '../support/databases.ts';
import { insertApplication, personId } from '../support/rows.ts';

const write = (database: Database, scope: Scope) => database.change(async () => ({ result: scope, scopes: [scope] }));

async function head(database: Database): Promise<number> {
  return (await database.facts.changes(Number.MAX_SAFE_INTEGER)).head;
}

forEachDatabase('change', (fixture, kind) => {
  test('writes are numbered without gaps, in commit order, under eight writers', async () => {
    const { database, storage } = fixture;
    const other = kind === 'postgresql' ? await storage.open() : database;
    const start = await head(database);
    let done = false;
    const seen: string[] = [];
    const follow = async () => {
      for (let cursor = start; !done || cursor < (await head(database)); ) {
        const window = await other.facts.changes(cursor);
        expect(window.tooMany).toBe(false);
        expect(window.changes.map((change) => change.revision)).toEqual(
          Array.from({ length: window.head - cursor }, (_, i) => cursor + 1 + i),
        );
        for (const change of window.changes) seen.push(`${change.revision} ${change.scopes.join()}`);
        cursor = window.head;
      }
    };
    const acknowledged: string[] = [];
    const writer = async (name: number) => {
      for (let i = 0; i < 15; i++) {
        const by = i % 2 === 0 ? database : other;
        const { number, result } = await write(by, `u:w${name}-${i}@example.com`);
        acknowledged.push(`${number} ${result}`);
      }
    };
    const following = follow();
    await Promise.all(Array.from({ length: 8 }, (_, name) => writer(name)));
    done = true;
    await following;
    const byRevision = (a: string, b: string) => Number.parseInt(a, 10) - Number.parseInt(b, 10);
    expect(seen).toEqual(acknowledged.toSorted(byRevision));
    expect(acknowledged).toHaveLength(120);
  });

  test('a revision names its author, from the first audit record of its transaction', async () => {
    const { database } = fixture;
    const by = (actor: string) => ({ actor, action: 'thing.done' });
    const made = [
      await database.change(async () => ({ result: 0, scopes: ['*'], records: [by('user:a@example.com'), by('idp')] })),
      await database.change(async (tx) => {
        await record(tx, by('cli'));
        return { result: 0, scopes: ['*'], records: [by('idp')] };
      }),
      await database.change(async () => ({ result: 0, scopes: ['*'] })),
    ];
    const rows = await database.read((tx) =>
      tx.kysely
        .selectFrom('policy_change')
        .select(['revision', 'actor'])
        .orderBy('revision', 'desc')
        .limit(3)
        .execute(),
    );
    expect(rows.reverse()).toEqual([
      { revision: made[0]?.number, actor: 'user:a@example.com' },
      { revision: made[1]?.number, actor: 'cli' },
      { revision: made[2]?.number, actor: null },
    ]);
  });

  test('a write without a change returns the newest visible revision, and makes no new one', async () => {
    const made = await write(fixture.database, '*');
    const nothing = await fixture.database.change(async () => ({ result: 'same', scopes: [] }));
    expect(nothing).toEqual({ ...made, result: 'same' });
    expect(await head(fixture.database)).toBe(made.number);
  });

  test('an error rolls everything back, is rethrown unchanged, and leaves no number behind', async () => {
    const before = await head(fixture.database);
    const reason = new Error('not like this');
    const failing = fixture.database.change(async (tx) => {
      await insertApplication(tx, 'rolled-back');
      throw reason;
    });
    await expect(failing).rejects.toBe(reason);
    const rows = await fixture.database.read((tx) =>
      tx.kysely.selectFrom('application').select('id').where('code', '=', 'rolled-back').execute(),
    );
    expect(rows).toEqual([]);
    expect((await write(fixture.database, '*')).number).toBe(before + 1);
  });

  test('tests refuse a commit that touched policy and announces no change', async () => {
    const silent = fixture.database.change(async (tx) => ({
      result: await insertApplication(tx, 'silent'),
      scopes: [],
    }));
    await expect(silent).rejects.toMatchObject({ name: 'StatementFailed', sqlState: '23000' });
    const said = fixture.database.change(async (tx) => ({
      result: await insertApplication(tx, 'said'),
      scopes: ['p:said'],
    }));
    await expect(said).resolves.toMatchObject({ number: expect.any(Number) });
    // The database goes on after a COMMIT that was refused.
    await expect(write(fixture.database, '*')).resolves.toMatchObject({ result: '*' });
  });

  test.each([
    ['blocks somebody', (id: number) => sql`update person set blocked = true where id = ${id}`],
    ['deactivates somebody', (id: number) => sql`update person set provider_active = false where id = ${id}`],
    ['makes a SuperAdmin', (id: number) => sql`insert into superadmin (person_id) values (${id})`],
    ['deletes somebody', (id: number) => sql`delete from person where id = ${id}`],
  ])('the trigger detects a commit that %s', async (what, statement) => {
    const email = `${what.replaceAll(' ', '-')}@example.com`;
    const silent = fixture.database.change(async (tx) => {
      await statement(await personId(tx, email)).execute(tx.kysely);
      return { result: undefined, scopes: [] };
    });
    await expect(silent).rejects.toMatchObject({ sqlState: '23000' });
  });

  test('adding an address without rights is not a policy change', async () => {
    const mention = fixture.database.change(async (tx) => ({
      result: await personId(tx, 'new@example.com'),
      scopes: [],
    }));
    await expect(mention).resolves.toMatchObject({ result: expect.any(Number) });
  });

  test('a failed statement that was swallowed cannot be committed as a success', async () => {
    for (const scopes of [[], ['*']] as const) {
      const swallowed = fixture.database.change(async (tx) => {
        await sql`select 1 / 0`.execute(tx.kysely).catch(() => undefined);
        return { result: 'fine', scopes };
      });
      await expect(swallowed).rejects.toMatchObject({ sqlState: '25P02' });
    }
  });

  test('a transaction that a constraint always refuses fails, and the log has the constraint without values', async () => {
    const lines: string[] = [];
    const log = createLogger('error', { write: (line) => void lines.push(line) });
    const clock = { ...systemClock, random: () => 0 };
    const database = kind === 'postgresql' ? await fixture.storage.open({ log, clock }) : fixture.database;
    const insert = async (tx: Tx) => ({
      result: await insertApplication(tx, 'zebra-42'),
      scopes: ['p:zebra-42'] as const,
    });
    await database.change(insert);
    let attempts = 0;
    const failed = await database
      .change((tx) => {
        attempts++;
        return insert(tx);
      })
      .then(
        () => new UsherError('CONFLICT', 'It was committed.'),
        (error: UsherError) => error,
      );
    expect(failed).toMatchObject({ code: 'UNAVAILABLE', httpStatus: 503, details: undefined });
    expect(failed.cause).toMatchObject({ sqlState: '23505', constraint: 'application_code_key', lost: false });
    expect(attempts).toBe(7);
    if (kind === 'postgresql') {
      expect(lines.map((line) => JSON.parse(line))).toMatchObject([
        { level: 'error', constraint: 'application_code_key', sqlState: '23505', attempts: 7 },
      ]);
    }
    const words = /insert into|zebra|42\)|Key \(/i;
    const { message, stack, cause } = failed;
    expect(
      `${message} ${stack} ${(cause as Error).stack} ${JSON.stringify([failed, cause])} ${lines.join()}`,
    ).not.toMatch(words);
    expect(message).not.toContain('application_code_key');
  });

  test('a read is read-only and sees one snapshot', async () => {
    const writing = fixture.database.read((tx) => insertApplication(tx, 'read-only'));
    await expect(writing).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    if (kind === 'pglite') return;
    const [first, second] = await fixture.database.read(async (tx) => {
      const count = () =>
        tx.kysely
          .selectFrom('policy_change')
          .select((s) => s.fn.countAll<number>().as('n'))
          .executeTakeFirstOrThrow();
      const before = await count();
      await write(fixture.database, '*');
      return [before, await count()];
    });
    expect(second).toEqual(first);
  });

  test('deadlocked transactions are repeated, and both writes stand', async () => {
    if (kind === 'pglite') return;
    const lock = (key: number) => sql`select pg_advisory_xact_lock(${key})`;
    const { promise: bothHold, resolve } = Promise.withResolvers<void>();
    let holding = 0;
    let runs = 0;
    const inOrder = (first: number, second: number) =>
      fixture.database.change(async (tx) => {
        runs++;
        await lock(first).execute(tx.kysely);
        if (++holding === 2) resolve();
        await bothHold;
        await lock(second).execute(tx.kysely);
        return { result: first, scopes: ['*'] };
      });
    const results = await Promise.all([inOrder(11, 12), inOrder(12, 11)]);
    expect(results.map(({ result }) => result)).toEqual([11, 12]);
    expect(runs).toBeGreaterThan(2);
  });

  test('a write overtaken by a deletion or an insertion repeats its look-ups', async () => {
    if (kind === 'pglite') return;
    const { database } = fixture;
    const make = (code: string) => async (tx: Parameters<Parameters<Database['change']>[0]>[0]) => ({
      result: (await insertApplication(tx, code)).id,
      scopes: [`p:${code}`] as const,
    });
    const idOf = async (tx: Parameters<Parameters<Database['change']>[0]>[0], code: string) =>
      (await tx.kysely.selectFrom('application').select('id').where('code', '=', code).executeTakeFirst())?.id;
    await database.change(make('vanishing'));
    let runs = 0;
    const referring = database.change(async (tx) => {
      const id = await idOf(tx, 'vanishing');
      if (id === undefined) return { result: 'gone', scopes: [] };
      if (runs++ === 0) {
        await database.change(async (other) => {
          await other.kysely.deleteFrom('application').where('id', '=', id).execute();
          return { result: null, scopes: ['p:vanishing'] };
        });
      }
      await sql`insert into role (application_id, code) values (${id}, 'r')`.execute(tx.kysely);
      return { result: 'referred', scopes: ['p:vanishing'] };
    });
    await expect(referring).resolves.toMatchObject({ result: 'gone' });
    const taking = database.change(async (tx) => {
      if ((await idOf(tx, 'contended')) !== undefined) return { result: 'taken', scopes: [] };
      if (runs++ === 1) await database.change(make('contended'));
      await make('contended')(tx);
      return { result: 'made', scopes: ['p:contended'] };
    });
    await expect(taking).resolves.toMatchObject({ result: 'taken' });
    expect(runs).toBe(2);
  });

  test('a write is acknowledged after its follower reached the revision, and a failing follower drops everything', async () => {
    const database = kind === 'postgresql' ? await fixture.storage.open() : fixture.database;
    const calls: string[] = [];
    let fail = false;
    database.follow({
      reach: async (mark) => {
        calls.push(`reach ${formatRevision(mark)}`);
        if (fail) throw new Error('away');
      },
      dropAll: () => calls.push('drop'),
    });
    const first = await write(database, '*');
    expect(calls).toEqual([`reach ${first.revision}`]);
    await database.change(async () => ({ result: 0, scopes: [] }));
    expect(calls).toEqual([`reach ${first.revision}`, `reach ${first.revision}`]);
    fail = true;
    const { revision } = await write(database, '*');
    expect(calls.slice(2)).toEqual([`reach ${revision}`, 'drop']);
    expect(() => database.follow({ reach: async () => undefined, dropAll: () => undefined })).toThrow();
  });

  // Once for each storage, as it can be followed only once; who waits for whom is the same on both.
  if (kind === 'postgresql') {
    test('a revocation that finds nothing is answered only after its instance has read the log', async () => {
      const database = await fixture.storage.open();
      const asked = Promise.withResolvers<void>();
      const reached = Promise.withResolvers<void>();
      const calls: string[] = [];
      database.follow({
        reach: (mark) => {
          calls.push(`reach ${mark.number}`);
          asked.resolve();
          return reached.promise;
        },
        dropAll: () => calls.push('drop'),
      });
      const gone = new UsherError('NOT_FOUND', 'It was taken away by another instance.');
      const refusal = database
        .change(() => Promise.reject(gone))
        .catch((error: unknown) => {
          calls.push('answered');
          return error;
        });
      await Promise.race([asked.promise, refusal]);
      expect(calls).toEqual(['reach 0']);
      reached.resolve();
      expect(await refusal).toBe(gone);
      expect(calls).toEqual(['reach 0', 'answered']);

      const stale = new UsherError('STALE', 'Not the present state.');
      await expect(database.change(() => Promise.reject(stale))).rejects.toBe(stale);
      expect(calls).toHaveLength(2);
    });
  }

  test('old rows are pruned except the newest, and instances that missed them are informed', async () => {
    const { database } = fixture;
    const { number: revision } = await write(database, 'u:gone@example.com');
    await database.change(async (tx) => {
      await sql`update policy_change set actor = 'user:gone@example.com', at = at - interval '8 days'`.execute(
        tx.kysely,
      );
      return { result: 0, scopes: [] };
    });
    await database.change(async (tx) => ({ result: await pruneChangeLog(tx.kysely), scopes: [] }));
    const left = await database.read((tx) =>
      tx.kysely.selectFrom('policy_change').select(['revision', 'scopes', 'actor']).execute(),
    );
    // Of whom it was is no longer known.
    expect(left).toEqual([{ revision, scopes: ['*'], actor: null }]);
    expect(await database.facts.changes(revision)).toMatchObject({ head: revision, changes: [], tooMany: false });
    expect(await database.facts.changes(revision - 2)).toMatchObject({ sinceNonce: null, changes: [], tooMany: true });
    expect((await write(database, '*')).number).toBe(revision + 1);
  });
});

describe('collapsing scopes', () => {
  const many = (count: number, scope: (i: number) => Scope) => Array.from({ length: count }, (_, i) => scope(i));

  test.each<[string, Scope[], Scope[]]>([
    ['keeps each scope once', ['p:a', 'u:x@y.z', 'p:a'], ['p:a', 'u:x@y.z']],
    ['keeps 200', many(200, (i) => `m:a:u${i}@y.z`), many(200, (i) => `m:a:u${i}@y.z`)],
    ['widens 201 to their applications', [...many(200, (i) => `m:a:u${i}@y.z`), 'p:b'], ['a:a', 'a:b']],
    ['keeps people beside them', [...many(200, (i) => `m:a:u${i}@y.z`), 'u:x@y.z'], ['a:a', 'u:x@y.z']],
    ['gives up on more people than that', many(201, (i) => `u:u${i}@y.z`), ['*']],
  ])('scopes are collapsed: %s', (_, scopes, expected) => {
    expect(collapse(scopes)).toEqual(expected);
  });
});
