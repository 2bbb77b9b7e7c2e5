/**
 * How an answer is written, as values: a route names its envelope, and handlers do not depend on it (docs/reference/http.md#envelopes).
 * A new content type is a new value of one of these shapes, not a new branch.
 */

import type { UsherError } from '../../base/errors.ts';
import { jsonInSlices } from '../../base/json-slices.ts';
import type { Sliced } from '../../base/slices.ts';

/** A JSON Schema, as OpenAPI 3.1 takes it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The body of every error (docs/reference/http.md#error-bodies). */
export interface ErrorBody {
  success: false;
  code: string;
  message: string;
  details?: Record<string, unknown>;
  requestId: string;
}

/** A page with its content security policy. */
export interface Page {
  readonly page: string;
  readonly policy: string;
}

/** An error of a route whose answers are pages. */
export interface Problem {
  readonly error: UsherError;
  /** The `Accept-Language` of the request. */
  readonly languages: string | undefined;
}

/** Progress lines written before the answer, for clients that accept them. */
export interface ProgressLines {
  readonly media: string;
  line(done: number, total: number): string;
  /** The last line of an answer that failed after its status was sent. */
  failure(error: ErrorBody): string;
}

interface EnvelopeBase {
  /** For documentation and the tests' tables. */
  readonly name: string;
  /** Its media types, the default first; `Accept` chooses among several. */
  readonly media: readonly [string, ...string[]];
  /** Headers of every answer in this envelope. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The schema of the body for the payload's schema. */
  describe(payload: JsonSchema, media: string): JsonSchema;
}

/** One payload, one body. */
export interface ValueEnvelope extends EnvelopeBase {
  readonly kind: 'value';
  encode(payload: unknown, media: string): string | Buffer;
  /** The same, of payloads that may be long. */
  readonly encodeInSlices?: (payload: unknown, media: string) => Sliced<Buffer>;
  readonly progress?: ProgressLines;
  /** An error as a page, for callers that prefer HTML to JSON. Without it every error is JSON. */
  readonly problem?: (problem: Problem) => Page;
}

/**
 * A payload in chunks. `ended` is aborted when no further chunk will come, possibly while one still waits to be read; `end` is
 * called when the reader is gone.
 */
export type Chunks<T> = AsyncIterable<T> & { readonly ended?: AbortSignal; end?(): void };

/** A payload in chunks, which the handler returns as an iterable. */
export interface StreamEnvelope extends EnvelopeBase {
  readonly kind: 'stream';
  encode(piece: unknown): string;
}

/** One document in pieces of its text, which the handler returns as an iterable. */
export interface TextEnvelope extends StreamEnvelope {
  readonly ofText: true;
}

/** No body at all. */
export interface EmptyEnvelope {
  readonly kind: 'empty';
  readonly name: string;
  readonly media: readonly [];
}

export type Envelope = ValueEnvelope | StreamEnvelope | EmptyEnvelope;

export const JSON_TYPE = 'application/json; charset=utf-8';
export const HTML_TYPE = 'text/html; charset=utf-8';

/** One JSON body, made from the payload by `wrap`; `describe` gives its schema. */
export function valueEnvelope(
  name: string,
  wrap: (payload: unknown) => unknown,
  describe: (payload: JsonSchema) => JsonSchema,
): ValueEnvelope {
  return { kind: 'value', name, media: [JSON_TYPE], encode: (payload) => JSON.stringify(wrap(payload)), describe };
}

/** An object whose members are all required. */
export function objectSchema(properties: Record<string, JsonSchema>): JsonSchema {
  return { type: 'object', properties, required: Object.keys(properties) };
}

/** `{success: true, data: <payload>}` */
export const successData = valueEnvelope(
  'successData',
  (data) => ({ success: true, data }),
  (payload) => objectSchema({ success: { type: 'boolean', const: true }, data: payload }),
);

/** `{code: "OK", response: <payload>}` */
export const codeResponse = valueEnvelope(
  'codeResponse',
  (response) => ({ code: 'OK', response }),
  (payload) => objectSchema({ code: { type: 'string', const: 'OK' }, response: payload }),
);

/** The payload as it is. */
export const bare = valueEnvelope(
  'bare',
  (payload) => payload,
  (payload) => payload,
);

/** 204 No Content. */
export const noContent: EmptyEnvelope = { kind: 'empty', name: 'noContent', media: [] };

/** Text of a fixed type, or of the one of several that `media` of the request names; the handler returns the string. */
export function text(
  media: string | readonly [string, ...string[]],
  headers: Readonly<Record<string, string>> = {},
): ValueEnvelope {
  const types = typeof media === 'string' ? ([media] as const) : media;
  return { kind: 'value', name: 'text', media: types, headers, encode: String, describe: (payload) => payload };
}

/** A JSON document in pieces, as a file to keep. */
export function jsonFile(name: string): TextEnvelope {
  return {
    kind: 'stream',
    ofText: true,
    name: 'jsonFile',
    media: [JSON_TYPE],
    headers: { 'content-disposition': `attachment; filename="${name}"` },
    encode: String,
    describe: (payload) => payload,
  };
}

/**
 * A page for people, and its data in `successData` for programs; `Accept` decides, the first of `media` is the default. The payload
 * is `{data, page}`.
 */
export function pageAndData(
  name: string,
  media: readonly [typeof HTML_TYPE, typeof JSON_TYPE] | readonly [typeof JSON_TYPE, typeof HTML_TYPE],
  parts: Pick<ValueEnvelope, 'headers' | 'problem'>,
): ValueEnvelope {
  return {
    kind: 'value',
    name,
    media,
    ...parts,
    encode: (payload, chosen) => {
      const { data, page } = payload as { data: unknown; page: string };
      return chosen === HTML_TYPE ? page : successData.encode(data, chosen);
    },
    describe: (payload, chosen) => {
      if (chosen === HTML_TYPE) return { type: 'string' };
      return successData.describe((payload as { properties: { data: JsonSchema } }).properties.data, chosen);
    },
  };
}

/**
 * `successData`; with `Accept: application/x-ndjson`, lines of `{progress: {done, total}}` before it (docs/reference/command-line.md#manifests:
 * manifests). The handler reports progress in either case. The last line is the answer, or the error body when the
 * operation failed after the first line had gone out with status 200.
 */
export const successDataWithProgress: ValueEnvelope = {
  kind: 'value',
  name: 'successDataWithProgress',
  media: [JSON_TYPE, 'application/x-ndjson'],
  encode: (data, media) => {
    const body = JSON.stringify({ success: true, data });
    return media === JSON_TYPE ? body : `${body}\n`;
  },
  *encodeInSlices(data, media) {
    const body = yield* jsonInSlices({ success: true, data });
    return media === JSON_TYPE ? body : Buffer.concat([body, Buffer.from('\n')]);
  },
  describe: (payload, media) =>
    media === JSON_TYPE
      ? successData.describe(payload, media)
      : {
          description: 'One JSON value per line: progress, then the answer or an error body.',
          anyOf: [
            objectSchema({ progress: objectSchema({ done: { type: 'integer' }, total: { type: 'integer' } }) }),
            successData.describe(payload, media),
            { $ref: '#/components/schemas/Error' },
          ],
        },
  progress: {
    media: 'application/x-ndjson',
    line: (done, total) => `${JSON.stringify({ progress: { done, total } })}\n`,
    failure: (error) => `${JSON.stringify(error)}\n`,
  },
};

/**
 * The media type of the answer: the offered one that `accept` weighs highest, the earlier on a tie; the first when
 * the header is absent or names none of them (a client that sends a wrong Accept still gets an answer it can read).
 */
export function negotiate(accept: string | undefined, offered: readonly [string, ...string[]]): string {
  if (accept === undefined || offered.length === 1) return offered[0];
  const ranges = accept.split(',').map(parseRange);
  let best = offered[0];
  let bestWeight = 0;
  for (const media of offered) {
    const weight = weigh(ranges, bareType(media));
    if (weight > bestWeight) {
      best = media;
      bestWeight = weight;
    }
  }
  return best;
}

interface MediaRange {
  range: string;
  weight: number;
}

function parseRange(text: string): MediaRange {
  const [range = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const quality = parameters.find((parameter) => parameter.startsWith('q='));
  const weight = quality === undefined ? 1 : Number(quality.slice(2));
  return { range, weight: weight >= 0 && weight <= 1 ? weight : 0 };
}

/** The most specific range that matches decides (RFC 9110 12.5.1). */
function weigh(ranges: readonly MediaRange[], media: string): number {
  for (const wanted of [media, `${media.slice(0, media.indexOf('/'))}/*`, '*/*']) {
    const found = ranges.find(({ range }) => range === wanted);
    if (found) return found.weight;
  }
  return 0;
}

/** A media type without its parameters. */
export function bareType(media: string): string {
  const end = media.indexOf(';');
  return (end < 0 ? media : media.slice(0, end)).trim().toLowerCase();
}
