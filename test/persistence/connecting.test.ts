import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { systemClock as clock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import type { Database } from '../../src/persistence/database.ts';
import { openDatabase } from '../../src/persistence/open.ts';
import { fatal, type RefusingPostgres, startRefusingPostgres } from '../support/refusing-postgres.ts';

/** What a server, or a pooler, may say while a connection is made; also what would be a defect if a statement brought it about. */
const CODES = [
  '55000',
  '28P01',
  '28000',
  '3D000',
  '53300',
  '57P03',
  '42501',
  '08P01',
  '22023',
  '0A000',
  '42704',
  'XX000',
];

let server: RefusingPostgres;
let database: Database;
let lines: { level: string; msg: string; err?: { message: string } }[] = [];

beforeAll(async () => {
  server = await startRefusingPostgres(fatal('55000'));
  const log = createLogger('info', { write: (line) => void lines.push(JSON.parse(line)) });
  const where = { url: server.url, dataDir: '', poolSize: 2, migrateOnStart: false, migrationsChecked: true };
  database = await openDatabase({ ...where, clock, log });
});

afterAll(async () => {
  await database?.close();
  await server?.close();
});

const calls: readonly (readonly [name: string, call: () => Promise<unknown>])[] = [
  ['read', () => database.read((tx) => sql`select 1`.execute(tx.kysely))],
  ['change', () => database.change(async (tx) => ({ result: await sql`select 1`.execute(tx.kysely), scopes: [] }))],
  ['facts', () => database.facts.changes(0)],
  ['ping', () => database.ping()],
];

describe('refused database connections', () => {
  test.each(CODES)(
    'a connection refused with SQLSTATE %s is UNAVAILABLE for every call, and logged once',
    async (code) => {
      server.refusal = fatal(code);
      lines = [];
      for (const [, call] of [...calls, ...calls]) {
        const error: unknown = await call().catch((thrown: unknown) => thrown);
        expect(error).toMatchObject({ name: 'UsherError', code: 'UNAVAILABLE', httpStatus: 503 });
        expect(String((error as Error).message)).not.toContain('canary');
      }
      const named = lines.filter((line) => JSON.stringify(line).includes(code));
      expect(named).toMatchObject([{ level: 'warn', err: { message: expect.stringContaining(`SQLSTATE ${code}`) } }]);
      expect(JSON.stringify(lines)).not.toContain('canary');
    },
  );

  test('a connection closed without an answer is UNAVAILABLE, too', async () => {
    server.refusal = null;
    for (const [, call] of calls) await expect(call()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});
