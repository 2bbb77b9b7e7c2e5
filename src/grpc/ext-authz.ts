/**
 * `envoy.service.auth.v3.Authorization/Check`, for proxies that ask about each request (docs/reference/decisions.md#envoy). The question
 * is what the configuration of the route says, the user the owner of the request's bearer token; the rest of the request decides nothing.
 */

import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { type Issue, UsherError, validationFailed } from '../base/errors.ts';
import { normalizeEmail } from '../base/grammar.ts';
import { LEVEL_NAMES, SOURCE_NAMES } from '../base/level-names.ts';
import { requestId } from '../base/telemetry.ts';
import { waiting } from '../base/tracing.ts';
import { Level } from '../engine/types.ts';
import type { HeaderValueOptionSchema } from '../gen/envoy/config/core/v3/base_pb.ts';
import { HeaderValueOption_HeaderAppendAction as Append } from '../gen/envoy/config/core/v3/base_pb.ts';
import type { AttributeContext_HttpRequest } from '../gen/envoy/service/auth/v3/attribute_context_pb.ts';
import {
  type CheckRequest,
  CheckRequestSchema,
  type CheckResponse,
  CheckResponseSchema,
} from '../gen/envoy/service/auth/v3/external_auth_pb.ts';
import type { CheckFields, Naming, PermissionEngine } from '../rpc/call.ts';
import { type CheckAnswer, RPCS } from '../rpc/methods.ts';
import { PROTO } from '../rpc/naming.ts';
import type { Authorize, Handle } from './bridge.ts';

/** The owner of a bearer token. `authorization` holds all headers of that name. Throws UsherError as every door for tokens does. */
export type Identify = (authorization: readonly string[], requestId: string) => Promise<{ readonly email: string }>;

export interface ServedExtAuthz {
  readonly engine: PermissionEngine;
  readonly identify: Identify;
  readonly authorize: Authorize;
}

/** What a route may say. */
const EXTENSIONS = ['app', 'permission', 'resourceType', 'resourceId', 'accessLevel'] as const;
type Extension = (typeof EXTENSIONS)[number];
const PATH = 'attributes.context_extensions';
const pathOf = (name: string): string => `${PATH}.${name}`;

const NAMING: Naming = {
  ...PROTO,
  fields: {
    email: 'authorization',
    app: pathOf('app'),
    permission: pathOf('permission'),
    resourceType: pathOf('resourceType'),
    resourceId: pathOf('resourceId'),
  },
};

const LEVELS: ReadonlyMap<string | undefined, Level> = new Map([
  [undefined, Level.NONE],
  ['view', Level.VIEW],
  ['edit', Level.EDIT],
]);

export function extAuthzHandle({ engine, identify }: Pick<ServedExtAuthz, 'engine' | 'identify'>): Handle {
  const answer = async (request: Buffer): Promise<Buffer> => {
    const { attributes } = decode(request);
    const question = readQuestion(attributes?.contextExtensions ?? {});
    const http = attributes?.request?.http;
    let email: string;
    try {
      ({ email } = await identify(authorizationOf(http), requestId(http?.id)));
    } catch (error) {
      return encode(refusal(error));
    }
    const said = await RPCS.check.ask(engine, { ...question, email, minRevision: '' }, { naming: NAMING });
    return encode(
      said.allowed ? allowed(said, email) : denied(403, 'FORBIDDEN', 'This user does not have the permission.'),
    );
  };
  return (request) => waiting(() => answer(request));
}

/** The application that a request is about, for keys that are narrowed. */
export function aboutExtAuthz(request: Buffer): readonly string[] {
  return [decode(request).attributes?.contextExtensions.app ?? ''];
}

/** Unknown fields are passed over: they are Envoy's words about the request, of which a later version has more. */
function decode(bytes: Buffer): CheckRequest {
  try {
    return fromBinary(CheckRequestSchema, bytes);
  } catch (error) {
    throw new UsherError('VALIDATION_FAILED', 'The request is not a CheckRequest.', { cause: error });
  }
}

/** Strict, unlike the rest: a misspelled extension must never ask the wider question. */
function readQuestion(extensions: Readonly<Record<string, string>>): Omit<CheckFields, 'email' | 'minRevision'> {
  const given = new Map(Object.entries(extensions));
  const issues: Issue[] = [];
  for (const [name, value] of given) {
    if (!(EXTENSIONS as readonly string[]).includes(name)) {
      issues.push({ path: pathOf(name), message: `is not known; known are ${EXTENSIONS.join(', ')}` });
    } else if (value === '') {
      issues.push({ path: pathOf(name), message: 'must not be empty' });
    }
  }
  const level = LEVELS.get(given.get('accessLevel'));
  if (level === undefined) issues.push({ path: pathOf('accessLevel'), message: 'must be view or edit' });
  for (const name of ['app', 'permission']) {
    if (!given.has(name)) issues.push({ path: pathOf(name), message: 'is required' });
  }
  if (issues.length > 0) throw validationFailed(issues);
  const text = (name: Extension): string => given.get(name) ?? '';
  return {
    app: text('app'),
    permission: text('permission'),
    resourceType: text('resourceType'),
    resourceId: text('resourceId'),
    accessLevel: level ?? Level.NONE,
  };
}

/** All headers of that name, in either form in which Envoy sends headers. */
function authorizationOf(http: AttributeContext_HttpRequest | undefined): string[] {
  if (http === undefined) return [];
  const named = Object.entries(http.headers).concat(
    (http.headerMap?.headers ?? []).map(({ key, value, rawValue }) => {
      return [key, rawValue.length > 0 ? Buffer.from(rawValue).toString('latin1') : value];
    }),
  );
  return named.filter(([name]) => name.toLowerCase() === 'authorization').map(([, value]) => value);
}

type Response = MessageInitShape<typeof CheckResponseSchema>;

/** The answer about somebody who was not admitted. Throws trouble again: it is the call's own status. */
function refusal(error: unknown): Response {
  if (!(error instanceof UsherError)) throw error;
  const { code, reason, message } = error;
  if (code === 'UNAUTHENTICATED') return denied(401, code, message, reason);
  if (code === 'FORBIDDEN') return denied(403, code, message, reason);
  throw error;
}

/** The same headers as of a check by status. They replace what the client has sent under these names. */
function allowed({ decision }: CheckAnswer, email: string): Response {
  const headers = [
    header('x-usher-email', normalizeEmail(email) ?? ''),
    header('x-usher-access-level', LEVEL_NAMES[decision.level] ?? ''),
    header('x-usher-source', SOURCE_NAMES[decision.source] ?? ''),
  ];
  return { status: { code: 0 }, httpResponse: { case: 'okResponse', value: { headers } } };
}

const STATUS = { 401: 16, 403: 7 } as const;

function denied(status: 401 | 403, code: string, message: string, reason?: string): Response {
  const headers = [
    header('content-type', 'application/json; charset=utf-8'),
    header('cache-control', 'no-store'),
    ...(status === 401 ? [header('www-authenticate', 'Bearer realm="usher"')] : []),
  ];
  const details = reason === undefined ? {} : { details: { code: reason } };
  const body = JSON.stringify({ success: false, code, message, ...details });
  return {
    status: { code: STATUS[status], message },
    httpResponse: { case: 'deniedResponse', value: { status: { code: status }, headers, body } },
  };
}

function header(key: string, value: string): MessageInitShape<typeof HeaderValueOptionSchema> {
  return { header: { key, value }, appendAction: Append.OVERWRITE_IF_EXISTS_OR_ADD };
}

function encode(response: Response): Buffer {
  const message: CheckResponse = create(CheckResponseSchema, response);
  return Buffer.from(toBinary(CheckResponseSchema, message));
}
