/**
 * What each client asks, by the names of gRPC's interoperability tests (doc/interop-test-descriptions.md of grpc) where one fits
 * this service. A program of each language makes these calls with bytes as they are, and prints a line of JSON for each.
 */
import { create, type DescMessage, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { BulkCheckRequestSchema, CheckRequestSchema } from '../../src/gen/usher/permission/v1/permission_pb.ts';
import { SERVICE } from '../grpc/support.ts';

export interface Case {
  readonly name: string;
  readonly path: string;
  /** The message in hex. */
  readonly request: string;
  /** `unary`; `stream`: so many messages, then the call is canceled; `deadline`: a stream until the deadline; `parallel`: so many calls. */
  readonly kind: 'unary' | 'stream' | 'deadline' | 'parallel';
  readonly count: number;
  readonly timeoutMs: number;
  readonly key: 'good' | 'wrong';
  /** Of the caller; errors repeat it in their trailers. */
  readonly requestId: string;
  readonly gzip: boolean;
}

/** What a program says of a case. */
export interface Outcome {
  readonly name: string;
  /** The code of gRPC; 0 where the client itself ended a stream that went well. */
  readonly status: number;
  readonly messages: number;
  /** Bytes of the longest message. */
  readonly longest: number;
  readonly hasMessage: boolean;
  readonly hasDetails: boolean;
  readonly requestId: string;
}

const hex = <D extends DescMessage>(schema: D, message: MessageInitShape<D>): string =>
  Buffer.from(toBinary(schema, create(schema, message))).toString('hex');
const QUESTION = hex(CheckRequestSchema, { email: 'ann@example.com', app: 'shop', permission: 'orders.read' });
const MANY = Array.from({ length: 1000 }, (_, n) => `some.long.code.of.a.permission.that.nobody.has.${n}`);
const LARGE = hex(BulkCheckRequestSchema, { email: 'ann@example.com', app: 'shop', permissions: MANY });

function of(name: string, more: Partial<Case> = {}): Case {
  const usual = { kind: 'unary', count: 1, timeoutMs: 10_000, key: 'good', requestId: '', gzip: false } as const;
  return { name, path: `/${SERVICE}/Check`, request: QUESTION, ...usual, ...more };
}

export const CASES: readonly Case[] = [
  of('usual_unary'),
  of('empty_unary', { request: '', requestId: 'an-empty-call' }),
  of('large_unary', { path: `/${SERVICE}/BulkCheck`, request: LARGE }),
  of('client_compressed_unary', { gzip: true }),
  of('custom_metadata', { request: '7a0161', requestId: 'interop-custom-metadata' }),
  of('status_code_and_message', { request: '0a00', requestId: 'a-refused-call' }),
  of('unimplemented_method', { path: `/${SERVICE}/Nothing` }),
  of('unimplemented_service', { path: '/no.such.Service/Call' }),
  of('a_wrong_key', { key: 'wrong' }),
  of('health', { path: '/grpc.health.v1.Health/Check', request: '' }),
  of('concurrent_unary', { kind: 'parallel', count: 300 }),
  of('concurrent_large_unary', { path: `/${SERVICE}/BulkCheck`, request: LARGE, kind: 'parallel', count: 30 }),
  of('server_streaming', { path: `/${SERVICE}/Watch`, request: '', kind: 'stream', count: 3 }),
  of('cancel_after_begin', { path: `/${SERVICE}/Watch`, request: '', kind: 'stream', count: 0 }),
  of('cancel_after_first_response', { path: `/${SERVICE}/Watch`, request: '', kind: 'stream', count: 1 }),
  // Whether a client's message or its reset comes first is a race.
  ...Array.from({ length: 20 }, (_, n) => [
    of(`cancel_after_begin_${n}`, { path: `/${SERVICE}/Watch`, request: '', kind: 'stream', count: 0 }),
    of(`cancel_after_first_response_${n}`, { path: `/${SERVICE}/Watch`, request: '', kind: 'stream', count: 1 }),
  ]).flat(),
  of('timeout_on_sleeping_server', { path: `/${SERVICE}/Watch`, request: '', kind: 'deadline', timeoutMs: 1500 }),
];

const INVALID_ARGUMENT = 3;
const DEADLINE_EXCEEDED = 4;
const UNIMPLEMENTED = 12;
const UNAUTHENTICATED = 16;
const STATUS: Readonly<Record<string, number>> = {
  empty_unary: INVALID_ARGUMENT,
  custom_metadata: INVALID_ARGUMENT,
  status_code_and_message: INVALID_ARGUMENT,
  unimplemented_method: UNIMPLEMENTED,
  unimplemented_service: UNIMPLEMENTED,
  a_wrong_key: UNAUTHENTICATED,
  timeout_on_sleeping_server: DEADLINE_EXCEEDED,
};
const LARGE_ANSWER = 40_000;

/** What is wrong with an outcome; none for nothing. */
export function faultsOf({ name, kind, count, requestId }: Case, said: Outcome | undefined): string[] {
  if (said === undefined) return ['nothing was said of it'];
  const faults: string[] = [];
  const want = (holds: boolean, what: string) => {
    if (!holds) faults.push(what);
  };
  const status = STATUS[name] ?? 0;
  want(said.status === status, `status ${said.status} instead of ${status}`);
  if (kind === 'stream' || kind === 'parallel') want(said.messages === count, `${said.messages} messages of ${count}`);
  if (kind === 'deadline') want(said.messages > 0, 'no message before the deadline');
  if (name.includes('large')) want(said.longest > LARGE_ANSWER, `the longest message has ${said.longest} bytes`);
  if (status === INVALID_ARGUMENT || status === UNAUTHENTICATED) want(said.hasMessage && said.hasDetails, 'no reason');
  if (status === INVALID_ARGUMENT) want(said.requestId === requestId, `the request id ${said.requestId}`);
  return faults;
}
