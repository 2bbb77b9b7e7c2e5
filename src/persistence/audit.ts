import { sql } from 'kysely';
import type { AuditEntry, Tx } from './database.ts';
import { Prepared } from './driver/prepared.ts';

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
/** A signed token, anywhere in a text. */
const JWT = /(?<![\w-])(?=[\w-]*eyJ)[\w-]+\.[\w-]+\.[\w-]*/g;
/** Deeper than any audit record; deeper values are left out. */
const MAX_DEPTH = 32;

/** $1 the records, as `toRows` writes them; null for none. */
export const INSERT_AUDIT_SQL = `
  insert into audit (actor, action, app_code, subject, before, after, request_id)
  select actor, action, app_code, subject, before, after, request_id from jsonb_to_recordset($1::jsonb)
    as r (actor text, action text, app_code text, subject text, before jsonb, after jsonb, request_id text)`;

const INSERT = new Prepared<never>('audit', INSERT_AUDIT_SQL);

/** The author of a transaction, by the first of its records. */
const authors = new WeakMap<object, string>();

/** Who writes in the transaction, as far as `record` was told; null before. */
export function authorOf(tx: Tx): string | null {
  return authors.get(tx.kysely) ?? null;
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
    entries.map(({ actor, action, appCode, subject, before, after, requestId }) => ({
      actor,
      action,
      app_code: appCode,
      subject,
      before: mask(before),
      after: mask(after),
      request_id: requestId,
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
  if (words.some((word) => SECRET_WORDS.has(word) || SECRET_WORDS.has(word.replace(/s$/, '')))) return true;
  const text = words.map((word) => word.replace(/^keys$/, 'key')).join(' ');
  return [...SECRET_PAIRS].some((pair) => text.includes(pair)) || words.includes('apikey') || words.includes('apikeys');
}

/** A record as stored. */
export interface AuditRow {
  id: number;
  at: Date;
  actor: string;
  action: string;
  appCode: string | null;
  subject: string | null;
  before: unknown;
  after: unknown;
  requestId: string | null;
}

/** The filter of records; undefined matches any. Texts are compared whole. */
export interface AuditFilter {
  appCode?: string | undefined;
  actor?: string | undefined;
  subject?: string | undefined;
  action?: string | undefined;
  /** At or after. */
  from?: Date | undefined;
  /** At or before. */
  to?: Date | undefined;
}

/** Matching records, the newest first; at most `limit`, older than the record `after`. */
export async function readAudit(
  tx: Tx,
  filter: AuditFilter,
  { limit, after }: { limit: number; after: number | null },
): Promise<AuditRow[]> {
  const { appCode, actor, subject, action, from, to } = filter;
  const conditions = [
    after === null ? undefined : sql`(at, id) < ((select k.at from audit k where k.id = ${after}), ${after}::bigint)`,
    appCode === undefined ? undefined : sql`app_code = ${appCode}`,
    actor === undefined ? undefined : sql`actor = ${actor}`,
    subject === undefined ? undefined : sql`subject = ${subject}`,
    action === undefined ? undefined : sql`action = ${action}`,
    from === undefined ? undefined : sql`at >= ${from}`,
    to === undefined ? undefined : sql`at <= ${to}`,
  ].filter((condition) => condition !== undefined);
  const { rows } = await sql<AuditRow>`
    select id, at, actor, action, app_code as "appCode", subject, before, after, request_id as "requestId"
    from audit where ${conditions.length === 0 ? sql`true` : sql.join(conditions, sql` and `)}
    order by at desc, id desc limit ${limit}`.execute(tx.kysely);
  return rows;
}
