/** One connection to a service or an edge, shared by all calls. */

import { isIP } from 'node:net';
import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { Client, connectivityState, credentials, Metadata } from '@grpc/grpc-js';
import { Beginning, FIRST_MS } from './beginning.ts';
import { toUsherError, type UsherError } from './errors.ts';
import { malformed } from './faults.ts';
import { DEADLINE_MS, type Transport } from './transport.ts';
import type { AskOptions } from './types.ts';

export interface ConnectionOptions {
  /** `host:port`, or any target of gRPC such as `dns:///usher.internal:50051`. */
  readonly address: string;
  /** The key of this caller; without it none is sent. */
  readonly key?: string | undefined;
  /** Whether the connection is cleartext. By default it is to loopback, and TLS to everything else. */
  readonly plaintext?: boolean | undefined;
  /** The authority of the service's certificate, as PEM; without it those that Node.js knows. */
  readonly ca?: string | undefined;
  /** The certificate of this caller and its key, as PEM, where the service asks for one. */
  readonly certificate?: { readonly cert: string; readonly key: string } | undefined;
  /** Milliseconds for an answer, retries and connecting included. By default 500, without the time to connect for the first call. */
  readonly deadlineMs?: number | undefined;
}

const VERSION = '0.1.0';

/** While a call is UNAVAILABLE it is tried again, after a pause of random length, within its deadline. Questions only read. */
const SERVICE_CONFIG = {
  methodConfig: [
    {
      name: [{ service: 'usher.permission.v1.PermissionService' }],
      retryPolicy: {
        maxAttempts: 4,
        initialBackoff: '0.05s',
        maxBackoff: '0.2s',
        backoffMultiplier: 2,
        retryableStatusCodes: ['UNAVAILABLE'],
      },
    },
  ],
  // In an outage retries stop, instead of multiplying the load.
  retryThrottling: { maxTokens: 10, tokenRatio: 0.1 },
};

const CHANNEL = {
  'grpc.service_config': JSON.stringify(SERVICE_CONFIG),
  'grpc.primary_user_agent': `usher-typescript/${VERSION}`,
  // A dead peer is noticed within 15 s, also while nothing is asked.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5000,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 2000,
};

/** Throws InvalidQuestionError for what grpc-js cannot make a connection of. */
export function connectionTo(options: ConnectionOptions): Connection {
  try {
    return new Connection(options);
  } catch (error) {
    const field =
      options.ca === undefined && options.certificate === undefined ? 'address' : 'address, ca or certificate';
    throw malformed(field, `gRPC says: ${error instanceof Error ? error.message : String(error)}`, error);
  }
}

/** The fields of a message, or a message. */
type Init<M extends DescMethod> = MessageInitShape<M['input']>;

export class Connection implements Transport {
  readonly #client: Client;
  /** A call waits for the connection, until its deadline. */
  readonly #metadata = new Metadata({ waitForReady: true });
  /** Undefined: the usual one, without the time to connect. */
  readonly #deadlineMs: number | undefined;
  readonly #beginning: Beginning;

  constructor(options: ConnectionOptions) {
    const { address, key, deadlineMs } = options;
    const isClear = isCleartext(options);
    this.#client = new Client(address, isClear ? credentials.createInsecure() : tlsOf(options), CHANNEL);
    if (key !== undefined) this.#metadata.set('x-internal-api-key', key);
    this.#deadlineMs = deadlineMs;
    const asks = `is it the port of gRPC (50051 by default; REST has another, 8080), and does it speak ${isClear ? 'cleartext' : 'TLS'}?`;
    this.#beginning = new Beginning(address, asks);
  }

  /** Rejects with UsherError. */
  unary<M extends DescMethodUnary>(
    method: M,
    request: Init<M>,
    options?: AskOptions,
  ): Promise<MessageShape<M['output']>> {
    return this.written(method, encoded(method.input, request), options);
  }

  written<M extends DescMethodUnary>(
    method: M,
    bytes: Uint8Array,
    { deadlineMs = this.#deadlineMs, signal }: AskOptions = {},
  ): Promise<MessageShape<M['output']>> {
    if (deadlineMs !== undefined) return this.#call(method, bytes, deadlineMs, signal);
    if (this.#beginning.isOver) return this.#call(method, bytes, DEADLINE_MS, signal);
    return this.firstDeadline(signal).then((ms) => this.#call(method, bytes, ms, signal));
  }

  /** Milliseconds for a call, once it is known whether there is a connection: one that is refused is trouble, and no time to connect. */
  async firstDeadline(signal?: AbortSignal): Promise<number> {
    const channel = this.#client.getChannel();
    const until = Date.now() + FIRST_MS;
    for (let state = channel.getConnectivityState(true); ; state = channel.getConnectivityState(true)) {
      if (state === connectivityState.READY) return Math.max(DEADLINE_MS, until - Date.now());
      const isTrouble = state === connectivityState.TRANSIENT_FAILURE || state === connectivityState.SHUTDOWN;
      if (isTrouble || Date.now() >= until || signal?.aborted === true) return DEADLINE_MS;
      await new Promise<void>((resolve) => {
        const end = (): void => {
          signal?.removeEventListener('abort', end);
          resolve();
        };
        signal?.addEventListener('abort', end, { once: true });
        channel.watchConnectivityState(state, until, end);
      });
    }
  }

  /** Says, where nothing has ever answered, what may be the matter. */
  failure(error: unknown): UsherError {
    return this.#beginning.failure(toUsherError(error));
  }

  #call<M extends DescMethodUnary>(
    method: M,
    message: Uint8Array,
    deadlineMs: number,
    signal: AbortSignal | undefined,
  ): Promise<MessageShape<M['output']>> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(signal.reason);
        return;
      }
      const abort = () => call.cancel();
      const call = this.#client.makeUnaryRequest(
        pathOf(method),
        asBuffer,
        (bytes: Buffer) => fromBinary(method.output, bytes) as MessageShape<M['output']>,
        message,
        this.#metadata,
        { deadline: Date.now() + deadlineMs },
        (error, response) => {
          signal?.removeEventListener('abort', abort);
          if (error === null && response !== undefined) {
            this.#beginning.answered();
            resolve(response);
          } else reject(signal?.aborted === true ? signal.reason : this.failure(error));
        },
      );
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  stream<M extends DescMethodServerStreaming>(
    method: M,
    request: Init<M>,
    signal: AbortSignal,
  ): AsyncIterable<MessageShape<M['output']>> {
    const stream = this.#client.makeServerStreamRequest(
      pathOf(method),
      (message: Init<M>) => encoded(method.input, message),
      (bytes: Buffer) => fromBinary(method.output, bytes) as MessageShape<M['output']>,
      request,
      this.#metadata,
      {},
    );
    signal.addEventListener('abort', () => stream.cancel(), { once: true });
    return stream;
  }

  close(): void {
    this.#client.close();
  }
}

function isCleartext({ address, plaintext, ca }: ConnectionOptions): boolean {
  return plaintext ?? (ca === undefined && isLoopback(address));
}

function tlsOf({ ca, certificate }: ConnectionOptions) {
  const bytes = (pem: string | undefined) => (pem === undefined ? null : Buffer.from(pem));
  return credentials.createSsl(bytes(ca), bytes(certificate?.key), bytes(certificate?.cert));
}

/** Of `host:port`, `[::1]:port`, with or without the scheme of a target. */
function isLoopback(address: string): boolean {
  const host = address
    .replace(/^(?:dns|ipv4|ipv6):(?:\/\/)?\/?/, '')
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1');
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

function pathOf({ parent, name }: DescMethod): string {
  return `/${parent.typeName}/${name}`;
}

export function encoded<D extends DescMessage>(schema: D, message: MessageInitShape<D>): Buffer {
  return asBuffer(toBinary(schema, create(schema, message)));
}

/** The same bytes, as grpc-js takes them. */
function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
