import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2';
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import {
  type CallOptions,
  type ChannelCredentials,
  type ChannelOptions,
  Client,
  credentials,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js';
import { createLogger } from '../../src/base/telemetry.ts';
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from '../../src/gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../src/gen/google/rpc/status_pb.ts';
import {
  BatchCheckRequestSchema,
  BatchCheckResponseSchema,
  BulkCheckRequestSchema,
  BulkCheckResponseSchema,
  CheckRequestSchema,
  CheckResponseSchema,
  EffectiveRequestSchema,
  EffectiveResponseSchema,
  ExplainRequestSchema,
  ExplainResponseSchema,
} from '../../src/gen/usher/permission/v1/permission_pb.ts';
import { GrpcMetrics } from '../../src/grpc/metrics.ts';
import { createGrpcServer, type GrpcServer, type GrpcServerOptions } from '../../src/grpc/server.ts';
import { ScriptedEngine } from './scripted-engine.ts';

export const SERVICE = 'usher.permission.v1.PermissionService';

export const METHOD = {
  Check: { input: CheckRequestSchema, output: CheckResponseSchema },
  BulkCheck: { input: BulkCheckRequestSchema, output: BulkCheckResponseSchema },
  Effective: { input: EffectiveRequestSchema, output: EffectiveResponseSchema },
  BatchCheck: { input: BatchCheckRequestSchema, output: BatchCheckResponseSchema },
  Explain: { input: ExplainRequestSchema, output: ExplainResponseSchema },
} as const;
export type MethodName = keyof typeof METHOD;

/** A question that fits, to be changed in one place. */
export const QUESTION = { email: 'kim@example.com', app: 'billing', permission: 'edit' };
export const SUBJECT = { email: 'kim@example.com', app: 'billing' };

/** `GRPC_FRONT=false` runs the tests of the port without the front. */
export const FRONT = process.env.GRPC_FRONT !== 'false';

export interface Door {
  engine: ScriptedEngine;
  server: GrpcServer;
  metrics: GrpcMetrics;
  port: number;
  /** Everything logged, as one text. */
  logged(): string;
}

const started: { server: GrpcServer; clients: { close(): void }[] }[] = [];

/** A door over a scripted engine on a free port, open until `closeDoors`. */
export async function openDoor(options: Partial<GrpcServerOptions> = {}): Promise<Door> {
  const engine = new ScriptedEngine();
  const metrics = new GrpcMetrics();
  let text = '';
  const log = createLogger('trace', {
    write(line: string) {
      text += line;
    },
  });
  const server = createGrpcServer({
    engine,
    authorize: () => undefined,
    host: '127.0.0.1',
    port: 0,
    reflection: false,
    front: FRONT,
    log,
    metrics,
    ...options,
    times: { drainMs: 2000, ...options.times },
  });
  started.push({ server, clients: [] });
  const { port } = await server.start();
  server.setServing(true);
  return { engine, server, metrics, port, logged: () => text };
}

/** For `afterEach`: closes every client, then every door. */
export async function closeDoors(): Promise<void> {
  for (const { server, clients } of started.splice(0)) {
    for (const client of clients) client.close();
    await server.drain();
  }
}

/** Anything to be closed before the doors are. */
export function closeLater<T extends { close(): void }>(client: T): T {
  started.at(-1)?.clients.push(client);
  return client;
}

export function openClient(
  port: number,
  channel: ChannelCredentials = credentials.createInsecure(),
  options: ChannelOptions = {},
): Client {
  return closeLater(new Client(`127.0.0.1:${port}`, channel, { 'grpc.use_local_subchannel_pool': 1, ...options }));
}

export interface Answer<D extends DescMessage> {
  message: MessageShape<D>;
  headers: Metadata;
  trailers: Metadata;
}

/** A call as a client of protobuf-es makes it. Rejects with grpc-js's ServiceError. */
export function call<M extends MethodName>(
  client: Client,
  method: M,
  request: MessageInitShape<(typeof METHOD)[M]['input']>,
  { metadata = {}, ...options }: CallOptions & { metadata?: Record<string, string> } = {},
): Promise<Answer<(typeof METHOD)[M]['output']>> & { cancel(): void } {
  type Input = (typeof METHOD)[M]['input'];
  const { input, output } = METHOD[method];
  const bytes = toBinary(input as Input, create(input as Input, request));
  return send(client, method, Buffer.from(bytes), metadata, options, (answer) => fromBinary(output, answer)) as never;
}

/** As `call`, with bytes of our own, and of any unary method. */
export function callBytes(client: Client, method: string, bytes: Uint8Array, metadata: Record<string, string> = {}) {
  return send(client, method, Buffer.from(bytes), metadata, {}, (answer) => answer);
}

function send<T>(
  client: Client,
  method: string,
  bytes: Buffer,
  given: Record<string, string>,
  options: CallOptions,
  read: (answer: Buffer) => T,
): Promise<{ message: T; headers: Metadata; trailers: Metadata }> & { cancel(): void } {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(given)) metadata.set(name, value);
  let cancel = () => {};
  const answered = new Promise<{ message: T; headers: Metadata; trailers: Metadata }>((resolve, reject) => {
    let headers = new Metadata();
    let message: T;
    const running = client.makeUnaryRequest(
      `/${SERVICE}/${method}`,
      (request: Buffer) => request,
      read,
      bytes,
      metadata,
      options,
      (error, answer) => {
        if (error) reject(error);
        else message = answer as T;
      },
    );
    running.on('metadata', (received) => {
      headers = received;
    });
    running.on('status', ({ code, metadata: trailers }) => {
      if (code === 0) resolve({ message, headers, trailers });
    });
    cancel = () => running.cancel();
  });
  return Object.assign(answered, { cancel });
}

/** The error that a call ends in. Fails when it does not. */
export async function failureOf(running: Promise<unknown>): Promise<ServiceError> {
  try {
    await running;
  } catch (error) {
    return error as ServiceError;
  }
  throw new Error('the call was answered');
}

/** What `grpc-status-details-bin` holds. */
export function detailsOf(metadata: Metadata) {
  const bytes = metadata.get('grpc-status-details-bin')[0];
  if (!Buffer.isBuffer(bytes)) throw new Error('no status details');
  return readDetails(bytes);
}

export function readDetails(bytes: Uint8Array) {
  const status = fromBinary(StatusSchema, bytes);
  const unpack = <D extends DescMessage>(schema: D) =>
    status.details.map((any) => anyUnpack(any, schema)).find((one) => one !== undefined);
  const info = unpack(ErrorInfoSchema);
  return {
    code: status.code,
    message: status.message,
    reason: info?.reason,
    domain: info?.domain,
    metadata: info?.metadata,
    violations: unpack(BadRequestSchema)?.fieldViolations.map(({ field, description }) => ({ field, description })),
    retrySeconds: unpack(RetryInfoSchema)?.retryDelay?.seconds,
    kinds: status.details.map((any) => any.typeUrl),
  };
}

/** Code, reason and violations of a failed call at once. */
export async function refusalOf(running: Promise<unknown>) {
  const error = await failureOf(running);
  return { status: error.code, text: error.details, trailers: error.metadata, ...detailsOf(error.metadata) };
}

/** One gRPC message as it goes over the wire. */
export function framed(message: Uint8Array, flag = 0): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flag, 0);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

export interface RawAnswer {
  headers: IncomingHttpHeaders;
  trailers: IncomingHttpHeaders;
  body: Buffer;
  /** From the trailers, or from the headers where those are all there is. */
  status: string | undefined;
}

/** A client that sends what no library would. */
export class RawClient {
  readonly session: ClientHttp2Session;

  constructor(port: number) {
    this.session = connect(`http://127.0.0.1:${port}`);
    this.session.on('error', () => {});
  }

  /** `headers` over the usual ones; a value of undefined leaves one out. */
  request(
    path: string,
    body: Uint8Array | null,
    headers: Record<string, string | string[] | undefined> = {},
  ): Promise<RawAnswer> {
    return new Promise((resolve, reject) => {
      const usual = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' };
      const all = Object.fromEntries(
        Object.entries({ ...usual, ...headers }).filter(([, value]) => value !== undefined),
      );
      const stream = this.session.request(all);
      const chunks: Buffer[] = [];
      let head: IncomingHttpHeaders = {};
      let trailers: IncomingHttpHeaders = {};
      stream.on('response', (received) => {
        head = received;
      });
      stream.on('trailers', (received) => {
        trailers = received;
      });
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('error', reject);
      stream.on('close', () => {
        const status = (trailers['grpc-status'] ?? head['grpc-status']) as string | undefined;
        resolve({ headers: head, trailers, body: Buffer.concat(chunks), status });
      });
      if (body === null) stream.end();
      else stream.end(body);
    });
  }

  check(message: Uint8Array, headers: Record<string, string | string[] | undefined> = {}): Promise<RawAnswer> {
    return this.request(`/${SERVICE}/Check`, framed(message), headers);
  }

  close(): void {
    this.session.destroy();
  }
}

export function openRaw(port: number): RawClient {
  return closeLater(new RawClient(port));
}

export function encodeCheck(question: MessageInitShape<typeof CheckRequestSchema> = QUESTION): Uint8Array {
  return toBinary(CheckRequestSchema, create(CheckRequestSchema, question));
}
