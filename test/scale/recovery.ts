/**
 * Backup and recovery of a PostgreSQL as docs/operations/backup.md has them, with two instances and an edge alive:
 *
 *   npm run test:recovery
 *
 * A base backup with archived logs, recovery to a time, pg_dump and pg_restore, and what becomes of caches, revisions and deliveries.
 * Needs the server and the tools of a PostgreSQL (PG_BIN, or where Debian puts them). Ends with 1 when something is not as the guide
 * says, with 2 when the tools are missing.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chownSync, existsSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { systemClock } from '../../src/base/clock.ts';
import { UsherError } from '../../src/base/errors.ts';
import { Mailbox } from '../../src/delivery/mailbox.ts';
import { parseRevision } from '../../src/engine/question.ts';
import { type RunningEdge, startEdge } from '../support/edge.ts';
import { freePort } from '../support/postgres-server.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const run = promisify(execFile);
const KEY = 'recovery-key-canary-0000001';
const NOBODY = 65534;
const isRoot = process.getuid?.() === 0;
const BIN = process.env.PG_BIN ?? globSync('/usr/lib/postgresql/*/bin').sort().at(-1) ?? '';
const ROOT = mkdtempSync(join(tmpdir(), 'usher-recovery-'));
const PEOPLE = ['ada', 'ben', 'cleo', 'dan'] as const;
type Person = (typeof PEOPLE)[number];

const MANIFEST = (readers: readonly Person[]) => `
application: { code: billing, name: Billing }
permissions: [{ code: invoice.read, type: binary }]
roles: [{ code: reader, permissions: { invoice.read: allowed } }]
assignments: [${readers.map((name) => `{ email: ${name}@example.com, roles: [reader] }`).join(', ')}]
`;

let failures = 0;
function expect(what: string, found: unknown, wanted: unknown): void {
  const isSo = JSON.stringify(found) === JSON.stringify(wanted);
  if (!isSo) failures++;
  const other = isSo ? '' : `: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`;
  console.log(`${isSo ? 'ok  ' : 'FAIL'} ${what}${other}`);
}

/** Runs a program of PostgreSQL, which refuses to be root. */
async function tool(name: string, ...words: string[]): Promise<string> {
  const identity = isRoot ? { uid: NOBODY, gid: NOBODY } : {};
  const { stdout } = await run(join(BIN, name), words, {
    ...identity,
    cwd: ROOT,
    env: { PATH: process.env.PATH, LC_ALL: 'C' },
  });
  return stdout;
}

class Server {
  readonly port: number;
  #child: ChildProcess | null = null;

  constructor(port: number) {
    this.port = port;
  }

  url(database = 'postgres'): string {
    return `postgresql://postgres@127.0.0.1:${this.port}/${database}`;
  }

  async start(data: string): Promise<void> {
    const settings = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      port: this.port,
      wal_level: 'replica',
      archive_mode: 'on',
      archive_command: `test ! -f ${ROOT}/archive/%f && cp %p ${ROOT}/archive/%f`,
      log_min_messages: 'fatal',
    };
    const words = ['-D', data, ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`])];
    const identity = isRoot ? { uid: NOBODY, gid: NOBODY } : {};
    this.#child = spawn(join(BIN, 'postgres'), words, { ...identity, cwd: ROOT, stdio: 'ignore' });
    for (let tries = 0; ; tries++) {
      const took = await this.query('select pg_is_in_recovery() as recovering').catch(() => null);
      if (took?.[0]?.recovering === false) return;
      if (tries > 300) throw new Error('PostgreSQL did not start');
      await sleep(100);
    }
  }

  async query(text: string, database?: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: this.url(database), connectionTimeoutMillis: 1000 });
    await client.connect();
    try {
      return (await client.query(text)).rows as Record<string, unknown>[];
    } finally {
      await client.end();
    }
  }

  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGINT');
    await ended;
  }
}

const server = new Server(await freePort());
const instances: RunningUsher[] = [];
let edge: RunningEdge | null = null;

type Asked = Pick<RunningUsher['app']['engine'], 'check'>;

async function ask(engine: Asked, name: Person, minRevision?: string): Promise<unknown> {
  const question = { email: `${name}@example.com`, app: 'billing', permission: 'invoice.read' };
  const options = minRevision === undefined ? {} : { minRevision: parseRevision(minRevision) };
  return await engine.check({ ...question, resourceType: '', resourceId: '' }, options).then(
    ({ decision }) => decision.granted,
    (error: unknown) => (error instanceof UsherError ? (error.reason ?? error.code) : String(error)),
  );
}

/** What both instances and the edge answer. */
function asked(name: Person, minRevision?: string): Promise<unknown[]> {
  const engines = [...instances.map(({ app }) => app.engine), ...(edge === null ? [] : [edge.edge.engine])];
  return Promise.all(engines.map((engine) => ask(engine, name, minRevision)));
}

async function expectSoon(what: string, look: () => Promise<unknown>, wanted: unknown, ms = 10_000): Promise<void> {
  const began = performance.now();
  let found = await look();
  while (JSON.stringify(found) !== JSON.stringify(wanted) && performance.now() - began < ms) {
    await sleep(50);
    found = await look();
  }
  expect(`${what} (${Math.round(performance.now() - began)} ms)`, found, wanted);
}

async function apply(readers: readonly Person[]): Promise<string> {
  const [first] = instances;
  if (first === undefined) throw new Error('no instance');
  return (await first.app.manifests.apply(MANIFEST(readers), { actor: 'cli', prune: true })).revision;
}

async function send(subject: string): Promise<void> {
  const body = {
    appCode: 'billing',
    type: 'generic',
    recipients: ['ada@example.com'],
    subject,
    body: 'Hello.',
  };
  const headers = { 'content-type': 'application/json', 'x-internal-api-key': KEY };
  const response = await fetch(`${instances[0]?.rest ?? ''}/api/internal/notifications`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  if (response.status !== 202) throw new Error(`a send was answered ${response.status}: ${await response.text()}`);
}

const DATA_DIR = join(ROOT, 'usher');
const mailbox = new Mailbox(DATA_DIR, systemClock);
/** Subjects of the mails that went out, with how many different Message-IDs they had, by subject. */
async function mails(): Promise<Record<string, string>> {
  const all = (await mailbox.list()).toReversed();
  const subjects = [...new Set(all.map(({ subject }) => subject))].sort();
  return Object.fromEntries(
    subjects.map((subject) => {
      const same = all.filter((mail) => mail.subject === subject);
      return [subject, `${same.length} of ${new Set(same.map(({ messageId }) => messageId)).size}`];
    }),
  );
}

function start(database: string, roles: string): Promise<RunningUsher> {
  const env = { USHER_ROLES: roles, INTERNAL_API_KEY: KEY, DATABASE_POOL_SIZE: '5' };
  return startUsher({ url: server.url(database), dataDir: DATA_DIR }, { env });
}

/** Delivers what is waiting, by a worker that lives as long. */
async function deliver(until: Record<string, string>): Promise<void> {
  const worker = await start('usher', 'gateway,worker');
  await expectSoon('mails went out', mails, until);
  // So long that one more would have gone out.
  await sleep(1500);
  await worker.close();
}

async function pointInTime(): Promise<void> {
  const primary = join(ROOT, 'primary');
  await server.start(primary);
  await server.query('create database usher');
  instances.push(await start('usher', 'rpc,gateway'), await start('usher', 'rpc,gateway'));
  edge = await startEdge(instances[1]?.grpc ?? '', { env: { UPSTREAM_KEY: KEY, INTERNAL_API_KEY: KEY } });
  const early = await apply(['ada']);
  await send('delivered before');
  await deliver({ 'delivered before': '1 of 1' });
  await tool(
    'pg_basebackup',
    '-h',
    '127.0.0.1',
    '-p',
    `${server.port}`,
    '-U',
    'postgres',
    '-D',
    join(ROOT, 'base'),
    '-c',
    'fast',
  );
  const kept = await apply(['ada', 'ben']);
  await send('waiting at the time');
  const [{ now } = { now: '' }] = await server.query('select clock_timestamp()::text as now');
  await sleep(50);
  const lost = await apply(['cleo']);
  await send('accepted after');
  await deliver({ 'accepted after': '1 of 1', 'delivered before': '1 of 1', 'waiting at the time': '1 of 1' });
  for (const [name, is] of [
    ['ada', false],
    ['ben', false],
    ['cleo', true],
  ] as const) {
    await expectSoon(`before: ${name}`, () => asked(name, lost), [is, is, is]);
  }
  await server.query('select pg_switch_wal()');
  await server.stop();

  console.log(`\n-- recovered to ${String(now)}, with the instances and the edge alive`);
  const recovered = join(ROOT, 'base');
  const settings = [
    `restore_command = 'cp ${ROOT}/archive/%f %p'`,
    `recovery_target_time = '${String(now)}'`,
    `recovery_target_action = 'promote'`,
  ];
  writeFileSync(join(recovered, 'postgresql.auto.conf'), `${settings.join('\n')}\n`);
  writeFileSync(join(recovered, 'recovery.signal'), '');
  await server.start(recovered);
  await expectSoon('ada has it again', () => asked('ada'), [true, true, true]);
  await expectSoon('ben has it, granted after the base backup', () => asked('ben'), [true, true, true]);
  await expectSoon('cleo has it no more', () => asked('cleo'), [false, false, false]);
  expect('a revision from before holds', await asked('ada', early), [true, true, true]);
  expect('the last one that is kept holds', await asked('ben', kept), [true, true, true]);
  const unknown = ['UNKNOWN_REVISION', 'UNKNOWN_REVISION', 'UNKNOWN_REVISION'];
  await expectSoon('a revision that was lost is refused', () => asked('ada', lost), unknown);
  const next = await apply(['dan']);
  expect('numbers are given anew', next.split('.')[0], lost.split('.')[0]);
  await expectSoon('a write of the new history is seen', () => asked('dan', next), [true, true, true]);
  expect('the lost one of that number is refused still', await asked('dan', lost), unknown);
  const subjects = await server.query(`select subject from notification order by id`, 'usher');
  expect(
    'what was accepted after the time is gone',
    subjects.map(({ subject }) => subject),
    ['delivered before', 'waiting at the time'],
  );
  await deliver({ 'accepted after': '1 of 1', 'delivered before': '1 of 1', 'waiting at the time': '2 of 1' });
}

async function dumpAndRestore(): Promise<void> {
  console.log('\n-- pg_dump and pg_restore, into a database of its own');
  const file = join(ROOT, 'usher.dump');
  await tool('pg_dump', '--format=custom', '--file', file, server.url('usher'));
  await server.query('create database copy');
  await tool('pg_restore', '--exit-on-error', '--no-owner', '--dbname', server.url('copy'), file);
  const copy = await start('copy', 'rpc,gateway');
  try {
    expect('the copy answers as the original', await ask(copy.app.engine, 'dan'), true);
    const { revision } = await copy.app.engine.check({
      email: 'dan@example.com',
      app: 'billing',
      permission: 'invoice.read',
      resourceType: '',
      resourceId: '',
    });
    expect(
      'a copy has the history of the original',
      await ask(instances[0]?.app.engine as Asked, 'dan', revision),
      true,
    );
    const env = { PATH: process.env.PATH, DATABASE_URL: server.url('copy') };
    const { stdout } = await run(process.execPath, ['src/main.ts', 'reincarnate', '--yes'], {
      cwd: join(import.meta.dirname, '../..'),
      env,
    });
    console.log(`     ${stdout.trim()}`);
    await expectSoon(
      'after reincarnate it has another',
      () => ask(copy.app.engine, 'dan', revision),
      'UNKNOWN_REVISION',
    );
    expect('and answers as before', await ask(copy.app.engine, 'dan'), true);
  } finally {
    await copy.close();
  }
}

async function main(): Promise<void> {
  if (!existsSync(join(BIN, 'pg_basebackup'))) {
    console.error('needs the server and the tools of a PostgreSQL: set PG_BIN');
    process.exitCode = 2;
    return;
  }
  mkdirSync(join(ROOT, 'archive'));
  mkdirSync(DATA_DIR);
  if (isRoot) for (const path of [ROOT, join(ROOT, 'archive')]) chownSync(path, NOBODY, NOBODY);
  try {
    await tool('initdb', '-D', join(ROOT, 'primary'), '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C');
    await pointInTime();
    await dumpAndRestore();
  } finally {
    await edge?.close();
    for (const one of instances) await one.close();
    await server.stop();
    rmSync(ROOT, { recursive: true, force: true });
  }
  console.log(failures === 0 ? '\nall as the guide says' : `\n${failures} not as the guide says`);
  if (failures > 0) process.exitCode = 1;
}

await main();
