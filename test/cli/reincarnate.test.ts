import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { UsherError } from '../../src/base/errors.ts';
import { parseRevision } from '../../src/engine/question.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningEdge, startEdge } from '../support/edge.ts';
import { databaseEnv } from '../support/postgres.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { usher } from './harness.ts';

const KEY = 'reincarnation-key-canary-0001';
const MANIFEST = (readers: string) => `
application: { code: billing, name: Billing }
permissions: [{ code: invoice.read, type: binary }]
roles: [{ code: reader, permissions: { invoice.read: allowed } }]
assignments: [${readers}]
`;
const BEN = '{ email: ben@example.com, roles: [reader] }';
const QUESTION = { email: 'ben@example.com', app: 'billing', permission: 'invoice.read' };

describe('a new history', () => {
  let storage: TestStorage;
  let instances: RunningUsher[];
  let edge: RunningEdge;
  const env = () => databaseEnv(storage.url);
  const command = (...more: string[]) => usher(['reincarnate', '--json', ...more], { env: env() });

  beforeAll(async () => {
    storage = await createStorage('postgresql');
    const options = { env: { INTERNAL_API_KEY: KEY } };
    instances = [await startUsher(storage, options), await startUsher(storage, options)];
    edge = await startEdge(instances[1]?.grpc ?? '', { env: { UPSTREAM_KEY: KEY, INTERNAL_API_KEY: KEY } });
  }, 60_000);
  afterAll(async () => {
    await edge?.close();
    for (const one of instances ?? []) await one.close();
    await storage?.remove();
  }, 60_000);

  /** What each instance answers, and the edge, from what they have cached. */
  async function answers(minRevision?: string): Promise<unknown[]> {
    const headers: Record<string, string> = {
      'x-internal-api-key': KEY,
      ...(minRevision === undefined ? {} : { 'usher-min-revision': minRevision }),
    };
    const asked = instances.map(async (one) => {
      const { status, body } = await (await Rest.as(one)).post('/api/check', QUESTION, headers);
      return status === 200 ? body.data.allowed : body.details.code;
    });
    const options = minRevision === undefined ? {} : { minRevision: parseRevision(minRevision) };
    const byEdge = edge.edge.engine.check({ ...QUESTION, resourceType: '', resourceId: '' }, options).then(
      ({ decision }) => decision.granted,
      (error: unknown) => (error instanceof UsherError ? error.reason : error),
    );
    return await Promise.all([...asked, byEdge]);
  }

  async function soon(expected: unknown[], minRevision?: string): Promise<void> {
    const until = performance.now() + 2000;
    let last = await answers(minRevision);
    while (JSON.stringify(last) !== JSON.stringify(expected) && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      last = await answers(minRevision);
    }
    expect(last).toEqual(expected);
  }

  test('without --yes nothing changes', async () => {
    const [first] = instances as [RunningUsher];
    const { revision } = await first.app.manifests.apply(MANIFEST(BEN), { actor: 'cli' });
    await soon([true, true, true], revision);
    const { code, stdout } = await command();
    expect([code, JSON.parse(stdout)]).toEqual([0, { done: false }]);
    expect(await answers(revision)).toEqual([true, true, true]);
  });

  test('what is cached of rows that were changed behind the log is forgotten, and old revisions are refused', async () => {
    const [first] = instances as [RunningUsher];
    const { revision } = await first.app.manifests.apply(MANIFEST(BEN), { actor: 'cli' });
    await soon([true, true, true]);
    // As a copy or a repair by hand would leave it: the same log, other rows. The trigger of the tests would refuse it.
    await first.app.database.change(async ({ kysely }) => {
      await sql`set local session_replication_role = replica`.execute(kysely);
      await sql`delete from user_role`.execute(kysely);
      return { result: null, scopes: [] };
    });
    await new Promise((resolve) => setTimeout(resolve, 1200));
    expect(await answers(revision)).toEqual([true, true, true]);

    const { code, stdout } = await command('--yes');
    const begun = JSON.parse(stdout) as { revision: string; revisions: number };
    expect([code, begun]).toEqual([0, { done: true, revisions: expect.any(Number), revision: expect.any(String) }]);
    await soon([false, false, false]);
    expect(await answers(begun.revision)).toEqual([false, false, false]);
    expect(await answers(revision)).toEqual(['UNKNOWN_REVISION', 'UNKNOWN_REVISION', 'UNKNOWN_REVISION']);
    for (const one of instances) {
      const metrics = await (await fetch(`${one.rest}/metrics`, { headers: { 'x-internal-api-key': KEY } })).text();
      expect(metrics).toMatch(/^usher_restores_total 1$/m);
    }
    const rows = await first.app.database.read(({ kysely }) =>
      kysely.selectFrom('audit').select(['actor', 'action']).where('action', '=', 'database.reincarnated').execute(),
    );
    expect(rows).toEqual([{ actor: 'cli', action: 'database.reincarnated' }]);
  });

  test('writes go on beside it, and are told when theirs was not in the new history', async () => {
    const [first, second] = instances as [RunningUsher, RunningUsher];
    const writes = [first, second].map(async (one, at) => {
      const outcomes: string[] = [];
      for (let i = 0; i < 15; i++) {
        const readers = i % 2 === 0 ? BEN : '';
        const manifest = MANIFEST(readers).replaceAll('billing', `app${at}`);
        const outcome = one.app.manifests.apply(manifest, { actor: 'cli' });
        outcomes.push(
          await outcome.then(
            () => 'done',
            (error: Error & { code?: string }) => error.code ?? error.message,
          ),
        );
      }
      return outcomes;
    });
    const begun = [await command('--yes'), await command('--yes')];
    expect(begun.map(({ code }) => code)).toEqual([0, 0]);
    const outcomes = new Set((await Promise.all(writes)).flat());
    outcomes.delete('done');
    expect([...outcomes].filter((code) => code !== 'UNAVAILABLE')).toEqual([]);
    const numbers = await first.app.database.read(({ kysely }) =>
      sql<{ rows: number; span: number; nonces: number }>`select count(*)::int as rows,
        (max(revision) - min(revision) + 1)::int as span, count(distinct nonce)::int as nonces from policy_change`.execute(
        kysely,
      ),
    );
    const [log] = numbers.rows;
    expect([log?.span, log?.nonces]).toEqual([log?.rows, log?.rows]);
  }, 60_000);
});
