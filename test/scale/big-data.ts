/**
 * A database with as many overrides and notifications as are asked for, filled by PostgreSQL itself on the schema of the migrations.
 * A person has twenty of each, every fifth person four hundred more, one has ten thousand more, in as many applications as people have:
 * twenty. Rows come in the order of time, not of people, as in life: those of one person lie all over a table.
 */
import { statfsSync } from 'node:fs';
import { sql } from 'kysely';
import pg from 'pg';
import { BASE, loadLargeRegistry, PERMISSIONS, sizeOf, withoutIndexes } from '../../bench/large-registry.ts';
import { Service } from '../../bench/service.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { PARTITION_IDS } from '../../src/persistence/migrations/partitioned.ts';
import { openDatabase } from '../../src/persistence/open.ts';
import { makePartitions } from '../../src/persistence/operations/partitions.ts';

export interface BigSize {
  people: number;
  overrides: number;
  /** Notifications; every second one has a delivery. */
  inbox: number;
}

/** In every so many-th round each person has something, in the others every fifth. */
const ALL = 21;
const FIFTH = 5;
/** For each row that everybody has on average. */
const ROUNDS_A_ROW = ALL / FIFTH;
/** The partitions of a year of notifications, where there are enough rounds. */
const PARTITIONS = 12;
/** Rows of one statement, about. */
const AT_ONCE = 5_000_000;
export const APPLICATIONS_OF_ONE = 20;
/** What the one person has beside what others have. */
const MANY = 10_000;
/** So that what the one has is distinct: their resources are so many steps apart at most. */
const RESOURCES_AT_LEAST = 200_000;
export const TYPES = ['document', 'project', 'invoice'] as const;

/** Bytes of a row, its indexes included; what sorting an index takes for a while is less than what is counted too much. */
const BYTES = { override: 190, notification: 350, delivery: 100, person: 1600 };
/** What a disk should have left. */
const SPARE_BYTES = 12e9;

export interface BigNumbers {
  people: number;
  applications: number;
  resources: number;
  /** Rounds of overrides. */
  rounds: number;
}

export function numbersOf({ people, overrides }: BigSize): BigNumbers {
  const { applications } = sizeOf(people);
  const resources = Math.max(overrides / 4, RESOURCES_AT_LEAST);
  return { people, applications, resources, rounds: roundsOf(eachOf(overrides, people)) };
}

/** How many rows a person has on average, so that rounds come out whole. */
function eachOf(rows: number, people: number): number {
  return Math.round(rows / people / FIFTH) * FIFTH;
}

/** How many rounds make so many rows a person. */
function roundsOf(each: number): number {
  return (each / FIFTH) * ALL;
}

/** An override of the person `p` from the round `j`, which must be one of all people; `a` numbers applications from 1. */
export function overrideOf({ applications, resources }: BigNumbers, p: number, j: number) {
  const a = ((p * 7 + (Math.floor(j / ALL) % APPLICATIONS_OF_ONE) * 13) % applications) + 1;
  const x = (p + j) % PERMISSIONS;
  const n = (a - 1) * PERMISSIONS + x + 1;
  return {
    application: a,
    resourceType: TYPES[j % TYPES.length] as string,
    resourceId: `r${(p * 31 + j * 17) % resources}`,
    permission: `thing${n % PERMISSIONS}.use`,
    isGranted: (p + j) % 3 !== 0,
  };
}

/** Neither blocked nor removed by the provider, nor an administrator: an override decides. */
export function isActive(p: number): boolean {
  return p % 211 !== 0 && p % 307 !== 0 && p % 50 !== 1;
}

/** A round in which everybody has something. */
export const roundOfAll = ({ rounds }: BigNumbers, at: number): number =>
  ALL * (1 + (at % Math.min(APPLICATIONS_OF_ONE, rounds / ALL)));

/** Throws when the disk of `directory` has no room for it. */
export function refuseFullDisk(directory: string, sizes: readonly BigSize[]): void {
  const { bavail, bsize } = statfsSync(directory);
  let needed = SPARE_BYTES;
  for (const { people, overrides, inbox } of sizes) {
    needed += overrides * BYTES.override + inbox * (BYTES.notification + BYTES.delivery) + people * BYTES.person;
  }
  const gigabytes = (bytes: number): number => Math.round(bytes / 1e9);
  if (bavail * bsize < needed)
    throw new Error(`${directory} has ${gigabytes(bavail * bsize)} GB left, and ${gigabytes(needed)} are needed`);
}

/** Migrates and fills an empty database. */
export async function fillBig(url: string, size: BigSize, tell: (line: string) => void): Promise<void> {
  // A start of the service migrates and seeds it.
  await (await Service.start({ databaseUrl: url, core: null })).stop();
  const { people, applications } = numbersOf(size);
  tell(`${people} people in ${applications} applications`);
  await loadLargeRegistry(url, {
    users: people,
    applications,
    overrides: 0,
    auditRecords: people / 10,
    notifications: 0,
  });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    // Foreign keys hold by how the rows are made. Little memory, since other work may need it.
    await client.query(`set session_replication_role = replica; set maintenance_work_mem = '1GB';
      set max_parallel_workers_per_gather = 0; set max_parallel_maintenance_workers = 1`);
    await fillOverrides(client, size, tell);
    await fillInbox(client, url, size, tell);
    await client.query('checkpoint');
  } finally {
    await client.end();
  }
}

export async function fillOverrides(client: pg.Client, size: BigSize, tell: (line: string) => void): Promise<void> {
  const numbers = numbersOf(size);
  await fill(
    client,
    'resource_override',
    pieces(numbers.rounds, size.people, 1),
    (one) => overrides(numbers, one),
    tell,
  );
  await client.query(`insert into policy_change (revision, nonce, scopes)
    select coalesce(max(revision), 0) + 1, 'big', array['*'] from policy_change`);
}

export async function fillInbox(
  client: pg.Client,
  url: string,
  size: BigSize,
  tell: (line: string) => void,
): Promise<void> {
  const numbers = numbersOf(size);
  const rounds = roundsOf(eachOf(size.inbox, size.people));
  const parts = Math.min(PARTITIONS, rounds / ALL);
  await makeParts(url, parts);
  const made = pieces(rounds, size.people, parts);
  await fill(client, 'notification', made, (one) => notifications(numbers, rounds, one), tell);
  await fill(client, 'delivery', await piecesOfDeliveries(client, parts), deliveries, tell);
}

/** As the service makes them: of each number, and one more. */
async function makeParts(url: string, parts: number): Promise<void> {
  const options = { dataDir: '', poolSize: 1, migrateOnStart: false, clock: systemClock, log: createLogger('silent') };
  const database = await openDatabase({ ...options, url });
  try {
    for (let part = 1; part <= parts; part++) {
      await database.change(async (tx) => {
        await sql.raw(beginPart(part)).execute(tx.kysely);
        await makePartitions(tx, 'notifications');
        return { result: null, scopes: ['*'] };
      });
    }
  } finally {
    await database.close();
  }
}

/** Next ids are those of this partition. */
function beginPart(part: number): string {
  return `select setval(pg_get_serial_sequence('notification', 'id'), ${Math.max(1, (part - 1) * PARTITION_IDS)})`;
}

/** A statement's part of the rows: the rounds, or ids, `from` to `to`. */
interface Piece {
  from: number;
  to: number;
  /** The one person with many, or null for all. */
  who: number | null;
  /** Counted from 1. */
  part: number;
}

function pieces(rounds: number, people: number, parts: number): Piece[] {
  const step = Math.max(ALL, Math.floor((AT_ONCE * ROUNDS_A_ROW) / people / ALL) * ALL);
  // What only one has comes first, so that it is old.
  const made: Piece[] = [{ from: rounds + 1, to: rounds + MANY, who: 1, part: 1 }];
  const groups = rounds / ALL;
  for (let part = 1; part <= parts; part++) {
    const end = Math.round((groups * part) / parts) * ALL;
    for (let from = Math.round((groups * (part - 1)) / parts) * ALL + 1; from <= end; from += step)
      made.push({ from, to: Math.min(end, from + step - 1), who: null, part });
  }
  return made;
}

async function piecesOfDeliveries(client: pg.Client, parts: number): Promise<Piece[]> {
  const made: Piece[] = [];
  for (let part = 1; part <= parts; part++) {
    const { rows } = await client.query<{ first: string; last: string }>(
      `select min(id) as first, max(id) as last from notification_p${part}`,
    );
    const [first, last] = [Number(rows[0]?.first), Number(rows[0]?.last)];
    for (let from = first; from <= last; from += AT_ONCE)
      made.push({ from, to: Math.min(last, from + AT_ONCE - 1), who: null, part });
  }
  return made;
}

/** In one transaction with the table made anew: so where `wal_level` is `minimal`, nothing of it goes through the log. */
async function fill(
  client: pg.Client,
  table: string,
  all: readonly Piece[],
  statement: (piece: Piece) => string,
  tell: (line: string) => void,
): Promise<void> {
  const startedAt = performance.now();
  const seconds = (): string => `${Math.round((performance.now() - startedAt) / 1000)} s`;
  await client.query('begin');
  const restore = await withoutIndexes(client, table);
  await client.query(`alter table ${table} disable trigger user; truncate ${table}`);
  let count = 0;
  for (const [at, piece] of all.entries()) {
    if (table === 'notification' && all[at - 1]?.part !== piece.part) await client.query(beginPart(piece.part));
    count += (await client.query(statement(piece))).rowCount ?? 0;
    tell(`${table}: ${count} rows after ${seconds()} (${at + 1} of ${all.length})`);
  }
  for (const make of restore) {
    await client.query(make);
    tell(`${table}: ${/(?:index|constraint) (\S+)/i.exec(make)?.[1]} after ${seconds()}`);
  }
  await client.query(`alter table ${table} enable trigger user`);
  await client.query('commit');
  await client.query(`vacuum (analyze, freeze) ${table}`);
  tell(`${table}: vacuumed after ${seconds()}`);
}

/** The rounds `from` to `to` as `j`, by the people `p` who have something in them. */
function pairs({ people, applications }: BigNumbers, { from, to, who }: Piece): string {
  const every = `case when j % ${ALL} = 0 then 1 else ${FIFTH} end`;
  const whom = who === null ? `generate_series(${every}, ${people}, ${every})` : `generate_series(${who}, ${who})`;
  return `generate_series(${from}, ${to}) j cross join lateral ${whom} p
    cross join lateral (select (p * 7 + j / ${ALL} % ${APPLICATIONS_OF_ONE} * 13) % ${applications} + 1 as a) x`;
}

const types = `(array[${TYPES.map((type) => `'${type}'`).join(', ')}])[j % ${TYPES.length} + 1]`;

function overrides(numbers: BigNumbers, piece: Piece): string {
  const permission = `(a - 1) * ${PERMISSIONS} + (p + j) % ${PERMISSIONS} + 1`;
  return `
    insert into resource_override (person_id, application_id, resource_type, resource_id, permission_id, tiered, level)
    select ${BASE} + p, ${BASE} + a, ${types}, 'r' || (p::bigint * 31 + j * 17) % ${numbers.resources},
      ${BASE} + ${permission}, (${permission}) % 2 = 0,
      case when (p + j) % 3 = 0 then 0 when (${permission}) % 2 = 0 then 2 else 1 end
    from ${pairs(numbers, piece)}`;
}

/** A year of them, in the order of their ids. One in fifty was suppressed, one in two hundred failed; the last twentieth is unread, and one in thirty before it. */
function notifications(numbers: BigNumbers, all: number, piece: Piece): string {
  const at = `now() - interval '365 days' * case when j > ${all} then 1 else 1 - (j - 1 + p::float8 / ${numbers.people}) / ${all} end`;
  return `
    insert into notification (application_id, notification_type_id, person_id, subject, body, payload, status, locale, read_at, created_at)
    select ${BASE} + a, ${BASE} + a * 3 + (p + j) % 3 + 1, ${BASE} + p, 'Invoice ' || j || ' is due',
      'Invoice ' || j || ' of ' || ${types} || ' ' || p || ' is due on Friday.', '{}',
      case when (p + j) % 50 = 0 then 'suppressed' when (p + j) % 200 = 1 then 'failed' else 'sent' end, 'en',
      case when j > ${all} * 0.95 and j <= ${all} or (p + j) % 30 = 0 then null else ${at} + interval '1 hour' end, ${at}
    from ${pairs(numbers, piece)}`;
}

function deliveries({ from, to }: Piece): string {
  return `
    insert into delivery (notification_id, channel, status, content, lane, attempts, due_at, sent_at)
    select i, 'email', 'sent', '{}', 'brand:1', 1, null, now() from generate_series(${from}, ${to}, 2) i`;
}
