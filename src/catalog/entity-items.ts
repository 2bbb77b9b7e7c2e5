/**
 * The records of an entity, fetched from the application that stores them, with the token of the administrator
 * (docs/reference/administration.md#entity-items). Requests and tokens go only to origins that the operator has listed.
 */

import { UsherError, validationFailed } from '../base/errors.ts';
import { hasForbiddenCharacters, isLongerThan, isResourceId, LIMITS } from '../base/grammar.ts';
import { isLoopbackHost } from '../base/ip-address.ts';
import { hasMembers } from '../base/members.ts';
import { TimeSlicer } from '../base/time-slice.ts';
import { type Outbound, OutboundError, type OutboundResponse, type Policy } from '../outbound/outbound.ts';
import type { Entities } from './entities.ts';
import { parseLargeIntegers } from './large-integers.ts';

/** One record that an override can refer to. */
export interface EntityItem {
  id: string;
  label: string;
  description: string | null;
}

export interface EntityItems {
  entityCode: string;
  endpoint: string;
  items: EntityItem[];
  /** Present only when there were more. */
  truncated?: true;
  /** Present for an entity with `listSearch`: the endpoint's own cursor, null on the last page. */
  page?: { nextCursor: string | null };
}

/** Which of the records are wanted; null for no restriction. */
export interface ItemsQuery {
  /** Text in the id, label or description, in either case. */
  readonly search: string | null;
  /** Only for an entity with `listSearch`. */
  readonly cursor: string | null;
  readonly ids: readonly string[] | null;
}

/** Identifiers of one query. */
export const MAX_IDS = 100;
/** Code points of a cursor. */
export const MAX_CURSOR = 1000;

interface EntityItemsOptions {
  entities: Pick<Entities, 'find'>;
  outbound: Pick<Outbound, 'send'>;
  /** `entities.allowedOrigins` of the configuration. */
  allowedOrigins: readonly string[];
  /** Outside production, loopback origins count as listed too. */
  production: boolean;
}

const TIMEOUT_MS = 5000;
const MAX_BYTES = 1024 * 1024;
const MAX_ITEMS = 1000;

/** Values of `details.reason` when a list is unavailable, beside the reasons of outbound.ts. */
type Failure = 'origin_not_allowed' | 'bad_status' | 'not_a_list' | 'bad_cursor';

export class EntityCatalogItems {
  readonly #options: EntityItemsOptions;
  readonly #allowed: ReadonlySet<string>;

  constructor(options: EntityItemsOptions) {
    this.#options = options;
    this.#allowed = new Set(options.allowedOrigins.map((origin) => new URL(origin).origin));
  }

  /**
   * The records at the entity's `listEndpoint`, fetched with `token`. With `listSearch` the endpoint itself answers the query; else
   * its whole answer is searched here. NOT_FOUND, NO_LIST_ENDPOINT, VALIDATION_FAILED for a query that the endpoint cannot be asked,
   * or LIST_ENDPOINT_FAILED with `details.reason`.
   */
  async list(app: string, code: string, query: ItemsQuery, token: string, signal: AbortSignal): Promise<EntityItems> {
    const { listEndpoint, listSearch } = await this.#options.entities.find(app, code);
    if (listEndpoint === null) {
      throw new UsherError(
        'NO_LIST_ENDPOINT',
        `The entity ${code} has no listEndpoint, so its records cannot be listed.`,
      );
    }
    if (!listSearch && query.cursor !== null) {
      throw validationFailed([
        { path: 'cursor', message: `is only for entities with listSearch, which ${code} has not` },
      ]);
    }
    const url = listSearch ? urlOf(listEndpoint, query) : listEndpoint;
    const response = await this.#ask(url, this.#policyOf(url), token, signal);
    if (response.status < 200 || response.status > 299) {
      throw failed('bad_status', `The list endpoint answered ${response.status}.`, { status: response.status });
    }
    const answer = readJson(response.body);
    const found = await readItems(answer, listSearch ? undefined : matcherOf(query));
    const items = found.slice(0, MAX_ITEMS);
    return {
      entityCode: code,
      endpoint: listEndpoint,
      items,
      ...(found.length > items.length ? { truncated: true } : {}),
      ...(listSearch ? { page: { nextCursor: readCursor(answer) } } : {}),
    };
  }

  #policyOf(endpoint: string): Policy {
    const { origin, hostname } = new URL(endpoint);
    if (this.#allowed.has(origin))
      return { reach: 'internet', http: false, anyPort: false, trustedOrigins: this.#allowed };
    // The connected address is checked again when the request is sent.
    if (!this.#options.production && isLoopbackHost(hostname)) return { reach: 'loopback', http: true, anyPort: true };
    throw failed(
      'origin_not_allowed',
      `${origin} is not allowed: an operator must add it to entities.allowedOrigins (ENTITIES_ALLOWED_ORIGINS).`,
      { origin },
    );
  }

  async #ask(url: string, policy: Policy, token: string, signal: AbortSignal): Promise<OutboundResponse> {
    try {
      return await this.#options.outbound.send({
        url,
        policy,
        headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
        timeoutMs: TIMEOUT_MS,
        maxBytes: MAX_BYTES,
        signal,
      });
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof OutboundError)) throw error;
      throw failed(error.reason, `The list endpoint failed: ${error.message}`);
    }
  }
}

function failed(reason: Failure | OutboundError['reason'], message: string, more: object = {}): UsherError {
  return new UsherError('LIST_ENDPOINT_FAILED', message, { details: { reason, ...more } });
}

/** The endpoint with the query. Only its search part changes: the origin, which decides about the request, is the stored one. */
function urlOf(endpoint: string, { search, cursor, ids }: ItemsQuery): string {
  const url = new URL(endpoint);
  const sent = { q: search, cursor, ids: ids?.map(encodeURIComponent).join(',') ?? null };
  const named = Object.entries(sent).filter((one): one is [string, string] => one[1] !== null);
  if (named.length === 0) return endpoint;
  for (const [name, value] of named) {
    // Writing to searchParams spells all parameters anew: those of the endpoint itself stay as they are stored.
    if (url.searchParams.has(name)) url.searchParams.delete(name);
    url.search += `${url.search === '' ? '?' : '&'}${name}=${encodeURIComponent(value)}`;
  }
  if (url.href.length <= LIMITS.url) return url.href;
  const message = `makes the URL of the list endpoint longer than ${LIMITS.url} characters; send less`;
  throw validationFailed([{ path: named.at(-1)?.[0] ?? '', message }]);
}

/** Searches where the endpoint does not. */
function matcherOf({ search, ids }: ItemsQuery): ((item: EntityItem) => boolean) | undefined {
  if (search === null && ids === null) return undefined;
  const wanted = ids === null ? null : new Set(ids);
  const folded = search?.toLowerCase() ?? '';
  return ({ id, label, description }) =>
    (wanted === null || wanted.has(id)) &&
    [id, label, description ?? ''].some((text) => text.toLowerCase().includes(folded));
}

/** The cursor in an endpoint's answer, in `nextCursor` or `page.nextCursor`; null on the last page. */
function readCursor(answer: unknown): string | null {
  const cursor = firstText(answer, ['nextCursor']) ?? firstText(memberOf(answer, 'page'), ['nextCursor']);
  if (cursor === null || (!isLongerThan(cursor, MAX_CURSOR) && !hasForbiddenCharacters(cursor))) return cursor;
  throw failed(
    'bad_cursor',
    `The list endpoint's nextCursor must be at most ${MAX_CURSOR} characters, without control characters.`,
  );
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

function readJson(body: Buffer): unknown {
  try {
    return parseLargeIntegers(UTF8.decode(body));
  } catch {
    // Nested too deep, or not JSON.
    throw failed('not_json', "The list endpoint's answer is not JSON.");
  }
}

/**
 * The records with a valid id that match, at most one more than the limit. Throws LIST_ENDPOINT_FAILED when there is
 * no list, or no record in it. In slices: a megabyte can hold half a million entries that are not records.
 */
export async function readItems(
  answer: unknown,
  matches: (item: EntityItem) => boolean = () => true,
): Promise<EntityItem[]> {
  const list = listIn(answer);
  if (list === null) {
    throw failed('not_a_list', "The list endpoint's answer must be an array, or have one in data, items or results.");
  }
  const pieces = new TimeSlicer();
  const items: EntityItem[] = [];
  let records = 0;
  for (const record of list) {
    const turn = pieces.next();
    if (turn !== undefined) await turn;
    const item = readItem(record);
    if (item === null) continue;
    records++;
    if (matches(item)) items.push(item);
    if (items.length > MAX_ITEMS) break;
  }
  if (records === 0 && list.length > 0) {
    throw failed('not_a_list', "No entry of the list endpoint's answer has an id, code or uuid.");
  }
  return items;
}

function listIn(answer: unknown): readonly unknown[] | null {
  if (Array.isArray(answer)) return answer;
  for (const name of ['data', 'items', 'results']) {
    const list = memberOf(answer, name);
    if (Array.isArray(list)) return list;
  }
  return null;
}

function readItem(record: unknown): EntityItem | null {
  const id = firstText(record, ['id', 'code', 'uuid']);
  if (id === null || !isResourceId(id)) return null;
  const description = memberOf(record, 'description');
  return {
    id,
    label: firstText(record, ['name', 'title', 'label']) ?? id,
    description: typeof description === 'string' ? description : null,
  };
}

/** The first of the members that is a text or a number, as text. */
function firstText(record: unknown, names: readonly string[]): string | null {
  for (const name of names) {
    const value = memberOf(record, name);
    if (typeof value === 'string' && value !== '') return value;
    if (typeof value === 'number') return String(value);
  }
  return null;
}

function memberOf(value: unknown, name: string): unknown {
  return hasMembers(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
