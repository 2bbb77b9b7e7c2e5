/** The body formats of routes: media types, size, and how received bytes become a value. */

import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { UsherError, validationFailed } from '../../base/errors.ts';
import { hasForbiddenCharacters, LIMITS } from '../../base/grammar.ts';
import { zodIssues } from '../../base/zod-issues.ts';
import type { JsonSchema } from './envelopes.ts';
import { BODY_LIMIT, type BodyLimit } from './limits.ts';

export interface BodyFormat<T> {
  /** Media types without parameters; anything else is 415. */
  readonly media: readonly [string, ...string[]];
  readonly maxBytes: number;
  /** The value of a whole body, undefined when none was sent. Throws 400 VALIDATION_FAILED. */
  parse(bytes: Buffer | undefined, media: string): T;
  /** For the document. A schema that nothing else needs is loaded then. */
  describe(media: string): JsonSchema | Promise<JsonSchema>;
  /** Whether the body may be absent, for formats without `schema`. */
  readonly optional?: true;
  /** Present for JSON: the tests check examples with it. */
  readonly schema?: z.ZodType<T>;
}

/**
 * A JSON body of that schema. `z.strictObject` only: unknown fields are refused (docs/reference/http.md#bodies). `unstorable`: a text
 * that cannot be stored is left to the schema.
 */
export function json<S extends z.ZodType>(
  schema: S,
  limit: BodyLimit = 'record',
  { unstorable = false }: { unstorable?: boolean } = {},
): BodyFormat<z.output<S>> {
  return {
    media: ['application/json'],
    maxBytes: BODY_LIMIT[limit],
    parse: (bytes) => {
      const parsed = schema.safeParse(bytes === undefined ? undefined : parseJson(bytes, { unstorable }));
      if (parsed.success) return parsed.data;
      throw validationFailed(
        bytes === undefined
          ? [{ path: '', message: 'a JSON body is required' }]
          : zodIssues(parsed.error.issues, schema),
      );
    },
    describe: () => z.toJSONSchema(schema, { io: 'input' }) as JsonSchema,
    schema: schema as z.ZodType<z.output<S>>,
  };
}

/** A body passed on as text, with its media type: manifests. UTF-8 only, and not empty. `json` names the schema of its JSON form. */
export function rawText(
  media: readonly [string, ...string[]],
  limit: BodyLimit,
  json?: () => Promise<readonly [name: string, schema: JsonSchema]>,
): BodyFormat<{ text: string; media: string }> {
  return {
    media,
    maxBytes: BODY_LIMIT[limit],
    parse: (bytes, type) => {
      if (bytes === undefined) throw validationFailed([{ path: '', message: 'a body is required' }]);
      return { text: decodeUtf8(bytes), media: type };
    },
    describe: async (type) => {
      if (type !== 'application/json') return { type: 'string' };
      if (json === undefined) return { type: 'object' };
      const [name, { $schema: _dialect, ...schema }] = await json();
      return { $ref: `#/$defs/${name}`, $defs: { [name]: schema } };
    },
  };
}

/** A body passed on as received bytes: a signature is computed over them. */
export function rawBytes(media: readonly [string, ...string[]], limit: BodyLimit): BodyFormat<Buffer> {
  return {
    media,
    maxBytes: BODY_LIMIT[limit],
    parse: (bytes) => bytes ?? Buffer.alloc(0),
    describe: (type) => (type === 'application/json' ? { type: 'object' } : { type: 'string', format: 'binary' }),
  };
}

/** An image, with its media type; what it is in truth is decided by its bytes. */
export function rawImage(media: readonly [string, ...string[]]): BodyFormat<{ bytes: Buffer; media: string }> {
  return {
    media,
    maxBytes: BODY_LIMIT.image,
    parse: (bytes, type) => ({ bytes: bytes ?? Buffer.alloc(0), media: type }),
    describe: () => ({ type: 'string', format: 'binary' }),
  };
}

/**
 * A route without a body accepts none, or `{}`, which many clients send with every POST. Anything else is an
 * unknown field and refused like one.
 */
export const NO_BODY: BodyFormat<Record<string, never> | undefined> = json(z.strictObject({}).optional());

/**
 * Parses one JSON value: valid UTF-8, at most 32 levels deep, no NUL and no lone surrogate in any string
 * (neither can be stored, and two of the latter would be stored as one). Throws 400 VALIDATION_FAILED.
 * Of a member given twice the last counts; `__proto__` is a member like any other. With `unstorable` such strings pass.
 */
export function parseJson(bytes: Buffer, { unstorable = false }: { unstorable?: boolean } = {}): unknown {
  const text = decodeUtf8(bytes);
  refuseDeepNesting(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // V8's message quotes the body, which must not get into logs.
    throw validationFailed([{ path: '', message: 'the body is not well-formed JSON' }]);
  }
  // Only an escape can get such a character past JSON.parse and the UTF-8 check.
  if (!unstorable && text.includes('\\u')) refuseUnstorable(value, '');
  return value;
}

function decodeUtf8(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw validationFailed([{ path: '', message: 'the body is not valid UTF-8' }]);
  return bytes.toString('utf8');
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Counts brackets outside strings in one pass, before anything recursive sees the value. */
function refuseDeepNesting(text: string): void {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at++;
        while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
        break;
      case 0x5b: // [
      case 0x7b: // {
        if (++depth > LIMITS.jsonNesting) {
          throw validationFailed([
            { path: '', message: `the body is nested deeper than ${LIMITS.jsonNesting} levels` },
          ]);
        }
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth--;
        break;
    }
  }
}

/** At most 32 levels deep by now. */
function refuseUnstorable(value: unknown, path: string): void {
  if (typeof value === 'string') {
    if (value.includes('\0') || !value.isWellFormed()) {
      throw validationFailed([{ path, message: 'contains a NUL character or half of a surrogate pair' }]);
    }
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    const shown = hasForbiddenCharacters(key) ? '?' : key;
    const here = path === '' ? shown : `${path}.${shown}`;
    refuseUnstorable(key, here);
    refuseUnstorable(member, here);
  }
}

/** Returns the bare media type if a Content-Type is one of `media`, in UTF-8; throws 415 otherwise. */
export function checkMedia(contentType: string | undefined, media: readonly string[]): string {
  const [type = '', ...parameters] = (contentType ?? '').split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  const utf8 = charset === undefined || /^charset="?utf-?8"?$/.test(charset);
  if (media.includes(type) && utf8) return type;
  throw new UsherError('UNSUPPORTED_MEDIA_TYPE', `Send the body as ${media.join(' or ')}, in UTF-8.`);
}
