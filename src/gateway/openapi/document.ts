/** The OpenAPI 3.1 document, made from the mounted routes (docs/reference/service.md#documents). */

import { stringify } from 'yaml';
import { z } from 'zod';
import { ERROR_TABLE, type ErrorCode, MAX_ISSUES, type Reason } from '../../base/errors.ts';
import type { JsonSchema } from '../route/envelopes.ts';
import { REQUEST_HEADERS, type Route, TAGS } from '../route/route.ts';

export type OpenApiDocument = Readonly<Record<string, unknown>> & {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly JsonSchema[];
  readonly requestBody?: JsonSchema;
  readonly responses: Readonly<Record<string, JsonSchema>>;
}

const SECURITY_SCHEMES = {
  bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'The access token of a signed-in user.' },
  internalKey: {
    type: 'apiKey',
    in: 'header',
    name: 'x-internal-api-key',
    description:
      'The key of a backend. Keys have scopes. Without configured keys (development on loopback) checks are open.',
  },
  bearerKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'The key of a backend as a bearer, as AuthZEN clients send it.',
  },
  webhookSecret: {
    type: 'apiKey',
    in: 'header',
    name: 'x-webhook-secret',
    description: "A secret of the identity provider's webhook.",
  },
};

const ERROR_SCHEMA: JsonSchema = {
  type: 'object',
  description: 'The body of every error. Branch on `code`, or on `details.code` where there is one.',
  properties: {
    success: { type: 'boolean', const: false },
    code: { type: 'string', enum: Object.keys(ERROR_TABLE.codes).filter((code) => code !== 'DEADLINE_EXCEEDED') },
    message: { type: 'string', description: 'One sentence that a person can act on.' },
    details: {
      type: 'object',
      properties: {
        code: { type: 'string', enum: Object.keys(ERROR_TABLE.reasons) },
        issues: {
          type: 'array',
          description: 'With VALIDATION_FAILED: the first 100 issues.',
          maxItems: MAX_ISSUES,
          items: {
            type: 'object',
            properties: { path: { type: 'string' }, message: { type: 'string' } },
            required: ['path', 'message'],
          },
        },
        more: { type: 'integer', description: 'The number of issues beyond the first 100.' },
      },
      additionalProperties: true,
    },
    requestId: { type: 'string', description: 'Also in the header `x-request-id` and in the log.' },
  },
  required: ['success', 'code', 'message', 'requestId'],
};

/** The same advice everywhere: also in the proto file, the clients and docs/reliability.md. */
const ADVICE =
  'An error is not an answer: treat the person as denied for this request, and retry the call while it is UNAVAILABLE, with back-off, within your own deadline.';
const UNAVAILABLE =
  'The service cannot answer now; retry after `retry-after`, with back-off. A check without an answer is a denial. After `OUTCOME_UNKNOWN` read whether the write was made, or repeat the same request.';

const STATUS_WORDS: Readonly<Record<number, string>> = {
  400: 'The request is invalid.',
  401: 'Credentials are missing or wrong.',
  403: 'The caller is not allowed to do this.',
  404: 'The record does not exist.',
  409: 'The request conflicts with the current state.',
  412: 'The state has changed since it was read.',
  413: 'The body is too large.',
  415: 'The body has an unsupported media type, encoding or charset.',
  422: 'The request is valid but cannot be carried out.',
  429: 'Too many requests.',
  500: 'An internal error of the service.',
  502: 'Another service failed.',
  503: UNAVAILABLE,
};

/** The document of `routes`. Throws when two routes or schemas would share a name. */
export async function openApiDocument(routes: readonly Route[], version: string): Promise<OpenApiDocument> {
  const components = new Components();
  const paths: Record<string, Record<string, Operation>> = {};
  const seen = new Set<string>();
  for (const route of routes) {
    const operation = await describeRoute(route, components);
    if (seen.has(operation.operationId)) throw new Error(`${operation.operationId} is documented twice`);
    seen.add(operation.operationId);
    const path = route.path.replaceAll(/:([A-Za-z]+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method]: operation };
  }
  const used = new Set(routes.map((route) => route.tag));
  return {
    openapi: '3.1.0',
    info: {
      title: 'Usher',
      version,
      description: `Permissions, profiles and notifications for every application of an organization.\n\n${ADVICE}`,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: Object.entries(TAGS)
      .filter(([name]) => used.has(name as Route['tag']))
      .map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: { Error: ERROR_SCHEMA, ...components.schemas },
      securitySchemes: SECURITY_SCHEMES,
      responses: components.responses,
    },
  };
}

async function describeRoute(route: Route, components: Components): Promise<Operation> {
  const description = [route.description, route.guard.description].filter(Boolean).join('\n\n');
  const { scheme, alternative } = route.guard;
  return {
    operationId: route.operation,
    tags: [route.tag],
    summary: route.summary,
    description,
    // An empty list says that no credentials are needed.
    security: [scheme, alternative].filter((one) => typeof one === 'string').map((one) => ({ [one]: [] })),
    parameters: [
      ...parametersOf(route.params, 'path', components),
      ...parametersOf(route.query, 'query', components),
      ...route.headers.map((name) => ({
        name,
        in: 'header',
        required: false,
        description: REQUEST_HEADERS[name],
        schema: { type: 'string' },
      })),
      ...(route.cookie === null
        ? []
        : [{ ...route.cookie, in: 'cookie', required: false, schema: { type: 'string' } }]),
    ],
    ...(route.body === null ? {} : { requestBody: await requestBodyOf(route, route.body, components) }),
    responses: { ...successesOf(route, components), ...errorsOf(route, components) },
  };
}

function parametersOf(schema: z.ZodType | null, place: 'path' | 'query', components: Components): JsonSchema[] {
  if (schema === null) return [];
  const { properties = {}, required = [] } = components.lift(z.toJSONSchema(schema, { io: 'input' })) as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...rest } = property;
    return {
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema: rest,
    };
  });
}

async function requestBodyOf(
  route: Route,
  format: NonNullable<Route['body']>,
  components: Components,
): Promise<JsonSchema> {
  const { body: example } = route.example;
  const content: Record<string, JsonSchema> = {};
  for (const media of format.media) {
    content[media] = {
      schema: components.lift(await format.describe(media)),
      ...(example === undefined ? {} : { example: media.endsWith('yaml') ? stringify(example) : example }),
    };
  }
  return {
    required: format.optional !== true && !format.schema?.safeParse(undefined).success,
    content: jsonFirst(content),
  };
}

function successesOf(route: Route, components: Components): Record<string, JsonSchema> {
  const { envelope, response, example } = route;
  const payload = response === null ? {} : components.lift(z.toJSONSchema(response, { io: 'output' }));
  const content = Object.fromEntries(
    (envelope.kind === 'empty' ? [] : envelope.media).map((media) => {
      const isJson = media.startsWith('application/json');
      const shown =
        isJson && envelope.kind === 'value' && example.response !== undefined
          ? { example: JSON.parse(String(envelope.encode(example.response, media))) as unknown }
          : {};
      const schema = envelope.kind === 'empty' ? {} : envelope.describe(payload, media);
      return [media.replace(/; charset=utf-8$/, ''), { schema, ...shown }];
    }),
  );
  const headers = {
    'x-request-id': { schema: { type: 'string' } },
    ...(route.headers.includes('usher-min-revision')
      ? { 'usher-revision': { description: 'The revision that the answer reflects.', schema: { type: 'string' } } }
      : {}),
    ...(route.headers.includes('if-none-match')
      ? { etag: { description: 'The tag of this state.', schema: { type: 'string' } } }
      : {}),
  };
  const own = Object.fromEntries(
    route.statuses.map((status) => [
      String(status),
      {
        description: route.summary,
        headers,
        ...(Object.keys(content).length > 0 ? { content: jsonFirst(content) } : {}),
      },
    ]),
  );
  if (route.headers.includes('if-none-match')) {
    own[304] = { description: 'The state still has an `ETag` of `If-None-Match`.', headers };
  }
  const { rehearsal } = route;
  // The schema of an answer that is also that of dry runs says so itself.
  if (rehearsal === null || rehearsal.response === route.response) return own;
  return withRehearsal(own, successesOf(rehearsal, components));
}

/** 200 of a write with dry runs: its own answer, if that is 200 too, or that of a dry run. */
function withRehearsal(
  own: Record<string, JsonSchema>,
  rehearsed: Record<string, JsonSchema>,
): Record<string, JsonSchema> {
  const [of, dry] = [own[200], rehearsed[200]].map(
    (one) => (one as { content?: Content } | undefined)?.content?.['application/json'],
  );
  if (dry === undefined) throw new Error('a dry run must have a JSON schema');
  const description = 'With `dryRun=true`: the answer of the write, and who would gain and lose.';
  if (of === undefined) return { ...own, 200: { ...rehearsed[200], description } };
  const { example, schema } = of;
  const either = { schema: { anyOf: [schema, dry.schema] }, ...(example === undefined ? {} : { example }) };
  return { ...own, 200: { ...own[200], content: { 'application/json': either } } };
}

type Content = Readonly<Record<string, { schema: JsonSchema; example?: unknown }>>;

/** The errors of the gateway itself for a route, beside those of its guard and its handler. */
function machineryErrors(route: Route): (Reason | ErrorCode)[] {
  const body: (Reason | ErrorCode)[] = route.method === 'get' ? [] : ['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'];
  return ['VALIDATION_FAILED', ...body, 'RATE_LIMITED', 'INTERNAL', 'UNAVAILABLE'];
}

function errorsOf(route: Route, components: Components): Record<string, JsonSchema> {
  const byStatus = new Map<number, Set<string>>();
  for (const kind of [...machineryErrors(route), ...route.guard.errors, ...route.errors]) {
    const { codes, reasons } = ERROR_TABLE;
    const isReason = Object.hasOwn(reasons, kind);
    const code = isReason ? reasons[kind as Reason] : (kind as ErrorCode);
    const { http } = codes[code];
    const named = byStatus.get(http) ?? new Set<string>();
    if (isReason) named.add(kind);
    byStatus.set(http, named);
  }
  return Object.fromEntries(
    [...byStatus].sort(([a], [b]) => a - b).map(([status, named]) => [String(status), components.error(status, named)]),
  );
}

/** Shared parts: schemas with an id, and the responses of errors, each once. */
class Components {
  readonly schemas: Record<string, JsonSchema> = {};
  readonly responses: Record<string, JsonSchema> = {};

  /** Moves the definitions of a zod schema to the document's components. */
  lift(schema: unknown): JsonSchema {
    const { $schema: _dialect, $defs = {}, ...rest } = schema as Record<string, unknown>;
    for (const [name, definition] of Object.entries($defs as Record<string, JsonSchema>)) {
      const lifted = relinked(definition);
      const known = this.schemas[name];
      if (known !== undefined && JSON.stringify(known) !== JSON.stringify(lifted)) {
        throw new Error(`two schemas are called ${name}: never share an id between requests and answers`);
      }
      this.schemas[name] = lifted;
    }
    return relinked(rest);
  }

  error(status: number, reasons: ReadonlySet<string>): JsonSchema {
    const names = [...reasons].sort();
    const id = ['Error', String(status), ...names.map((name) => name.replaceAll('_', ''))].join('_');
    this.responses[id] ??= {
      description:
        (STATUS_WORDS[status] ?? 'The request failed.') +
        (names.length === 0 ? '' : ` \`details.code\`: ${names.map((name) => `\`${name}\``).join(', ')}.`),
      headers: {
        'x-request-id': { schema: { type: 'string' } },
        ...(status === 429 || status === 503
          ? { 'retry-after': { description: 'Seconds.', schema: { type: 'integer' } } }
          : {}),
        ...(status === 401 ? { 'www-authenticate': { schema: { type: 'string' } } } : {}),
      },
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
    };
    return { $ref: `#/components/responses/${id}` };
  }
}

/** References of a schema into its own definitions become references into the document, and what its fields need is said by it. */
function relinked(schema: unknown): JsonSchema {
  return JSON.parse(JSON.stringify(schema), (name, value: unknown) => {
    if (name === '$ref' && typeof value === 'string') return value.replace('#/$defs/', '#/components/schemas/');
    return isObjectSchema(value) ? withDependent(value) : value;
  }) as JsonSchema;
}

type ObjectSchema = JsonSchema & { properties: Record<string, JsonSchema & { needs?: string; unlisted?: true }> };

function isObjectSchema(value: unknown): value is ObjectSchema {
  return (
    typeof value === 'object' && value !== null && 'type' in value && value.type === 'object' && 'properties' in value
  );
}

/** `needs` of a field, the name of another one, in the words of JSON Schema. Without fields that are `unlisted`. */
function withDependent(schema: ObjectSchema): JsonSchema {
  const dependentRequired: Record<string, string[]> = {};
  const properties: Record<string, JsonSchema> = {};
  for (const [name, { needs, unlisted, ...property }] of Object.entries(schema.properties)) {
    if (unlisted === true) continue;
    if (needs !== undefined) dependentRequired[name] = [needs];
    properties[name] = property;
  }
  return { ...schema, properties, ...(Object.keys(dependentRequired).length === 0 ? {} : { dependentRequired }) };
}

/** JSON first: generators take the first medium of several for the usual one. */
function jsonFirst<T>(content: Record<string, T>): Record<string, T> {
  const { 'application/json': json, ...others } = content;
  return json === undefined ? content : { 'application/json': json, ...others };
}
