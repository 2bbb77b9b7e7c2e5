import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { record } from '../../src/persistence/audit.ts';
import type { Database } from '../../src/persistence/database.ts';
import type { Operation } from '../oracle/rows.ts';
import { carryOut } from '../support/carry-out.ts';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { reached, reachedBy } from '../support/postgres.ts';
import { LineCutter } from '../support/proxy.ts';
import { type SmtpSink, startSmtp } from '../support/smtp.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { type SmallDisk, smallDisk } from './disk-full.ts';
import { FLIPPED, HOLDER, type Judged, judge, Load } from './load.ts';
import { SHOP } from './shop.ts';

/**
 * A service whose database goes wrong in every way, with callers on it all the time. Trouble is UNAVAILABLE, never a denial and
 * never an old "allowed" beyond the TTL; it ends by itself; nothing acknowledged is lost. The long run prints docs/evidence/reliability.md's
 * table.
 */
const LONG = process.env.USHER_LONG === '1';
const TTL_MS = 1500;
const HOLD_MS = LONG ? 20_000 : 2500;
const SWALLOW_MS = LONG ? 20_000 : 5000;
const CUTS = LONG ? 60 : 6;
/** Recovery by itself: contract, docs/reliability.md. */
const RECOVERY_MS = 2000;

const allow = (email: string, roles: string[]): Operation => ({ kind: 'roles-of-user', app: 'shop', email, roles });
const SETUP = [...SHOP, allow(HOLDER, ['reader'])];

const BALLAST = 'x'.repeat(100_000);

let storage: TestStorage;
let smtp: SmtpSink;
let smtpLine: LineCutter;
let direct: Database;
let line: LineCutter;
let usher: RunningUsher;
let load: Load;
let jumpMs = 0;
const table: (readonly [fault: string, figures: Judged, recovery: { checkMs: number; writeMs: number }])[] = [];

/** Wall time that jumps; nothing else of time does. */
const clock: Clock = { ...systemClock, now: () => systemClock.now() + jumpMs };

const write = (operation: Operation) => direct.change((tx) => carryOut(tx, operation));
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

beforeAll(async () => {
  storage = await createStorage('postgresql');
  direct = await storage.open();
  line = await LineCutter.start(reached(storage.url ?? '').url);
  for (const operation of SETUP) await write(operation);
  smtp = await startSmtp();
  smtpLine = await LineCutter.start(`smtp://127.0.0.1:${smtp.port}`);
  usher = await startUsher(
    { ...reachedBy(line, storage.url ?? ''), dataDir: storage.dataDir },
    { env: { CACHE_TTL_MS: `${TTL_MS}` }, parts: { clock } },
  );
  // The start has made the default brand.
  await direct.change(async (tx) => {
    await sql`update brand set email_from = 'news@example.com', smtp_host = '127.0.0.1', smtp_port = ${smtpLine.port} where is_default`.execute(
      tx.kysely,
    );
    return { result: null, scopes: [] };
  });
  load = Load.start(usher);
});

afterAll(async () => {
  line?.up();
  await load?.stop();
  await usher?.close();
  await Promise.all([line?.close(), smtpLine?.close()]);
  await smtp?.close();
  await storage?.remove();
  if (LONG || process.env.USHER_TABLE) process.stdout.write(report());
});

interface Fault {
  name: string;
  begin: () => Promise<void> | void;
  holdMs: number;
  end: () => Promise<void> | void;
  /** Whether callers notice nothing but the time that it takes. */
  unnoticed?: 'checks' | 'all';
}

/** Lets a fault last for a while, with a revocation in the middle, and judges what callers got. */
async function suffer({ name, begin, holdMs, end, unnoticed }: Fault): Promise<Judged> {
  await write(allow(FLIPPED, ['reader']));
  await pause(1000);
  // The time of a read and a write without a fault: a busy machine is not a fault.
  const calm = await load.recovered();
  const from = performance.now();
  await begin();
  await pause(holdMs / 5);
  await write(allow(FLIPPED, []));
  const revokedAt = performance.now();
  await pause(holdMs * 0.8);
  await end();
  const recovery = await load.recovered();
  const back = performance.now();
  // Those who asked before the end may have waited for it.
  await pause(1500);
  // The revocation arrives within a second at reachable instances, within a TTL at others.
  const figures = judge(load.got, from, performance.now(), revokedAt, TTL_MS + 100);
  const after = judge(load.got, back + 500, performance.now(), revokedAt, 1000);
  table.push([name, figures, recovery]);
  expect(figures.wrong).toEqual([]);
  expect(recovery.checkMs).toBeLessThan(RECOVERY_MS + 2 * calm.checkMs);
  expect(recovery.writeMs).toBeLessThan(RECOVERY_MS + 2 * calm.writeMs);
  expect(after).toMatchObject({ unavailable: 0, made: after.writes, wrong: [] });
  if (unnoticed !== undefined) expect(figures.unavailable).toBeLessThanOrEqual(figures.checks / 100);
  if (unnoticed === 'all') expect(figures.made).toBe(figures.writes);
  expect(await lost()).toEqual({ lost: [], halfDone: [] });
  return figures;
}

/** Of all writes so far: acknowledged and not there; refused, though certainly, and there all the same. */
async function lost(database = direct, callers = load): Promise<{ lost: string[]; halfDone: string[] }> {
  // Before the roles are read: writers go on meanwhile.
  const writes = callers.got.filter(({ what }) => what === 'write');
  const rows = await database.read((tx) => tx.kysely.selectFrom('role').select('code').execute());
  const there = new Set(rows.map(({ code }) => code));
  return {
    lost: writes.filter(({ outcome, about }) => outcome === 'made' && !there.has(about)).map(({ about }) => about),
    halfDone: writes
      .filter(({ outcome, about }) => outcome === '503 UNAVAILABLE' && there.has(about))
      .map(({ about }) => about),
  };
}

/** A row of docs/evidence/reliability.md for each fault. What is wrong or lost has failed the test before. */
function report(): string {
  const rows = table.map(([fault, figures, { checkMs, writeMs }]) => {
    const { checks, unavailable, writes, made, slowestCheckMs, slowestWriteMs } = figures;
    return [fault, checks, unavailable, writes, writes - made, slowestCheckMs, slowestWriteMs, checkMs, writeMs];
  });
  const head = ['fault', 'checks', 'unavailable', 'writes', 'refused', 'slowest check', 'slowest write'];
  const all = [[...head, 'check again after', 'write again after'], ...rows];
  return `\n${all.map((row) => `| ${row.join(' | ')} |`).join('\n')}\n`;
}

describe('PostgreSQL', () => {
  test(
    'a lost PostgreSQL with refused connections keeps the promises',
    async () => {
      const { unavailable } = await suffer({
        name: 'gone (connections cut and refused)',
        begin: () => line.down(),
        holdMs: HOLD_MS,
        end: () => line.up(),
      });
      expect(unavailable).toBeGreaterThan(0);
    },
    300_000 + HOLD_MS,
  );

  test(
    'a black-holed PostgreSQL keeps the promises',
    async () => {
      const { unavailable, slowestCheckMs, slowestWriteMs } = await suffer({
        name: 'black-holed (packets vanish)',
        begin: () => line.swallow(),
        holdMs: SWALLOW_MS,
        end: () => line.up(),
      });
      expect(unavailable).toBeGreaterThan(0);
      // Nobody waits for ever.
      expect(slowestCheckMs).toBeLessThan(6000);
      expect(slowestWriteMs).toBeLessThan(20_000);
    },
    300_000 + SWALLOW_MS,
  );

  test(
    'a PostgreSQL slower by 100 ms each way keeps the promises',
    async () => {
      await suffer({
        name: 'slow (200 ms more for each statement)',
        begin: () => line.slow(100),
        holdMs: HOLD_MS,
        end: () => line.slow(0),
        unnoticed: 'all',
      });
    },
    300_000 + HOLD_MS,
  );

  test(
    'a connection cut around COMMIT keeps the promises',
    async () => {
      const cut = async () => {
        for (let i = 0; i < CUTS; i++) {
          await line.cutOn('commit\0', i % 2 === 0 ? 'before' : 'after', 'usher_announce');
          await pause(100);
        }
      };
      let cuts: Promise<void> | undefined;
      const { writes, made } = await suffer({
        name: `cut during COMMIT, ${CUTS} times`,
        begin: () => {
          cuts = cut();
        },
        holdMs: HOLD_MS,
        end: () => cuts,
      });
      expect(writes - made).toBeGreaterThan(0);
    },
    300_000 + HOLD_MS,
  );

  test(
    'a pool exhausted by lock waits does not affect checks',
    async () => {
      const { promise: done, resolve } = Promise.withResolvers<void>();
      let holding: Promise<unknown> | undefined;
      const queued: Promise<unknown>[] = [];
      await suffer({
        name: 'pool used up (40 writers behind a lock)',
        begin: () => {
          holding = direct.change(async (tx) => {
            await sql`lock table role in share mode`.execute(tx.kysely);
            await done;
            return { result: null, scopes: [] };
          });
          for (let i = 0; i < 40; i++) queued.push(load.write().then((got) => load.got.push(got)));
        },
        // Longer than a transaction may be idle there, the lock would be gone.
        holdMs: Math.min(HOLD_MS, 8000),
        end: async () => {
          resolve();
          await holding;
          await Promise.all(queued);
        },
        unnoticed: 'checks',
      });
    },
    300_000 + HOLD_MS,
  );

  test.each([
    ['forward', 3_600_000 * 5],
    ['backward', -3_600_000 * 5],
  ])(
    'a machine clock that jumps %s by five hours affects nobody',
    async (direction, ms) => {
      await suffer({
        name: `the clock jumps ${direction} by 5 h`,
        begin: () => {
          jumpMs = ms;
        },
        holdMs: HOLD_MS,
        end: () => {
          jumpMs = 0;
        },
        unnoticed: 'checks',
      });
    },
    300_000 + HOLD_MS,
  );
});

/** Sends that were accepted while a fault lasted, and how long the slowest took. */
async function sendMails(prefix: string, count: number): Promise<{ to: string[]; slowestMs: number }> {
  const to = Array.from({ length: count }, (_, n) => `${prefix}-${n}@example.com`);
  let slowestMs = 0;
  for (const email of to) {
    const began = performance.now();
    const response = await fetch(`${usher.rest}/api/internal/notifications`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-internal-api-key': usher.app.localKey ?? '' },
      body: JSON.stringify({ appCode: 'auth', recipients: [email], subject: email }),
    });
    expect(response.status).toBe(202);
    slowestMs = Math.max(slowestMs, performance.now() - began);
  }
  return { to, slowestMs };
}

describe('an SMTP server', () => {
  const faults = [
    ['gone', () => smtpLine.down()],
    ['slow', () => smtpLine.slow(300)],
    ...(LONG ? [['black-holed', () => smtpLine.swallow()] as const] : []),
  ] as const;

  test.each(faults)(
    'sends are accepted and every mail arrives while the SMTP server is %s',
    async (how, begin) => {
      let accepted: Awaited<ReturnType<typeof sendMails>> | undefined;
      let healedAt = 0;
      await suffer({
        name: `SMTP server ${how}`,
        begin: async () => {
          begin();
          accepted = await sendMails(`smtp-${how}`, 20);
        },
        holdMs: HOLD_MS,
        end: () => {
          smtpLine.slow(0);
          smtpLine.up();
          healedAt = performance.now();
        },
        unnoticed: 'all',
      });
      const missing = () => accepted?.to.filter((email) => !smtp.mails.some(({ to }) => to[0] === email));
      while (missing()?.length !== 0 && performance.now() - healedAt < 60_000) await pause(100);
      expect(missing()).toEqual([]);
      const ms = Math.round(performance.now() - healedAt);
      if (LONG) {
        process.stdout.write(
          `SMTP server ${how}: 20 of 20 accepted (slowest ${Math.round(accepted?.slowestMs ?? 0)} ms), all arrived within ${ms} ms of its return\n`,
        );
      }
    },
    300_000 + HOLD_MS,
  );
});

if (LONG) {
  describe('a disk that is full', () => {
    test.each(KINDS)(
      'a full disk under %s refuses writes, keeps checks going, and recovers with room',
      async (kind) => {
        const disk: SmallDisk = await smallDisk(kind);
        const own = await startUsher(disk, { env: { CACHE_TTL_MS: `${TTL_MS}` } });
        const { database } = own.app;
        try {
          for (const operation of SETUP) await database.change((tx) => carryOut(tx, operation));
          const callers = Load.start(own);
          await pause(1000);
          const calm = await callers.recovered();
          const from = performance.now();
          disk.fill();
          for (const end = from + Math.min(HOLD_MS, 8000); performance.now() < end; await pause(300)) {
            // What fits into pages that there are already would still be taken.
            await database
              .change(async (tx) => {
                await record(tx, { actor: 'system', action: 'ballast', after: { text: BALLAST } });
                return { result: null, scopes: [] };
              })
              .catch(() => undefined);
          }
          const middle = performance.now();
          disk.empty();
          const recovery = await callers.recovered();
          await pause(1500);
          await callers.stop();
          const figures = judge(callers.got, from, performance.now(), Number.NEGATIVE_INFINITY, 0);
          const during = judge(callers.got, from, middle, Number.NEGATIVE_INFINITY, 0);
          table.push([`disk full (${kind})`, figures, recovery]);
          expect(figures).toMatchObject({ wrong: [], unavailable: 0 });
          expect(during.made).toBeLessThan(during.writes);
          expect(recovery.writeMs).toBeLessThan(RECOVERY_MS + 2 * calm.writeMs);
          expect(await lost(database, callers)).toEqual({ lost: [], halfDone: [] });
        } finally {
          await own.close();
          await disk.close();
        }
      },
      600_000,
    );
  });
}
