import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Client, credentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import type { Role } from '../../src/gen/api.ts';
import { openLocalIssuer } from '../../src/identity/local-issuer.ts';
import { startService, usherProcess } from '../cli/harness.ts';
import { call, FRONT } from '../grpc/support.ts';
import { createDatabase, freePort, type PostgresDatabase } from '../support/postgres.ts';

/**
 * A rolling upgrade: two processes of an earlier version on one PostgreSQL are replaced, one by one, by this one, while callers go
 * on. `npm run test:upgrade`; the earlier version is a git ref, USHER_FROM (HEAD~1). Unless GRPC_FRONT=false this one
 * has the front of the gRPC port, and the earlier one beside it has none.
 */
const ROOT = resolve(import.meta.dirname, '../..');
const FROM = process.env.USHER_FROM ?? 'HEAD~1';
const PHASE_MS = process.env.USHER_LONG === '1' ? 20_000 : 4000;
const KEY = 'the-internal-key-of-a-backend';
const ADMIN = 'admin@example.com';
const ASKERS = 12;
const WRITERS = 4;
/** The development mailbox keeps no more. */
const MOST_SENDS = 150;

interface Instance {
  readonly name: string;
  readonly url: string;
  readonly grpc: Client;
  stop(): Promise<number>;
}

const tally = { checks: 0, writes: 0, compared: 0, failed: [] as string[], differing: [] as string[] };
const sent: string[] = [];
let earlier: string;
let dataDir: string;
let database: PostgresDatabase;
let env: Record<string, string>;
let active: Instance[] = [];
let token: string;
let over = false;

beforeAll(async () => {
  earlier = mkdtempSync(join(tmpdir(), 'usher-earlier-'));
  execFileSync('sh', ['-c', 'git archive "$0" | tar -x -C "$1"', FROM, earlier], { cwd: ROOT });
  symlinkSync(join(ROOT, 'node_modules'), join(earlier, 'node_modules'));
  dataDir = mkdtempSync(join(tmpdir(), 'usher-upgrade-'));
  mkdirSync(join(dataDir, 'mailbox'));
  database = await createDatabase({ empty: true });
  env = { DATABASE_URL: database.url, DATA_DIR: dataDir, INTERNAL_API_KEY: KEY, DATABASE_MIGRATE_ON_START: 'false' };
  expect(await usherProcess(['migrate'], env, { root: earlier })).toMatchObject({ code: 0 });
}, 240_000);

afterAll(async () => {
  over = true;
  await Promise.all(active.map((instance) => instance.stop()));
  await database?.drop();
  for (const directory of [earlier, dataDir]) if (directory) rmSync(directory, { recursive: true, force: true });
});

async function start(name: string, root?: string): Promise<Instance> {
  const port = await freePort();
  const front = `${root === undefined && FRONT}`;
  const service = await startService(
    { ...env, GRPC_PORT: `${port}`, GRPC_FRONT: front },
    root === undefined ? {} : { root },
  );
  const grpc = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  return {
    name,
    url: service.url,
    grpc,
    stop: async () => {
      grpc.close();
      return await service.stop();
    },
  };
}

/** As behind a balancer: the new one is asked once it is ready, the old one no more, and only then ended. */
async function replace(old: Instance, by: Promise<Instance>): Promise<void> {
  active = [...active.filter((one) => one !== old), await by];
  await pause(2000);
  expect(await old.stop()).toBe(0);
}

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));
const anyone = () => active[Math.floor(Math.random() * active.length)] as Instance;

async function ask(at: Instance, email: string, minRevision = ''): Promise<boolean | null> {
  const question = { email, app: 'shop', permission: 'read', minRevision };
  tally.checks++;
  try {
    return (await call(at.grpc, 'Check', question, { metadata: { 'x-internal-api-key': KEY } })).message.allowed;
  } catch (error) {
    tally.failed.push(`${at.name}: check: ${String(error)}`);
    return null;
  }
}

async function send(at: Instance, method: string, path: string, body: object, headers: Record<string, string>) {
  try {
    const response = await fetch(at.url + path, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    if (!response.ok) tally.failed.push(`${at.name}: ${method} ${path}: ${response.status} ${await response.text()}`);
    return response;
  } catch (error) {
    tally.failed.push(`${at.name}: ${method} ${path}: ${String(error)}`);
    return null;
  }
}

async function asking(): Promise<void> {
  while (!over) {
    const holds = Math.random() < 0.5;
    const allowed = await ask(anyone(), holds ? 'holder@example.com' : 'nobody@example.com');
    if (allowed !== null && allowed !== holds) tally.differing.push(`${holds ? 'holder' : 'nobody'}: ${allowed}`);
    await pause(15);
  }
}

/** Gives and takes a role at any of them, and asks all of them at the revision that this made. */
async function writing(email: string, role: number): Promise<void> {
  for (let on = true; !over; on = !on) {
    const at = anyone();
    const roles = { roleIds: on ? [role] : [] };
    const answer = await send(at, 'PUT', `/api/users/${email}/apps/shop/roles`, roles, { authorization: token });
    tally.writes++;
    const revision = answer?.headers.get('usher-revision');
    if (answer?.ok !== true || !revision) continue;
    for (const other of active) {
      const allowed = await ask(other, email, revision);
      tally.compared++;
      if (allowed !== null && allowed !== on)
        tally.differing.push(`${email} at ${other.name}, written at ${at.name}: ${allowed}`);
    }
    await pause(50);
  }
}

async function notifying(): Promise<void> {
  for (let n = 0; !over && n < MOST_SENDS; n++) {
    const email = `upgrade-${n}@example.com`;
    const notification = { appCode: 'auth', recipients: [email], subject: email };
    const answer = await send(anyone(), 'POST', '/api/internal/notifications', notification, {
      'x-internal-api-key': KEY,
    });
    if (answer?.status === 202) sent.push(email);
    await pause(150);
  }
}

function delivered(): Set<string> {
  const names = readdirSync(join(dataDir, 'mailbox')).filter((name) => name.endsWith('.json'));
  return new Set(names.map((name) => JSON.parse(readFileSync(join(dataDir, 'mailbox', name), 'utf8')).to as string));
}

test(
  'a rolling upgrade causes no error, no differing decision and no lost notification',
  async () => {
    const first = await start('earlier 1', earlier);
    active = [first];
    const second = await start('earlier 2', earlier);
    active = [first, second];
    token = `Bearer ${await (await openLocalIssuer({ dataDir, clock: systemClock })).sign(ADMIN, {}, 3600)}`;
    const shop = {
      application: { code: 'shop', name: 'Shop' },
      permissions: [{ code: 'read', type: 'binary' }],
      roles: [{ code: 'reader', permissions: { read: 'allowed' } }],
      assignments: [{ email: 'holder@example.com', roles: ['reader'] }],
    };
    await send(first, 'POST', '/api/manifests/apply', shop, { authorization: token });
    const listed = await fetch(`${first.url}/api/applications/shop/roles`, { headers: { authorization: token } });
    const [{ id: role }] = ((await listed.json()) as { data: [Role] }).data;
    await pause(1000);

    const running = Promise.all([
      ...Array.from({ length: ASKERS }, asking),
      ...Array.from({ length: WRITERS }, (_, n) => writing(`writer-${n}@example.com`, role)),
      notifying(),
    ]);
    try {
      await pause(PHASE_MS);
      const before = { at: performance.now(), checks: tally.checks, failed: tally.failed.length };
      for (let i = 0; i < 3; i++) expect(await usherProcess(['migrate'], env)).toMatchObject({ code: 0, stderr: '' });
      const seconds = (performance.now() - before.at) / 1000;
      const rate = (tally.checks - before.checks) / seconds;
      process.stdout.write(
        `usher migrate, three times: ${tally.checks - before.checks} checks meanwhile (${Math.round(rate)} a second), ${tally.failed.length - before.failed} failed\n`,
      );
      await replace(first, start('this 1'));
      await pause(PHASE_MS);
      await replace(second, start('this 2'));
      await pause(PHASE_MS);
    } finally {
      over = true;
      await running;
    }
    for (const end = performance.now() + 30_000; performance.now() < end; await pause(250)) {
      if (sent.every((email) => delivered().has(email))) break;
    }
    const lost = sent.filter((email) => !delivered().has(email));
    process.stdout.write(
      `rolling upgrade from ${FROM}, front ${FRONT}: ${tally.checks} checks, ${tally.writes} writes, ${tally.compared} decisions compared, ${sent.length} notifications; ` +
        `failed ${tally.failed.length}, differing ${tally.differing.length}, lost ${lost.length}\n`,
    );
    expect(tally.failed).toEqual([]);
    expect(tally.differing).toEqual([]);
    expect(lost).toEqual([]);
    expect(sent.length).toBeGreaterThan(10);
  },
  600_000 + 5 * PHASE_MS,
);
