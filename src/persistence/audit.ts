import { type RawBuilder, sql } from 'kysely';
import type { AuditEntry, Tx } from './database.ts';
import { Prepared } from './driver/prepared.ts';
import type { Row } from './entities/schema.ts';
import { spellings } from './people/text-pieces.ts';

export type { AuditEntry } from './database.ts';

export const MASK = '***';

/** Whole words of a field's name that mark its value as secret: `smtpPassword`, `api_key`, `x-webhook-secret`. */
const SECRET_WORDS = new Set([
  'password',
  'passwd',
  'secret',
  'token',
  'authorization',
  'cookie',
  'credential',
  'credentials',
]);
/** Pairs of words that mark a secret only together. */
const SECRET_PAIRS = new Set(['api key', 'private key', 'signing key', 'secret key', 'smtp key']);
/** Words that name no secret although one of them does: where tokens are fetched. */
const PLAIN_NAMES = new Set(['token url']);
/** A signed token, anywhere in a text. */
const JWT = /(?<![\w-])(?=[\w-]*eyJ)[\w-]+\.[\w-]+\.[\w-]*/g;
/** Deeper than any audit record; deeper values are left out. */
const MAX_DEPTH = 32;

/** $1 the records, as `toRows` writes them; null for none. */
export const INSERT_AUDIT_SQL = `
  insert into audit (actor, action, app_code, subject, before, after, request_id, reason)
  select actor, action, app_code, subject, before, after, request_id, reason from jsonb_to_recordset($1::jsonb)
    as r (actor text, action text, app_code text, subject text, before jsonb, after jsonb, request_id text, reason text)`;

const INSERT = new Prepared<never>('audit', INSERT_AUDIT_SQL);

/** The author of a transaction, by the first of its records. */
const authors = new WeakMap<object, string>();

/** Who writes in the transaction, as far as `record` was told; null before. */
export function authorOf(tx: Tx): string | null {
  return authors.get(tx.kysely) ?? null;
}

/** The author of a transaction that writes its records by itself. */
export function noteActor(tx: Tx, actor: string): void {
  authors.set(tx.kysely, actor);
}

function noteAuthor(tx: Tx, [first]: readonly AuditEntry[]): void {
  if (first !== undefined && !authors.has(tx.kysely)) authors.set(tx.kysely, first.actor);
}

/** Writes the record in the transaction of the change it describes. */
export async function record(tx: Tx, entry: AuditEntry): Promise<void> {
  noteAuthor(tx, [entry]);
  await INSERT.rows(tx, toRows([entry]));
}

/** The same for several records, in one statement. */
export async function recordAll(tx: Tx, entries: readonly AuditEntry[]): Promise<void> {
  noteAuthor(tx, entries);
  if (entries.length > 0) await INSERT.rows(tx, toRows(entries));
}

/** Records as the parameter of INSERT_AUDIT_SQL, with secrets masked. */
export function toRows(entries: readonly AuditEntry[]): string | null {
  if (entries.length === 0) return null;
  return JSON.stringify(
    entries.map(({ actor, action, appCode, subject, before, after, requestId, reason }) => ({
      actor,
      action,
      app_code: appCode,
      subject,
      before: mask(before),
      after: mask(after),
      request_id: requestId,
      reason: mask(reason),
    })),
  );
}

/** A copy of plain data with secrets masked. Null and '' are kept, so that the presence of a secret stays visible. */
export function mask(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return value.replace(JWT, MASK);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MAX_DEPTH) return MASK;
  if (Array.isArray(value)) return value.map((item) => mask(item, depth + 1));
  if (value instanceof Date) return value.toISOString();
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, isSecret(name) && hides(item) ? MASK : mask(item, depth + 1)]),
  );
}

/** Flags such as `hasPassword: true` are not secret. */
function hides(value: unknown): boolean {
  return value !== null && value !== undefined && value !== '' && typeof value !== 'boolean';
}

function isSecret(name: string): boolean {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
  if (PLAIN_NAMES.has(words.join(' '))) return false;
  if (words.some((word) => SECRET_WORDS.has(word) || SECRET_WORDS.has(word.replace(/s$/, '')))) return true;
  const text = words.map((word) => word.replace(/^keys$/, 'key')).join(' ');
  return [...SECRET_PAIRS].some((pair) => text.includes(pair)) || words.includes('apikey') || words.includes('apikeys');
}

/** A record as stored. */
export type AuditRow = Row<'audit'>;

/** The filter of records; undefined matches any. Texts are compared whole. */
export interface AuditFilter {
  appCode?: string | undefined;
  actor?: string | undefined;
  subject?: string | undefined;
  action?: string | undefined;
  /** The address of the subject or of the actor. */
  person?: string | undefined;
  /** The beginning of the action. */
  actionPrefix?: string | undefined;
  /** Text anywhere in the record, ignoring case; literal, never a pattern. */
  search?: string | undefined;
  /** At or after. */
  from?: Date | undefined;
  /** At or before. */
  to?: Date | undefined;
}

/** Records that one page of a search examines: some milliseconds of the server, more where they hold long texts. */
const EXAMINED = 4000;

/** A page of records, which is short where a search had to stop. */
export interface FoundRecords {
  /** The newest first. */
  rows: AuditRow[];
  /** The record after which the page following a short one begins; null when the page is full, or no record is left to examine. */
  behind: number | null;
}

interface AuditPage {
  limit: number;
  /** Null: from the newest record on. */
  after: number | null;
}

/** Matching records, the newest first; at most `limit`, older than the record `after`. A page with a `search` may be short. */
export async function readAudit(
  tx: Tx,
  filter: AuditFilter,
  page: AuditPage,
  examined: number = EXAMINED,
): Promise<FoundRecords> {
  const { search } = filter;
  if (search === undefined) return { rows: await readRecords(tx, candidates(filter, page)), behind: null };
  const next = (most: number): RawBuilder<unknown> => candidates(filter, { ...page, limit: most });
  // Examined one by one until the page is full: the candidates have the order of the page.
  const matching = sql`select c.id, c.at from (${next(examined)}) c
    where (select ${contains(search)} from audit a where a.id = c.id) order by c.at desc, c.id desc limit ${page.limit}`;
  const rows = await readRecords(tx, matching);
  if (rows.length === page.limit) return { rows, behind: null };
  const { rows: end } = await sql<{ id: number }>`
    select e.id from (${next(examined + 1)}) e order by e.at desc, e.id desc offset ${examined - 1}`.execute(tx.kysely);
  return { rows, behind: end.length > 1 ? (end[0]?.id ?? null) : null };
}

async function readRecords(tx: Tx, which: RawBuilder<unknown>): Promise<AuditRow[]> {
  const { rows } = await sql<AuditRow>`
    select a.*
    from (${which}) w cross join lateral (select * from audit where id = w.id limit 1) a order by a.at desc, a.id desc`.execute(
    tx.kysely,
  );
  return rows;
}

/** The next records by everything but the text: `id` and `at`, in the order of pages. */
function candidates(filter: AuditFilter, { limit, after }: AuditPage): RawBuilder<unknown> {
  const { appCode, actor, subject, action, actionPrefix, from, to } = filter;
  const common = [
    after === null ? undefined : sql`(at, id) < ((select k.at from audit k where k.id = ${after}), ${after}::bigint)`,
    appCode === undefined ? undefined : sql`app_code = ${appCode}`,
    actor === undefined ? undefined : sql`actor = ${actor}`,
    subject === undefined ? undefined : sql`subject = ${subject}`,
    action === undefined ? undefined : sql`action = ${action}`,
    from === undefined ? undefined : sql`at >= ${from}`,
    to === undefined ? undefined : sql`at <= ${to}`,
  ].filter((condition) => condition !== undefined);
  const parts = partsOf(filter).map(({ which, few }) => {
    const conditions = [sql`true`, ...(which === null ? [] : [which]), ...common];
    if (actionPrefix === undefined) return nextRecords(conditions, limit);
    // Few records: an index of another column finds them.
    if (few) return nextRecords([...conditions, sql`starts_with(action, ${actionPrefix})`], limit);
    // A range, and its order, of one action: for an equation the planner would pass over the records of all others, in order.
    const ofAction = [...conditions, sql`action between n.action and n.action`];
    return sql`select r.id, r.at from (${ACTIONS}) n cross join lateral (
      ${nextRecords(ofAction, limit, sql`action desc, at desc, id desc`)}) r where starts_with(n.action, ${actionPrefix})`;
  });
  const [only] = parts;
  if (parts.length === 1 && only !== undefined && actionPrefix === undefined) return only;
  const all = sql.join(
    parts.map((part) => sql`(${part})`),
    sql` union `,
  );
  return sql`select u.id, u.at from (${all}) u order by u.at desc, u.id desc limit ${limit}`;
}

function nextRecords(
  conditions: readonly RawBuilder<unknown>[],
  limit: number,
  order: RawBuilder<unknown> = sql`at desc, id desc`,
): RawBuilder<unknown> {
  return sql`select id, at from audit where ${sql.join(conditions, sql` and `)} order by ${order} limit ${limit}`;
}

/** Every action that occurs, each found by one probe of the index: there are a few dozen, however many records. */
const ACTIONS = sql`
  with recursive known as (
    (select action from audit order by action limit 1)
    union all
    select (select a.action from audit a where a.action > k.action order by a.action limit 1) from known k where k.action is not null)
  select action from known where action is not null`;

interface Part {
  which: RawBuilder<unknown> | null;
  /** Whether it holds few records, so that another condition needs no index of its own. */
  few: boolean;
}

/** A person's records: about them, in the form of an earlier version (migration 0009) too, and by them. */
function partsOf({ person, subject }: AuditFilter): Part[] {
  if (person === undefined) return [{ which: null, few: subject !== undefined }];
  return [
    { which: sql`subject = ${person}`, few: true },
    { which: sql`split_part(subject, ':', 1) = ${person} and subject like '%@%:%'`, few: true },
    { which: sql`actor = ${`user:${person}`}`, few: false },
  ];
}

/** Whether the record `a` contains the text. `before` and `after` are compared as JSON writes them. */
function contains(search: string): RawBuilder<boolean> {
  // As in the search of people: in small letters, and as written where the database may fold letters otherwise.
  const [folded = search, asWritten] = spellings(search);
  const within = (text: string, fold: (value: RawBuilder<unknown>) => RawBuilder<unknown>) => [
    ...['actor', 'action', 'app_code', 'subject', 'request_id', 'reason'].map((column) => {
      return sql`strpos(${fold(sql`a.${sql.ref(column)}`)}, ${text}) > 0`;
    }),
    ...['before', 'after'].map((column) => {
      return sql`strpos(${fold(sql`a.${sql.ref(column)}::text`)}, ${JSON.stringify(text).slice(1, -1)}) > 0`;
    }),
  ];
  const matches = within(folded, (value) => sql`lower(${value})`);
  if (asWritten !== undefined) matches.push(...within(asWritten, (value) => value));
  return sql<boolean>`(${sql.join(matches, sql` or `)})`;
}
