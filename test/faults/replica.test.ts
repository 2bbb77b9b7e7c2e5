import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import type { CheckResult } from '../../src/gen/api.ts';
import type { Operation } from '../oracle/rows.ts';
import { median, ReplicaWorld } from '../scale/replica-world.ts';
import { type PostgresServer, SERVER_VARIABLE, startPostgres } from '../support/postgres.ts';
import { numberOf } from '../support/revisions.ts';
import { SHOP } from './shop.ts';

/**
 * A service whose facts come from a replica that is 2 s behind, an edge of it, and what befalls such a replica. What the replica says
 * is never wrong by itself: each of these makes it say what was true some time, or in another history.
 */
const LAG_MS = 2000;
const HOLDER = 'holder@example.com';
const grant = (email: string): Operation => ({ kind: 'roles-of-user', app: 'shop', email, roles: ['reader'] });
const revoke = (email: string): Operation => ({ kind: 'roles-of-user', app: 'shop', email, roles: [] });

let world: ReplicaWorld;
const servers: PostgresServer[] = [];
let serial = 0;

/** Somebody who was never asked about: a miss. */
const somebody = () => `somebody${++serial}@example.com`;
const question = (email: string) => ({ email, app: 'shop', permission: 'read', resourceType: '', resourceId: '' });
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function check(email: string, minRevision?: string) {
  const began = performance.now();
  const response = await fetch(`${world.answering.rest}/api/check`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-internal-api-key': world.answering.app.localKey ?? '',
      ...(minRevision === undefined ? {} : { 'usher-min-revision': minRevision }),
    },
    body: JSON.stringify({ email, app: 'shop', permission: 'read' }),
  });
  const { data } = (await response.json()) as { data?: CheckResult };
  const revision = response.headers.get('usher-revision') ?? '';
  return { status: response.status, allowed: data?.allowed, revision, ms: performance.now() - began };
}

/** Misses, until one of them is asked of the replica and used. */
async function untilUsed(): Promise<void> {
  const { results } = world.counters;
  const before = results.replica + results.both;
  for (const end = performance.now() + 30_000; results.replica + results.both === before; await pause(50)) {
    expect((await check(somebody())).status).toBe(200);
    if (performance.now() > end) throw new Error(`the replica is not used: ${JSON.stringify(results)}`);
  }
}

/** Misses, until it is left alone for that reason. */
async function untilPaused(reason: string): Promise<void> {
  const { counters } = world.answering.app.engine;
  for (const end = performance.now() + 30_000; counters.replica?.paused !== reason; await pause(50)) {
    expect((await check(somebody())).status).toBe(200);
    if (performance.now() > end) throw new Error(`the replica is not left alone: ${counters.replica?.paused}`);
  }
}

async function metrics(): Promise<string> {
  return await (await fetch(`${world.answering.rest}/metrics`)).text();
}

beforeAll(async () => {
  world = await ReplicaWorld.start(LAG_MS);
  for (const operation of SHOP) await world.write(operation);
  await world.write(grant(HOLDER));
}, 150_000);

afterAll(async () => {
  await world?.close();
  for (const server of servers) await server.close();
}, 60_000);

describe('a replica that is 2 s behind', () => {
  test('during writes no answer is wrong at the revision that it names, here or at an edge', async () => {
    await world.fill();
    const end = performance.now() + 20_000;
    const { replica, primary } = world.counters.needs;
    const tally = await world.run(
      ({ decisions, revisions }) => performance.now() > end && decisions > 3000 && revisions > 50,
    );
    expect(tally.wrong).toEqual([]);
    expect(tally.refused).toEqual([]);
    expect(tally.allowed / tally.decisions).toBeGreaterThan(0.02);
    // It is what is judged: a good part came from there, and another could not.
    const [ofReplica, ofPrimary] = [world.counters.needs.replica - replica, world.counters.needs.primary - primary];
    expect(ofReplica).toBeGreaterThan((ofReplica + ofPrimary) / 10);
    expect(ofPrimary).toBeGreaterThan((ofReplica + ofPrimary) / 100);
  }, 120_000);

  test('the revision of a write is answered at once', async () => {
    const took: number[] = [];
    for (let round = 0; round < 20; round++) {
      const email = somebody();
      const revision = await world.write(round % 2 === 0 ? grant(email) : grant(HOLDER));
      const answer = await check(round % 2 === 0 ? email : HOLDER, revision);
      expect(answer).toMatchObject({ status: 200, allowed: true });
      expect(numberOf(answer.revision)).toBeGreaterThanOrEqual(numberOf(revision));
      took.push(answer.ms);
    }
    // Nobody waits for the replica. The bound is for a machine that has other things to do.
    expect(median(took)).toBeLessThan(200);
  });

  test('a revocation is seen within a second, at an edge as well', async () => {
    const took: number[] = [];
    for (let round = 0; round < 5; round++) {
      await world.write(grant(HOLDER));
      const { engine } = world.edge.edge;
      await engine.check(question(HOLDER));
      expect(await check(HOLDER, await world.write(grant(HOLDER)))).toMatchObject({ allowed: true });
      await world.write(revoke(HOLDER));
      const began = performance.now();
      while ((await check(HOLDER)).allowed) await pause(2);
      took.push(performance.now() - began);
      while ((await engine.check(question(HOLDER))).decision.granted) await pause(2);
      expect(performance.now() - began).toBeLessThan(1000);
    }
    expect(median(took)).toBeLessThan(500);
    await world.write(grant(HOLDER));
  });

  test('its loads are counted', async () => {
    await untilUsed();
    const told = await metrics();
    expect(told).toMatch(/^usher_replica_loads_total\{result="replica"\} [1-9]\d*$/m);
    expect(told).toMatch(/^usher_replica_paused\{reason="failed"\} 0$/m);
    expect(told).toMatch(/^usher_replica_behind_revisions \d+$/m);
  });
});

describe('a replica in trouble', () => {
  test('a dead one fails no check, is left alone, and is used again when it is back', async () => {
    await untilUsed();
    world.line.down();
    const answers = await Promise.all(Array.from({ length: 20 }, () => check(somebody())));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(world.counters.results.failed).toBeGreaterThan(0);
    const failed = world.counters.results.failed;
    for (let round = 0; round < 20; round++) expect((await check(somebody())).status).toBe(200);
    expect(world.counters.results.failed).toBe(failed);
    // A warning, and not a reason to send callers elsewhere.
    for (const path of ['/readyz', '/readyz/checks'])
      expect((await fetch(`${world.answering.rest}${path}`)).status).toBe(200);
    expect(await metrics()).toMatch(/^usher_replica_paused\{reason="failed"\} 1$/m);
    world.line.up();
    await untilUsed();
  });

  test('one that is frozen costs the first loads a quarter of a second', async () => {
    await untilUsed();
    freeze(world.replica.pid, 'SIGSTOP');
    try {
      const first = await Promise.all(Array.from({ length: 4 }, () => check(somebody())));
      expect(first.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      const { failed } = world.counters.results;
      expect(failed).toBeGreaterThan(0);
      const took: number[] = [];
      const revision = await world.write(revoke(HOLDER));
      expect(await check(HOLDER, revision)).toMatchObject({ status: 200, allowed: false });
      for (let round = 0; round < 20; round++) {
        const answer = await check(somebody());
        expect(answer.status).toBe(200);
        took.push(answer.ms);
      }
      // It is tried again after a pause, which a busy machine may reach: by one load, not by each.
      expect(world.counters.results.failed - failed).toBeLessThan(took.length / 4);
      expect(median(took)).toBeLessThan(200);
    } finally {
      freeze(world.replica.pid, 'SIGCONT');
    }
    await untilUsed();
  });

  test('one that was put back to an older state is right in all that has not changed since', async () => {
    const emails = Array.from({ length: 10 }, somebody);
    for (const email of emails) await world.write(grant(email));
    const older = await startPostgres({ maxConnections: 50, from: await world.primary.copy() });
    servers.push(older);
    for (const email of emails) await world.write(revoke(email));
    world.line.lead(older.url);
    const { both } = world.counters.results;
    for (const email of emails) {
      await untilUsed();
      expect(await check(email)).toMatchObject({ status: 200, allowed: false });
    }
    expect(world.counters.results.both).toBeGreaterThan(both);
    world.line.lead(world.replicaUrl);
    await untilUsed();
  });

  test('one of another installation is not used', async () => {
    const server = process.env[SERVER_VARIABLE] ?? '';
    const name = new URL(world.url).pathname.slice(1);
    const admin = new pg.Client({ connectionString: server });
    await admin.connect();
    try {
      await admin.query(`create database ${name} template usher_template`);
      world.line.lead(server);
      // Its log is empty.
      await untilPaused('too-old');
      expect(await check(HOLDER, await world.write(grant(HOLDER)))).toMatchObject({ status: 200, allowed: true });
      world.line.lead(world.replicaUrl);
      await untilUsed();
    } finally {
      await admin.query(`drop database ${name} with (force)`);
      await admin.end();
    }
  });

  test('one that was promoted goes a way of its own, and is not followed', async () => {
    const email = somebody();
    await world.write(revoke(email));
    await pause(LAG_MS + 500);
    await untilUsed();
    const there = new pg.Client({ connectionString: world.replicaUrl });
    await there.connect();
    try {
      await there.query('select pg_promote()');
      // As long as nothing is written there it is what it was.
      await untilUsed();
      for (const end = performance.now() + 10_000; performance.now() < end; await pause(50)) {
        const { rows } = await there.query<{ standby: boolean }>('select pg_is_in_recovery() as standby');
        if (rows[0]?.standby === false) break;
      }
      const head = `(select max(revision) from policy_change)`;
      await there.query(`
        with person as (insert into person (email) values ('${email}')
            on conflict (email) do update set email = excluded.email returning id),
          given as (insert into superadmin (person_id) select id from person)
        insert into policy_change (revision, nonce, scopes) select ${head} + 1, '4711', array['u:${email}']`);
    } finally {
      await there.end();
    }
    const before = world.answering.app.engine.cursor;
    // Ahead of the primary there, and then of another history under the same number.
    expect(await check(email)).toMatchObject({ status: 200, allowed: false });
    expect(world.answering.app.engine.cursor).toBe(before);
    await world.write(grant(HOLDER));
    await untilPaused('other-history');
    expect(await check(email)).toMatchObject({ status: 200, allowed: false });
    const tally = await world.run(({ decisions, revisions }) => decisions > 1000 && revisions > 20, 7);
    expect({ wrong: tally.wrong, refused: tally.refused }).toEqual({ wrong: [], refused: [] });
  }, 120_000);
});

/** The whole server: its processes are children of the first. */
function freeze(pid: number, signal: 'SIGSTOP' | 'SIGCONT'): void {
  const { stdout } = spawnSync('ps', ['--ppid', `${pid}`, '-o', 'pid='], { encoding: 'utf8' });
  for (const one of [pid, ...stdout.split('\n').map(Number)].filter((number) => number > 0)) process.kill(one, signal);
}
