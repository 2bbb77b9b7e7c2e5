import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { reached, reachedBy } from '../support/postgres.ts';
import { LineCutter } from '../support/proxy.ts';
import { outcome } from '../support/registry.ts';
import { Rest, type RestAnswer } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const MANIFEST = `
application: { code: billing, name: Billing }
permissions: [{ code: invoice.read, type: tiered }]
roles: [{ code: reader, permissions: { invoice.read: view } }]
assignments: [{ email: ben@example.com, roles: [reader] }]
`;

describe('a dry run whose database fails', () => {
  let storage: TestStorage;
  let line: LineCutter;
  let usher: RunningUsher;
  let root: Rest;
  let path: string;

  beforeEach(async () => {
    storage = await createStorage('postgresql');
    line = await LineCutter.start(reached(storage.url ?? '').url);
    usher = await startUsher({ ...reachedBy(line, storage.url ?? ''), dataDir: storage.dataDir });
    await usher.app.manifests.apply(MANIFEST, { actor: 'cli' });
    root = Rest.later(() => usher, 'admin@example.com');
    const { body } = await root.get('/api/applications/billing/roles');
    path = `/api/applications/billing/roles/${body.data[0].id}/permissions`;
  }, 60_000);
  afterEach(async () => {
    await usher?.close();
    await line?.close();
    await storage?.remove();
  }, 60_000);

  const rehearse = (): Promise<RestAnswer> => root.put(`${path}?dryRun=true`, { permissions: [] });

  /** By a connection of its own: what the service says may come from its caches. */
  async function ask<T>(statement: string): Promise<T[]> {
    const client = new pg.Client({ connectionString: storage.url ?? '' });
    await client.connect();
    try {
      return (await client.query(statement)).rows as T[];
    } finally {
      await client.end();
    }
  }
  const state = () =>
    ask(`select (select count(*) from audit) as records, (select max(revision) from policy_change) as head,
      (select count(*) from role_permission) as levels`);

  async function until(condition: string): Promise<void> {
    for (const deadline = performance.now() + 4000; ; ) {
      if ((await ask<{ met: boolean }>(condition))[0]?.met) return;
      if (performance.now() > deadline) throw new Error(`never: ${condition}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  /** No transaction is left, and no table of a dry run. */
  const idle = () =>
    until(`select not exists (select from pg_stat_activity
        where datname = current_database() and xact_start is not null and pid <> pg_backend_pid())
      and not exists (select from pg_class where relname like 'dry\\_run%') as met`);

  test.each([
    ['before it keeps what is', 'create temporary table dry_run_before', 'before'],
    ['behind the write', 'delete from role_permission', 'after'],
    ['while it compares', 'create temporary table dry_run_person', 'before'],
  ] as const)(
    'a dry run whose connection is cut %s is 503 and leaves nothing, and the next one succeeds',
    async (_, text, when) => {
      const before = await state();
      const cut = line.cutOn(text, when);
      const [lost] = await Promise.all([rehearse(), cut]);
      expect([lost.status, lost.body.code]).toEqual([503, 'UNAVAILABLE']);
      expect(await state()).toEqual(before);
      expect((await rehearse()).body.data?.impact).toMatchObject({ people: 1, lost: 1 });
    },
  );

  test('a dry run with a failed rollback returns its result, and its connection is discarded', async () => {
    const before = await state();
    const cut = line.cutOn('rollback', 'before', 'dry_run_before');
    const [found] = await Promise.all([rehearse(), cut]);
    expect([found.status, found.body.data.impact.lost]).toEqual([200, 1]);
    // Whoever got that connection would find the tables of the dry run, or write into a transaction that nobody commits.
    for (let turn = 0; turn < 12; turn++) expect((await rehearse()).status).toBe(200);
    expect(await state()).toEqual(before);
    expect((await root.put(path, { permissions: [] })).status).toBe(200);
    expect((await root.get(path)).body.data.permissions).toEqual([]);
  });

  test('a dry run whose rollback is refused is answered, and its connection is not used again', async () => {
    const before = await state();
    const refused = line.refuseOn('rollback', 'dry_run_before');
    const [found] = await Promise.all([rehearse(), refused]);
    expect([found.status, found.body.data.impact.lost]).toEqual([200, 1]);
    // That connection is alive: a dry run on it would find the tables of this one.
    for (let turn = 0; turn < 12; turn++) expect((await rehearse()).status).toBe(200);
    expect(await state()).toEqual(before);
    await idle();
  });

  test('dry runs leave nothing when their callers close their connections in the middle', async () => {
    const before = await state();
    const holder = new pg.Client({ connectionString: storage.url ?? '' });
    await holder.connect();
    try {
      // The write of each dry run waits for these rows.
      await holder.query('begin; select from role_permission for update');
      const callers = new AbortController();
      const authorization = `Bearer ${await usher.token('admin@example.com')}`;
      // As many as a caller may have at once.
      const leaving = Array.from({ length: 2 }, () =>
        fetch(`${usher.rest}${path}?dryRun=true`, {
          method: 'PUT',
          headers: { authorization, 'content-type': 'application/json' },
          body: JSON.stringify({ permissions: [] }),
          signal: callers.signal,
        }).catch((error: Error) => error.name),
      );
      await until(`select count(*) = 2 as met from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`);
      callers.abort();
      expect(await Promise.all(leaving)).toEqual(leaving.map(() => 'AbortError'));
    } finally {
      await holder.end();
    }
    await idle();
    expect(await state()).toEqual(before);
    const next = await Promise.all(Array.from({ length: 8 }, rehearse));
    expect(next.map(({ body }) => body.data?.impact.lost)).toEqual(next.map(() => 1));
    expect(await state()).toEqual(before);
  });

  test('a dry run that a deadlock ends is repeated', async () => {
    // The first attempt fails as if the server had chosen it to break a deadlock.
    await ask(`create sequence attempts;
      create function overtake() returns trigger language plpgsql as $$ begin
        if nextval('attempts') = 1 then raise exception 'deadlock' using errcode = '40P01'; end if;
        return null; end $$;
      create trigger overtake after delete on role_permission for each statement execute function overtake()`);
    expect((await rehearse()).body.data?.impact).toMatchObject({ people: 1, lost: 1 });
    expect(await ask('select last_value::int as attempts from attempts')).toEqual([{ attempts: 2 }]);
  });

  test('a dry run without the right to create temporary tables names the grant that the operator must give', async () => {
    const admin = new pg.Client({ connectionString: storage.url ?? '' });
    await admin.connect();
    const { rows } = await admin.query('select current_database() as name');
    const role = `plain_${rows[0].name}`;
    await admin.query(`create role ${role} login password 'plain'`);
    try {
      await admin.query(`revoke temporary on database ${rows[0].name} from public`);
      await admin.query(`grant all on all tables in schema public to ${role}`);
      await admin.query(`grant all on all sequences in schema public to ${role}`);
      await admin.query(`grant all on schema public to ${role}`);
      const url = new URL(storage.url ?? '');
      url.username = role;
      url.password = 'plain';
      const limited = await startUsher({ url: url.href, dataDir: storage.dataDir });
      try {
        const rest = Rest.later(() => limited, 'admin@example.com');
        const refused = await rest.put(`${path}?dryRun=true`, { permissions: [] });
        expect([outcome(refused), refused.body.message]).toEqual([
          [503, 'UNAVAILABLE'],
          expect.stringContaining('grant temporary on database'),
        ]);
        expect((await rest.put(path, { permissions: [] })).status).toBe(200);
      } finally {
        await limited.close();
      }
    } finally {
      await admin.query(`drop owned by ${role}`);
      await admin.query(`drop role ${role}`);
      await admin.end();
    }
  });

  test('a dry run leaves no temporary tables on its connections', async () => {
    for (let turn = 0; turn < 4; turn++) await Promise.all(Array.from({ length: 4 }, rehearse));
    const tables = await usher.app.database.read(
      async (tx) => (await sql`select relname from pg_class where relname like 'dry\\_run%'`.execute(tx.kysely)).rows,
    );
    expect(tables).toEqual([]);
  });
});
