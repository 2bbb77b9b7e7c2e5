/**
 * A process that writes until it is killed with -9: `node journal-process.ts JSON`. It opens the database, says `census JSON` (what
 * those before it left), then `open`, then `acknowledged CODE` after each write. It kills itself at a named point where told so.
 */
import { sql } from 'kysely';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { record } from '../../src/persistence/audit.ts';
import type { Database } from '../../src/persistence/database.ts';
import { type Failpoint, openDatabase } from '../../src/persistence/open.ts';
import { addLanguages, manifestsOf, studio } from '../catalog/manifest/fixture.ts';
import { opening } from './postgres.ts';
import { insertApplication } from './rows.ts';

export interface JournalOrders {
  url: string | null;
  dataDir: string;
  migrateOnStart?: boolean;
  /** Names this run's applications. */
  prefix: string;
  /** The number of concurrent writers, which never end. */
  writers: number;
  work: 'policy' | 'manifest';
  /** `inside` is in the middle of a manifest's statements; in the write of that number, counted from 0. */
  dieAt?: Failpoint | 'inside';
  dieIn?: number;
}

/** What there is of one write: its application, what belongs to it, its audit records, whether the log names it. */
export interface Traces {
  code: string;
  permissions: number;
  roles: number;
  audit: number;
  log: number;
}

export interface Census {
  whole: Traces[];
  /** Codes that only the audit or the log knows. */
  orphans: string[];
}

async function census(database: Database): Promise<Census> {
  return await database.read(async (tx) => {
    const whole = await sql<Traces>`
      select a.code, (select count(*)::int from permission p where p.application_id = a.id) as permissions,
             (select count(*)::int from role r where r.application_id = a.id) as roles,
             (select count(*)::int from audit u where u.app_code = a.code) as audit,
             (select count(*)::int from policy_change c where c.scopes && array['p:' || a.code, 'a:' || a.code]) as log
        from application a where a.code like 'j%'`.execute(tx.kysely);
    const named = await sql<{ code: string }>`
      select app_code as code from audit where app_code like 'j%'
      union select split_part(s, ':', 2) from policy_change, unnest(scopes) s where s like '_:j%'`.execute(tx.kysely);
    const there = new Set(whole.rows.map(({ code }) => code));
    return { whole: whole.rows, orphans: named.rows.map(({ code }) => code).filter((code) => !there.has(code)) };
  });
}

async function main(orders: JournalOrders): Promise<void> {
  const { url, dataDir, migrateOnStart = false, prefix, writers, work, dieAt, dieIn } = orders;
  let current = -1;
  const dieHere = (point: string): void => {
    if (point === dieAt && current === dieIn) process.kill(process.pid, 'SIGKILL');
  };
  const database = await openDatabase({
    ...opening(url),
    dataDir,
    poolSize: 4,
    migrateOnStart,
    clock: systemClock,
    log: createLogger('silent'),
    failpoints: { hit: dieHere },
  });
  await addLanguages(database);
  process.stdout.write(`census ${JSON.stringify(await census(database))}\nopen\n`);
  const manifests = manifestsOf(database);
  const write = async (code: string): Promise<void> => {
    if (work === 'manifest') {
      await manifests.apply(studio(code), { actor: 'cli', onProgress: (done) => done > 4 && dieHere('inside') });
      return;
    }
    await database.change(async (tx) => {
      await insertApplication(tx, code, { permissions: { view: {} }, roles: { viewer: {} } });
      await record(tx, { actor: 'system', action: 'application.created', appCode: code });
      return { result: undefined, scopes: [`p:${code}`] };
    });
  };
  // Alive until killed, also where nothing else keeps it so.
  setInterval(() => undefined, 1000);
  const writing = async (writer: number): Promise<void> => {
    for (let n = 0; ; n++) {
      current = n;
      await write(`${prefix}-${writer}-${n}`);
      process.stdout.write(`acknowledged ${prefix}-${writer}-${n}\n`);
    }
  };
  await Promise.all(Array.from({ length: writers }, (_, writer) => writing(writer)));
}

await main(JSON.parse(process.argv[2] ?? '') as JournalOrders);
