import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createLocalUsher, type LocalUsher } from '../../clients/typescript/src/local.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Operation } from '../oracle/rows.ts';
import { carryOut } from '../support/carry-out.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningEdge, startEdge } from '../support/edge.ts';
import { reached } from '../support/postgres.ts';
import { LineCutter } from '../support/proxy.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { type Door, localDoors, openDoors, openGrpcDoors } from './doors.ts';

/**
 * Grants that end and begin while every door is asked (docs/reference/time.md#when-a-grant-counts): a question that is sent after the end
 * is never answered by the grant, nor is one that is answered before the beginning. The clock is the database's, which is that of this
 * machine; one instance believes that it is an hour earlier, another that it is an hour later.
 */
const HOUR = 3_600_000;
const APP = 'shop';
const EVERY_MS = 10;
const RECORD = { resourceType: 'order', resourceId: '7' };
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const SHOP: readonly Operation[] = [
  { kind: 'create-app', app: APP },
  { kind: 'define-permission', app: APP, permission: 'read', type: 'binary', global: false, groupName: null },
  { kind: 'define-role', app: APP, role: 'reader' },
  {
    kind: 'permissions-of-role',
    app: APP,
    role: 'reader',
    permissions: [{ permission: 'read', accessLevel: 'allowed' }],
  },
];

interface Window {
  readonly startsAt?: number;
  readonly endsAt?: number;
}

/** What gives the permission, with that window. */
const GRANTS: Readonly<Record<string, (email: string, window: Window) => Operation>> = {
  role: (email, window) => ({ kind: 'roles-of-user', app: APP, email, roles: ['reader'], windows: [window] }),
  override: (email, window) => ({
    kind: 'overrides-of-user',
    app: APP,
    email,
    ...RECORD,
    overrides: [{ permission: 'read', granted: true, accessLevel: 'allowed', ...window }],
  }),
  seat: (email, window) => ({ kind: 'app-admin', app: APP, email, is: true, window }),
};

const PEOPLE = Object.keys(GRANTS).flatMap((grant) =>
  ['ending', 'beginning'].map((what) => `${grant}-${what}@example.com`),
);

let storage: TestStorage;
let ushers: RunningUsher[];
const edges: RunningEdge[] = [];
const closing: (() => void)[] = [];
let doors: Door[];
let local: LocalUsher;

beforeAll(async () => {
  storage = await createStorage('postgresql');
  ushers = [];
  for (const wrong of [-HOUR, HOUR]) {
    const clock = { ...systemClock, now: () => systemClock.now() + wrong };
    ushers.push(await startUsher(storage, { parts: { clock } }));
  }
  const [first, second] = ushers as [RunningUsher, RunningUsher];
  const opened = await openDoors(first, PEOPLE);
  const others = openGrpcDoors('the other instance', second.grpc);
  closing.push(opened.close, others.close);
  doors = [...opened.doors, ...others.doors];
  let upstream = first.grpc;
  for (const name of ['edge', 'edge of an edge']) {
    const edge = await startEdge(upstream, { env: { DATA_DIR: storage.dataDir } });
    edges.push(edge);
    const own = openGrpcDoors(name, edge.grpc);
    closing.push(own.close);
    doors.push(...own.doors);
    upstream = edge.grpc;
  }
  local = createLocalUsher({
    address: upstream,
    key: first.app.localKey ?? undefined,
    deadlineMs: 20_000,
    maxStalenessMs: 20_000,
  });
  await local.ready();
  closing.push(() => local.close());
  doors.push(...localDoors(local));
  for (const operation of SHOP) await change(operation);
});

afterAll(async () => {
  for (const close of closing) close();
  for (const edge of edges.reverse()) await edge.close();
  for (const usher of ushers ?? []) await usher.close();
  await storage?.remove();
});

async function change(operation: Operation): Promise<void> {
  await (ushers[0] as RunningUsher).app.database.change((tx) => carryOut(tx, operation));
}

interface Answer {
  readonly door: string;
  readonly from: number;
  readonly to: number;
  readonly allowed: boolean;
}

/** Asks each door again and again until `until`, and at least twice after `instant`. What is refused is told by `refused`. */
async function askAll(
  email: string,
  { instant, until }: { instant: number; until: number },
  refused: (error: unknown) => void,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  const question = { email, app: APP, permission: 'read', ...RECORD };
  await Promise.all(
    doors.map(async (door) => {
      for (let after = 0; Date.now() < until || after < 2; ) {
        const from = Date.now();
        if (from > instant) after++;
        try {
          const { said } = await door.ask(question, ['read'], null);
          const allowed = said.find(({ permission }) => permission === 'read')?.allowed === true;
          answers.push({ door: door.name, from, to: Date.now() + 1, allowed });
        } catch (error) {
          refused(error);
        }
        await pause(EVERY_MS);
      }
    }),
  );
  return answers;
}

describe.each(Object.entries(GRANTS))('a %s', (name, grant) => {
  test('that ends allows nothing that is asked after its end, and everything that is answered before, on every door', async () => {
    const email = `${name}-ending@example.com`;
    const endsAt = Date.now() + 1500;
    await change(grant(email, { endsAt }));
    const refused: unknown[] = [];
    const asking = askAll(email, { instant: endsAt, until: endsAt + 500 }, (error) => refused.push(error));
    // The loop stands still over the end, as under a great garbage collection.
    await pause(endsAt - 200 - Date.now());
    for (const end = performance.now() + 400; performance.now() < end; );
    const answers = await asking;
    expect(refused).toEqual([]);
    expect(answers.filter(({ from, allowed }) => allowed && from > endsAt)).toEqual([]);
    expect(answers.filter(({ to, allowed }) => !allowed && to < endsAt)).toEqual([]);
    expect(new Set(answers.map(({ door }) => door)).size).toBe(doors.length);
    expect(answers.filter(({ from }) => from > endsAt).length).toBeGreaterThan(doors.length);
    expect(answers.filter(({ allowed }) => allowed).length).toBeGreaterThan(doors.length);
  });

  test('that begins allows nothing that is answered before, and everything that is asked after', async () => {
    const email = `${name}-beginning@example.com`;
    const startsAt = Date.now() + 800;
    await change(grant(email, { startsAt }));
    const refused: unknown[] = [];
    const answers = await askAll(email, { instant: startsAt, until: startsAt + 400 }, (error) => refused.push(error));
    expect(refused).toEqual([]);
    expect(answers.filter(({ to, allowed }) => allowed && to < startsAt)).toEqual([]);
    expect(answers.filter(({ from, allowed }) => !allowed && from > startsAt)).toEqual([]);
    expect(answers.filter(({ from }) => from > startsAt).length).toBeGreaterThan(doors.length);
  });
});

test('a grant that ends while the database is away allows nothing after its end', async () => {
  const email = 'away@example.com';
  const url = reached(storage.url ?? '').url;
  const line = await LineCutter.start(url);
  const usher = await startUsher({ ...storage, url: line.url(url) });
  const opened = openGrpcDoors('cut off', usher.grpc);
  const outcomes = { before: 0, after: 0 };
  try {
    const endsAt = Date.now() + 1500;
    await change({ kind: 'roles-of-user', app: APP, email, roles: ['reader'], windows: [{ endsAt }] });
    const question = { email, app: APP, permission: 'read', ...RECORD };
    const [door] = opened.doors as [Door];
    const isAllowed = () => door.ask(question, ['read'], null).then(({ said }) => said[0]?.allowed === true);
    expect(await isAllowed()).toBe(true);
    line.down();
    while (Date.now() <= endsAt) {
      if (await isAllowed().catch(() => false)) outcomes.before++;
      await pause(EVERY_MS);
    }
    for (const end = Date.now() + 500; Date.now() < end; await pause(EVERY_MS)) {
      if (await isAllowed().catch(() => false)) outcomes.after++;
    }
  } finally {
    opened.close();
    await usher.close();
    await line.close();
  }
  expect(outcomes.before).toBeGreaterThan(50);
  expect(outcomes.after).toBe(0);
});

test('a kept question of the engine in this process ends with its grant', async () => {
  const email = 'kept@example.com';
  const endsAt = Date.now() + 1200;
  await change({ kind: 'roles-of-user', app: APP, email, roles: ['reader'], windows: [{ endsAt }] });
  const may = local.keep({ email, app: APP, permission: 'read' }, { unanswered: 'undefined' });
  await may.ready();
  let allowed = 0;
  while (Date.now() <= endsAt) {
    if (may() === true) allowed++;
    await pause(1);
  }
  expect(allowed).toBeGreaterThan(100);
  for (const end = Date.now() + 300; Date.now() < end; await pause(1)) expect(may()).not.toBe(true);
  expect(may()).toBe(false);
  may.close();
});
