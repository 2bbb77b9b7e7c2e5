/** The connection to another Usher, of which an edge asks facts and which answers what the edge cannot. */

import {
  type CallOptions,
  Client,
  type ClientReadableStream,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import type { Clock } from '../base/clock.ts';
import { isLoopbackHost } from '../base/ip-address.ts';
import { carried, inChild, SpanKind } from '../base/tracing.ts';
import { MAX_FACTS } from '../rpc/facts.ts';

export interface LinkOptions {
  /** `host:port`. */
  readonly address: string;
  /** Null where the upstream has no keys. */
  readonly key: string | null;
  /** A certificate authority as PEM; without it those that Node.js knows. */
  readonly ca?: string | undefined;
  /** Of this process, as PEM, where the upstream asks for one. */
  readonly certificate?: { readonly cert: string; readonly key: string } | undefined;
  /** Null: to loopback alone. */
  readonly plaintext: boolean | null;
  readonly clock: Clock;
}

/** What of a call goes along. */
export interface Along {
  /** Milliseconds from now. */
  readonly deadlineMs?: number;
  readonly requestId?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A dead connection is noticed by the calls that fail on it, or else by pings; attempts to connect are never far apart. */
const OPTIONS = {
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 2000,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1000,
  'grpc.enable_retries': 0,
  // Else variables of the environment would decide who hears the key (docs/reference/service.md#requests-that-leave).
  'grpc.enable_http_proxy': 0,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.max_receive_message_length': MAX_FACTS,
};
/** Without an answer for this long a client gives way to a new one: its next attempt to connect may be far off, or hang. */
const GIVE_UP_MS = 1500;

export class UpstreamLink {
  #options: LinkOptions;
  /** Replaced by others while calls were under way. */
  readonly #retired = new Set<Client>();
  readonly #calls = new WeakMap<Client, number>();
  #client: Client;
  #madeAt: number;
  #answeredAt: number;
  #closed = false;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#client = this.#connect();
    this.#madeAt = options.clock.monotonic();
    this.#answeredAt = this.#madeAt;
  }

  get address(): string {
    return this.#options.address;
  }

  /** Calls a method with an encoded message. Rejects with the ServiceError of grpc-js. */
  unary(path: string, request: Buffer, along: Along): Promise<Buffer> {
    const method = path.slice(1);
    const attributes = { 'rpc.system.name': 'grpc', 'rpc.method': method };
    return inChild(method, { kind: SpanKind.CLIENT, attributes }, () => this.#unary(path, request, along));
  }

  #unary(path: string, request: Buffer, { deadlineMs = 0, requestId, signal }: Along): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const options: CallOptions = { deadline: this.#options.clock.now() + deadlineMs };
      const made = this.#client;
      this.#began(made);
      const call = made.makeUnaryRequest(
        path,
        same,
        same,
        request,
        this.#metadata(requestId),
        options,
        (error, answer) => {
          this.#ended(made);
          signal?.removeEventListener('abort', cancel);
          if (error === null && answer !== undefined) {
            this.#answeredAt = this.#options.clock.monotonic();
            resolve(answer);
            return;
          }
          if (isTrouble(error)) this.#giveUp(made);
          // A service that refuses is there.
          else this.#answeredAt = this.#options.clock.monotonic();
          reject(error ?? new Error('no answer'));
        },
      );
      const cancel = () => call.cancel();
      signal?.addEventListener('abort', cancel, { once: true });
    });
  }

  /** Opens a stream of encoded messages. */
  stream(path: string, request: Buffer, requestId?: string): ClientReadableStream<Buffer> {
    const made = this.#client;
    this.#began(made);
    const stream = made.makeServerStreamRequest(path, same, same, request, this.#metadata(requestId), {});
    // The last event of a stream, however it ends.
    stream.once('status', () => this.#ended(made));
    return stream;
  }

  /** New calls bring this key, over new connections that trust this authority; calls under way end where they began. */
  renew({ key, ca }: Pick<LinkOptions, 'key' | 'ca'>): void {
    if (this.#closed) return;
    const isSameLine = ca === this.#options.ca;
    this.#options = { ...this.#options, key, ca };
    if (isSameLine) return;
    const before = this.#client;
    this.#client = this.#connect();
    this.#madeAt = this.#options.clock.monotonic();
    this.#retired.add(before);
    this.#closeIdle(before);
  }

  close(): void {
    this.#closed = true;
    this.#client.close();
    for (const client of this.#retired) client.close();
  }

  #began(client: Client): void {
    this.#calls.set(client, (this.#calls.get(client) ?? 0) + 1);
  }

  #ended(client: Client): void {
    this.#calls.set(client, (this.#calls.get(client) ?? 1) - 1);
    this.#closeIdle(client);
  }

  /** Closes a client that was replaced, with its last call. */
  #closeIdle(client: Client): void {
    if ((this.#calls.get(client) ?? 0) > 0 || !this.#retired.delete(client)) return;
    client.close();
  }

  #connect(): Client {
    const { address, ca, certificate, plaintext } = this.#options;
    const cleartext = plaintext ?? isLoopbackHost(hostOf(address));
    const secured = cleartext
      ? credentials.createInsecure()
      : credentials.createSsl(pem(ca), pem(certificate?.key), pem(certificate?.cert));
    return new Client(address, secured, OPTIONS);
  }

  #metadata(requestId: string | undefined): Metadata {
    const { key } = this.#options;
    const metadata = new Metadata();
    if (key !== null) metadata.set('x-internal-api-key', key);
    if (requestId !== undefined) metadata.set('x-request-id', requestId);
    for (const [name, value] of Object.entries(carried())) metadata.set(name, value);
    return metadata;
  }

  #giveUp(failed: Client): void {
    const now = this.#options.clock.monotonic();
    const silent = now - Math.max(this.#answeredAt, this.#madeAt);
    if (this.#closed || failed !== this.#client || silent < GIVE_UP_MS) return;
    this.#client = this.#connect();
    this.#madeAt = now;
    failed.close();
  }
}

/** Whether the service was not reached, as opposed to refusing. */
export function isTrouble(error: unknown): boolean {
  const { code } = error as Partial<ServiceError>;
  return (
    code === undefined || code === status.UNAVAILABLE || code === status.DEADLINE_EXCEEDED || code === status.CANCELLED
  );
}

function same(message: Buffer): Buffer {
  return message;
}

function pem(text: string | undefined): Buffer | null {
  return text === undefined ? null : Buffer.from(text);
}

/** Of `host:port` or `[::1]:port`. */
function hostOf(address: string): string {
  return address.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
}
