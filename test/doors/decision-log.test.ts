import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningEdge, startEdge } from '../support/edge.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { type Door, openDoors, openGrpcDoors } from './doors.ts';

/** What every door answers, the decision log says, once: with the front and without it, at an edge, and under load on a full disk. */
const ADMIN = 'admin@example.com';
const BEA = 'bea@example.com';
const PERMISSIONS = ['panel.access', 'panel.manage'];
const AT_ALL = { email: '', app: 'auth', permission: '', resourceType: '', resourceId: '' };

const folder = mkdtempSync(join(tmpdir(), 'usher-decisions-'));
let storage: TestStorage;
let files = 0;
let closing = new AsyncDisposableStack();

beforeAll(async () => {
  storage = await createStorage('postgresql');
}, 60_000);
afterEach(async () => {
  await closing.disposeAsync();
  closing = new AsyncDisposableStack();
}, 30_000);
afterAll(async () => {
  await storage?.remove();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

interface Line {
  msg: string;
  method: string;
  email?: string;
  app: string;
  permission?: string;
  resourceType?: string;
  resourceId?: string;
  askedLevel?: string | null;
  allowed?: boolean;
  accessLevel?: string | null;
  source: string | null;
  granted?: number;
  permissions?: number;
  revision: string;
}

class Reader {
  readonly path = join(folder, `${files++}.log`);
  #read = 0;
  /** The lines that are new, once there are so many; a little later, so that one too many is seen. */
  async next(count: number): Promise<Line[]> {
    for (let i = 0; i < 300 && this.#all().length < this.#read + count; i++) await sleep(10);
    await sleep(30);
    const found = this.#all().slice(this.#read);
    this.#read += found.length;
    return found.map((line) => JSON.parse(line) as Line);
  }
  #all(): string[] {
    return readFileSync(this.path, 'utf8').split('\n').slice(0, -1);
  }
}

const start = async (env: Record<string, string>): Promise<{ usher: RunningUsher; reader: Reader }> => {
  const reader = new Reader();
  const usher = await startUsher(storage, { env: { DECISION_LOG_FILE: reader.path, OPS_PORT: '0', ...env } });
  closing.defer(() => usher.close());
  return { usher, reader };
};
const doorsOf = async (usher: RunningUsher): Promise<Door[]> => {
  const { doors, close } = await openDoors(usher, [ADMIN, BEA]);
  closing.defer(close);
  return doors;
};

/** Asks at a door, and holds its lines against its answer. */
async function compare(door: Door, email: string, reader: Reader): Promise<void> {
  const level = door.kind === 'effective' || door.name.includes('xplain') ? null : 'edit';
  const { said, revision } = await door.ask({ ...AT_ALL, email }, PERMISSIONS, level);
  const lines = await reader.next(door.kind === 'bulk' || door.kind === 'batch' ? 2 : 1);
  if (door.kind === 'effective') {
    const granted = said.filter(({ allowed }) => allowed).length;
    expect(lines).toMatchObject([{ method: 'Effective', email, app: 'auth', granted, permissions: said.length }]);
    return;
  }
  const logged = lines.map(({ permission, allowed }) => ({ permission, allowed }));
  expect([door.name, logged]).toEqual([door.name, said.map(({ permission, allowed }) => ({ permission, allowed }))]);
  for (const line of lines) {
    expect(line).toMatchObject({ msg: 'decision', email, app: 'auth', askedLevel: level });
    expect(Number.parseInt(line.revision, 10)).toBe(revision);
    const answer = said.find(({ permission }) => permission === line.permission);
    if (answer?.source !== undefined) expect(line.source).toBe(answer.source === 'none' ? null : answer.source);
  }
}

describe.each(['true', 'false'])('the decision log, GRPC_FRONT=%s', (front) => {
  test('has a line for each decision at every door, cached or not', async () => {
    const { usher, reader } = await start({ GRPC_FRONT: front, DECISION_LOG_SAMPLE: '1' });
    const doors = await doorsOf(usher);
    expect(doors.length).toBeGreaterThan(15);
    for (const door of doors) {
      // The third time the gRPC port finds the question by its bytes.
      for (const email of [ADMIN, BEA, ADMIN, ADMIN]) await compare(door, email, reader);
    }
    const metrics = await (await fetch(`${usher.ops}/metrics`)).text();
    expect(metrics).toMatch(/^usher_decision_log_lines_total [1-9]\d+$/m);
    expect(metrics).toMatch(/^usher_decision_log_dropped_total 0$/m);
  }, 120_000);

  test('has those of an edge in a log of the edge', async () => {
    const { usher } = await start({ GRPC_FRONT: front });
    const reader = new Reader();
    const env = {
      DATA_DIR: storage.dataDir,
      DECISION_LOG_FILE: reader.path,
      DECISION_LOG_SAMPLE: '1',
      GRPC_FRONT: front,
    };
    const edge: RunningEdge = await startEdge(usher.grpc, { env });
    closing.defer(() => edge.close());
    const { doors, close } = openGrpcDoors('edge', edge.grpc);
    closing.defer(close);
    // Explain is answered by the upstream, and logged there.
    for (const door of doors.filter(({ name }) => !name.includes('xplain'))) {
      for (const email of [ADMIN, BEA, ADMIN]) await compare(door, email, reader);
    }
  }, 60_000);
});

describe('the decision log', () => {
  test('has the decisions of AuthZEN, those left out of an answer too', async () => {
    const { usher, reader } = await start({ DECISION_LOG_SAMPLE: '1' });
    const root = await Rest.as(usher, ADMIN);
    const key = { 'x-internal-api-key': usher.app.localKey ?? '', 'content-type': 'application/json' };
    const ask = async (path: string, body: object): Promise<unknown> => {
      const at = `${usher.rest}/authzen/auth/access/v1/${path}`;
      const answer = await fetch(at, { method: 'POST', headers: key, body: JSON.stringify(body) });
      expect(answer.status).toBe(200);
      return await answer.json();
    };
    const subject = { type: 'user', id: BEA };
    const resource = { type: 'application', id: 'auth' };
    const [first, second] = PERMISSIONS.map((name) => ({ subject, resource, action: { name } }));
    expect(await ask('evaluation', first as object)).toMatchObject({ decision: false });
    expect(await reader.next(1)).toMatchObject([
      { method: 'Check', email: BEA, permission: 'panel.access', allowed: false },
    ]);
    const options = { evaluations_semantic: 'deny_on_first_deny' };
    await ask('evaluations', { evaluations: [first, second], options });
    expect((await reader.next(2)).map(({ method, permission }) => [method, permission])).toEqual(
      PERMISSIONS.map((permission) => ['BatchCheck', permission]),
    );
    // A guard of the gateway asks, too. Nobody sent that question.
    await root.get('/api/users');
    expect(await reader.next(0)).toEqual([]);
  });

  test('has refusals and privileged decisions only where these are asked for', async () => {
    for (const [env, wanted] of [
      [{ DECISION_LOG_DENIED: 'true' }, [BEA]],
      [{ DECISION_LOG_PRIVILEGED: 'true' }, [ADMIN]],
      [{ DECISION_LOG_DENIED: 'true', DECISION_LOG_PRIVILEGED: 'true' }, [ADMIN, BEA]],
    ] as const) {
      const { usher, reader } = await start(env);
      const doors = (await doorsOf(usher)).filter(({ kind }) => kind === 'one');
      for (const door of doors) {
        for (const email of [ADMIN, BEA]) await door.ask({ ...AT_ALL, email }, PERMISSIONS.slice(0, 1), null);
        const lines = await reader.next(wanted.length);
        expect([door.name, lines.map(({ email }) => email)]).toEqual([door.name, wanted]);
      }
      await closing.disposeAsync();
      closing = new AsyncDisposableStack();
    }
  }, 120_000);

  test('samples', async () => {
    const { usher, reader } = await start({ DECISION_LOG_SAMPLE: '0.25' });
    const [door] = await doorsOf(usher);
    for (let i = 0; i < 400; i++) await door?.ask({ ...AT_ALL, email: BEA }, PERMISSIONS, null);
    const { length } = await reader.next(1);
    expect(length).toBeGreaterThan(40);
    expect(length).toBeLessThan(180);
  });

  test('masks addresses and records, and leads from a hash to nothing but itself', async () => {
    const { usher, reader } = await start({
      DECISION_LOG_SAMPLE: '1',
      DECISION_LOG_EMAILS: 'hashed',
      DECISION_LOG_RESOURCES: 'omitted',
      DECISION_LOG_HASH_KEY: 'a-key-of-24-characters-or-more',
    });
    const [door] = await doorsOf(usher);
    const record = { resourceType: 'application', resourceId: 'secret-record' };
    for (const email of [BEA, BEA.toUpperCase(), ADMIN]) {
      await door?.ask({ ...AT_ALL, ...record, email }, PERMISSIONS, null);
    }
    const lines = await reader.next(3);
    expect(lines[0]?.email).toMatch(/^[\w-]{22}$/);
    expect(lines[1]?.email).toBe(lines[0]?.email);
    expect(lines[2]?.email).not.toBe(lines[0]?.email);
    expect(lines.map(({ resourceType, resourceId }) => [resourceType, resourceId])).toEqual(
      lines.map(() => ['application', undefined]),
    );
    expect(readFileSync(reader.path, 'utf8')).not.toMatch(/example\.com|secret-record/i);
  });

  test('has a malformed question, which is denied, and none that was refused', async () => {
    const { usher, reader } = await start({ DECISION_LOG_DENIED: 'true' });
    const [door] = await doorsOf(usher);
    await door?.ask({ ...AT_ALL, email: 'not "an" address' }, PERMISSIONS, null);
    expect(await reader.next(1)).toMatchObject([{ email: 'not "an" address', allowed: false }]);
    await expect(door?.ask({ ...AT_ALL, email: 'x'.repeat(9000) }, PERMISSIONS, null)).rejects.toThrow('at most 254');
    expect(await reader.next(0)).toEqual([]);
  });

  test('holds up no check on a full disk: lines are dropped and counted', async () => {
    const full = join(folder, 'full.log');
    symlinkSync('/dev/full', full);
    const { usher } = await start({ DECISION_LOG_FILE: full, DECISION_LOG_SAMPLE: '1' });
    const bulk = (await doorsOf(usher)).find(({ name, kind }) => name.startsWith('gRPC') && kind === 'bulk');
    // Some 200 bytes a line, 8 MiB of them may wait.
    const codes = Array.from({ length: 100 }, (_, index) => `of.nobody${index}`);
    const asks = Array.from({ length: 600 }, async () => {
      const { said } = (await bulk?.ask({ ...AT_ALL, email: BEA }, codes, null)) ?? { said: [] };
      expect(said).toHaveLength(codes.length);
    });
    await Promise.all(asks);
    const metrics = await (await fetch(`${usher.ops}/metrics`)).text();
    const dropped = Number(/^usher_decision_log_dropped_total (\d+)$/m.exec(metrics)?.[1]);
    expect(dropped).toBeGreaterThan(1000);
    expect(dropped).toBeLessThan(60_000);
    expect(metrics).toMatch(/^usher_decision_log_lines_total 0$/m);
  }, 60_000);

  test('a file that cannot be opened ends the start, and names the key', async () => {
    await expect(start({ DECISION_LOG_DENIED: 'true', DECISION_LOG_FILE: '/nowhere/x.log' })).rejects.toThrow(
      /decisionLog\.file \(DECISION_LOG_FILE\): \/nowhere\/x\.log cannot be opened/,
    );
  });
});
