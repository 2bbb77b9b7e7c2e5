/** Calls for two ports to answer alike: most of them valid, each odd one by a name that a report can show. */
import { create, type DescMessage, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import {
  BatchCheckRequestSchema,
  BulkCheckRequestSchema,
  CheckRequestSchema,
  EffectiveRequestSchema,
} from '../../src/gen/usher/permission/v1/permission_pb.ts';
import { SERVICE } from '../grpc/support.ts';
import { pick, type Random, some } from '../oracle/world.ts';
import { message } from './frames.ts';
import type { Field } from './hpack.ts';
import { BODIES, HEADS, SHAPES } from './oddities.ts';

/** What a question may name. Ports under comparison know the same of it. */
export interface Names {
  readonly key: string;
  readonly emails: readonly string[];
  readonly apps: readonly string[];
  readonly permissions: readonly string[];
}

/** How the request side of a stream ends: with the last DATA, an empty one, HEADERS alone, trailers, or not at all. */
export type Ending = 'data' | 'empty data' | 'headers' | 'trailers' | 'never' | 'reset';

export interface WireCall {
  fields: Field[];
  /** gRPC messages with their prefixes. */
  body: Buffer;
  ending: Ending;
  trailers: Field[];
  /** What is odd about it, beside its method. */
  readonly odd: string[];
  /**
   * Whether status and message are certain. A call whose deadline has passed is answered where the answer is at hand, and
   * exceeds its deadline elsewhere; a cancelled one may have been answered before.
   */
  certain: boolean;
}

export const METHODS = ['Check', 'BulkCheck', 'BatchCheck', 'Effective'] as const;

const RESOURCES = [
  {},
  {},
  {},
  { resourceType: 'invoice', resourceId: '1' },
  { resourceType: 'invoice', resourceId: 'é:b' },
];
const WRONG = [
  { email: '' },
  { app: '' },
  { app: 'a'.repeat(65) },
  { email: 'a'.repeat(255) },
  { resourceType: 'invoice' },
  { resourceId: '1' },
  { resourceId: 'a\u0000b', resourceType: 'invoice' },
  { minRevision: 'x' },
  { minRevision: '1'.repeat(65) },
];

function question(random: Random, names: Names) {
  return {
    email: pick(random, names.emails),
    app: pick(random, names.apps),
    permission: pick(random, names.permissions),
    accessLevel: pick(random, [0, 0, 0, 2, 3]),
    ...pick(random, RESOURCES),
  };
}

/** Fields that no type would let through are what is wanted here. */
function encode<D extends DescMessage>(schema: D, fields: Record<string, unknown>): Buffer {
  return Buffer.from(toBinary(schema, create(schema, fields as MessageInitShape<D>)));
}

/** The message of a call, in one of ten with a field that is wrong. */
export function request(random: Random, names: Names, method: string): Buffer {
  const wrong = random(10) === 0 ? pick(random, WRONG) : {};
  const { permission, accessLevel, ...subject } = question(random, names);
  if (method === 'Effective') return encode(EffectiveRequestSchema, { ...subject, ...wrong });
  if (method === 'BulkCheck') {
    const permissions = [permission, ...some(random, names.permissions), ...(random(20) === 0 ? [''] : [])];
    return encode(BulkCheckRequestSchema, { ...subject, permissions, accessLevel, ...wrong });
  }
  if (method === 'BatchCheck') {
    const checks = Array.from({ length: random(8) }, () => question(random, names));
    return encode(BatchCheckRequestSchema, { checks: [...checks, { ...question(random, names), ...wrong }] });
  }
  return encode(CheckRequestSchema, { ...subject, permission, accessLevel, ...wrong });
}

/** grpc-js refuses these in a later turn: which of two faults it sees first is a matter of timing. */
const RACES: ReadonlySet<string> = new Set(['malformed deadline']);

/** `odds`: one in so many calls is odd. */
export function randomCall(random: Random, names: Names, odds = 2): WireCall {
  const method = pick(random, METHODS);
  const call: WireCall = {
    fields: [
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', `/${SERVICE}/${method}`],
      [':authority', 'usher.test'],
      ['te', 'trailers'],
      ['content-type', 'application/grpc'],
      ['x-internal-api-key', names.key],
      ['user-agent', 'wire'],
      // Without one, each port makes its own.
      ['x-request-id', `request-${random(1_000_000)}`],
    ],
    body: message(request(random, names, method)),
    ending: random(4) === 0 ? 'empty data' : 'data',
    trailers: [],
    odd: [],
    certain: true,
  };
  if (random(odds) > 0) return call;
  const heads = Object.entries(HEADS);
  const [name, change] = pick(random, [...heads, ...heads, ...Object.entries(BODIES), ...Object.entries(SHAPES)]);
  change(call, random, names);
  call.odd.push(name);
  // Two oddities at once show which of them is seen first. Faults of the stream stay alone: an answer may come before them.
  if (name in HEADS && !RACES.has(name) && random(4) === 0) {
    const [second, also] = pick(random, Object.entries(BODIES));
    also(call, random, names);
    call.odd.push(second);
  }
  return call;
}
