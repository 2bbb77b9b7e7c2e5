/**
 * Pages of long lists (docs/reference/http.md#lists): `?limit=` and an opaque `?cursor=`, and `page: {nextCursor}` beside the payload. A cursor
 * names its list and the id after which the page begins; both are checked, and the id is only ever bound as a parameter.
 * A page may hold fewer items than the limit, or none: only `nextCursor: null` ends a list.
 */

import { z } from 'zod';
import { membersOf } from '../../base/members.ts';
import type { Page, PageQuery } from '../../base/page.ts';
import { type Envelope, type JsonSchema, objectSchema, valueEnvelope } from './envelopes.ts';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;

/** A payload with its page, as `pagedData` and `pagedResponse` take it. */
export interface Paged<T> {
  readonly data: T;
  readonly nextCursor: string | null;
}

/** A number in a query: text, which the document calls what it must be. */
export function wholeNumber(least: number, most: number, usual: number) {
  return z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .refine((value) => value >= least && value <= most, `must be from ${least} to ${most}`)
    .meta({ type: 'integer', pattern: undefined, minimum: least, maximum: most })
    .default(usual)
    .meta({ default: usual });
}

/** The query parameters of a paged list. `read` returns undefined for text that is not a cursor of the list. */
function paramsOf<Place>(read: (cursor: string) => Place | undefined) {
  return {
    limit: wholeNumber(1, MAX_LIMIT, DEFAULT_LIMIT).meta({
      description: `The most entries of a page, 1 to ${MAX_LIMIT}; by default ${DEFAULT_LIMIT}. A page may hold fewer: only \`nextCursor: null\` ends the list.`,
    }),
    cursor: z
      .string()
      .transform((text, context): Place => {
        const place = read(text);
        if (place !== undefined) return place;
        context.addIssue({ code: 'custom', message: 'is not a cursor of this list' });
        return z.NEVER;
      })
      .optional()
      .meta({ description: 'The `nextCursor` of the previous page.' }),
  };
}

/**
 * The query parameters of a paged list, to be spread into its schema. `list` is the list's own name: a cursor of another one is
 * refused (400).
 */
export function pageParams(list: string) {
  return paramsOf((text) => readCursor(list, text));
}

/** The page query of a feature, from the validated query string. */
export function pageOf(query: { limit: number; cursor?: number | undefined }): PageQuery {
  return { limit: query.limit, after: query.cursor ?? null };
}

/** As `pageParams`, for lists that are not ordered by one id: `key` is the schema of a position, as JSON. */
export function keyedPageParams<K extends z.ZodType>(list: string, key: K) {
  return paramsOf((text) => readKey(list, text, key));
}

/**
 * As `pageParams`, for a list with several orders: a cursor is an id in the usual order, in the others a key whose schema is `key`.
 * The route must refuse a cursor of another order than the requested one.
 */
export function orderedPageParams<K extends z.ZodType>(list: string, key: K) {
  return paramsOf((text): number | z.output<K> | undefined => readCursor(list, text) ?? readKey(list, text, key));
}

/** As `keyedPageParams`, for a list that comes whole unless a page is asked for: then both are absent. */
export function optionalPageParams<K extends z.ZodType>(list: string, key: K) {
  const { limit, cursor } = keyedPageParams(list, key);
  return {
    limit: limit
      .removeDefault()
      .optional()
      .meta({
        description: `The most entries of a page, 1 to ${MAX_LIMIT}; with a \`cursor\` alone ${DEFAULT_LIMIT}. With neither the list comes whole.`,
      }),
    cursor,
  };
}

/** The limit of a page asked for by `optionalPageParams`; null: the whole list. */
export function limitOf({ limit, cursor }: { limit?: number | undefined; cursor?: unknown }): number | null {
  return limit ?? (cursor === undefined ? null : DEFAULT_LIMIT);
}

/** As `paged`, for `keyedPageParams`. */
export function keyedPage<R, K, T>(list: string, page: Page<R, K>, show: (item: R) => T): Paged<T[]> {
  return { data: page.items.map(show), nextCursor: page.next === null ? null : writeKey(list, page.next) };
}

/** A feature's page as the payload of `pagedData` or `pagedResponse`. */
export function paged<R, T>(list: string, page: Page<R>, show: (item: R) => T): Paged<T[]> {
  return { data: page.items.map(show), nextCursor: page.next === null ? null : writeCursor(list, page.next) };
}

/** The response schema of a paged list. */
export function pageSchema<T extends z.ZodType>(item: T) {
  return pagedSchema(z.array(item));
}

/** The same where the payload holds the list. */
export function pagedSchema<T extends z.ZodType>(data: T) {
  return z.strictObject({ data, nextCursor: z.string().nullable() });
}

function writeCursor(list: string, after: number): string {
  return Buffer.from(`${list}:${after}`).toString('base64url');
}

function readCursor(list: string, text: string): number | undefined {
  if (text.length > 128) return undefined;
  const decoded = Buffer.from(text, 'base64url').toString('latin1');
  if (!decoded.startsWith(`${list}:`)) return undefined;
  const id = decoded.slice(list.length + 1);
  if (!/^[1-9][0-9]{0,15}$/.test(id) || !Number.isSafeInteger(Number(id))) return undefined;
  // One spelling only: what another decoder would read differently is refused.
  return writeCursor(list, Number(id)) === text ? Number(id) : undefined;
}

/** The longest key holds an identifier of 256 characters, each of which JSON and base64 can expand. */
const MAX_KEY = 4096;

function writeKey(list: string, key: unknown): string {
  return Buffer.from(JSON.stringify([list, key])).toString('base64url');
}

function readKey<K extends z.ZodType>(list: string, text: string, schema: K): z.output<K> | undefined {
  if (text.length > MAX_KEY) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
  const [name, key] = Array.isArray(value) && value.length === 2 ? value : [];
  const parsed = name === list ? schema.safeParse(key) : undefined;
  // One spelling only, as for the cursors above.
  return parsed?.success && writeKey(list, parsed.data) === text ? parsed.data : undefined;
}

const PAGE: JsonSchema = objectSchema({
  nextCursor: {
    type: ['string', 'null'],
    description: 'The `cursor` of the next page; null on the last one. A page with a cursor may be short, or empty.',
  },
});

function pagedEnvelope(name: string, member: 'data' | 'response', mark: Record<string, unknown>): Envelope {
  return valueEnvelope(
    name,
    (payload) => {
      const { data, nextCursor } = membersOf(payload);
      return { ...mark, [member]: data, page: { nextCursor } };
    },
    (payload) => {
      const { data } = payload.properties as Record<string, JsonSchema>;
      const constants = Object.entries(mark).map(([key, value]) => [key, { type: typeof value, const: value }]);
      return objectSchema({ ...Object.fromEntries(constants), [member]: data ?? {}, page: PAGE });
    },
  );
}

/** A payload of `optionallyPaged`: a list without `nextCursor` is whole. */
export function optionalPageSchema<T extends z.ZodType>(item: T) {
  return z.strictObject({ data: z.array(item), nextCursor: z.string().nullable().optional() });
}

/** As `pagedData`; `page` is absent where the list was asked for whole. */
export const optionallyPaged = valueEnvelope(
  'optionallyPaged',
  (payload) => {
    const { data, nextCursor } = membersOf(payload);
    return { success: true, data, ...(nextCursor === undefined ? {} : { page: { nextCursor } }) };
  },
  (payload) => {
    const { data } = payload.properties as Record<string, JsonSchema>;
    const described = objectSchema({ success: { type: 'boolean', const: true }, data: data ?? {} });
    return { ...described, properties: { ...(described.properties as object), page: PAGE } };
  },
);

/** `{success: true, data: <payload>, page: {nextCursor}}` */
export const pagedData = pagedEnvelope('pagedData', 'data', { success: true });

/** `{code: "OK", response: <payload>, page: {nextCursor}}` */
export const pagedResponse = pagedEnvelope('pagedResponse', 'response', { code: 'OK' });

/** `page` inside a payload. */
export const pageInfo = z.object({
  nextCursor: z.string().nullable().meta({ description: 'The `cursor` of the next page; null on the last one.' }),
});
