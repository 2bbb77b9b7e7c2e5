/** The questions by the Connect protocol: over HTTP/1.1, for where gRPC does not get through. */

import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import {
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf';
import { Code, ConnectError, type Transport as Wire } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { BadRequestSchema, ErrorInfoSchema } from '../../../src/gen/google/rpc/error_details_pb.ts';
import { Beginning, FIRST_MS } from './beginning.ts';
import { errorOf, type UsherError } from './errors.ts';
import type { Faults, Members, Shape } from './faults.ts';
import { readDeadline, readKey, readSettings, readTls, readUrl } from './settings.ts';
import { DEADLINE_MS, type Transport } from './transport.ts';
import type { AskOptions } from './types.ts';

export interface ConnectTransportOptions {
  /** Of the gateway: `https://usher.example.com`. */
  readonly url: string;
  /** The key of this caller; without it none is sent. */
  readonly key?: string | undefined;
  /** The authority of the service's certificate, as PEM; without it those that Node.js knows. */
  readonly ca?: string | undefined;
  /** The certificate of this caller and its key, as PEM, where the service asks for one. */
  readonly certificate?: { readonly cert: string; readonly key: string } | undefined;
  /** Milliseconds for an answer, retries and connecting included. By default 500, without the time to connect for the first call. */
  readonly deadlineMs?: number | undefined;
}

/** Tries after the first, while the service is UNAVAILABLE and the deadline has not come. Questions only read. */
const MORE_TRIES = 3;
/** The pause before the first of them, in ms: doubled with each, of random length. */
const AGAIN_MS = 50;
const MOST_AGAIN_MS = 200;

const SHAPE: Shape = {
  name: 'what a transport is made with',
  members: ['url', 'key', 'ca', 'certificate', 'deadlineMs'],
  meant: { address: 'write url, of the gateway', plaintext: 'the scheme of url says so' },
};

/** For `createUsher({ transport })`. Throws InvalidQuestionError for options that it does not know or cannot read. */
export function connectTransport(options: ConnectTransportOptions): Transport {
  return new ConnectHttp(readSettings(options, 'options', SHAPE, settingsOf));
}

function settingsOf(members: Members, faults: Faults): ConnectTransportOptions {
  const key = readKey(members, faults);
  return { url: readUrl(members, faults), key, deadlineMs: readDeadline(members, faults), ...readTls(members, faults) };
}

class ConnectHttp implements Transport {
  readonly #wire: Wire;
  readonly #agent: HttpAgent;
  readonly #headers: Readonly<Record<string, string>>;
  /** Undefined: the usual one, without the time to connect. */
  readonly #deadlineMs: number | undefined;
  readonly #beginning: Beginning;

  constructor({ url, key, ca, certificate, deadlineMs }: ConnectTransportOptions) {
    const isTls = new URL(url).protocol === 'https:';
    const identity = certificate === undefined ? {} : certificate;
    const options = { keepAlive: true, ...(ca === undefined ? {} : { ca }), ...identity };
    this.#agent = isTls ? new HttpsAgent(options) : new HttpAgent({ keepAlive: true });
    this.#wire = createConnectTransport({ baseUrl: url, httpVersion: '1.1', nodeOptions: { agent: this.#agent } });
    this.#headers = key === undefined ? {} : { 'x-internal-api-key': key };
    this.#deadlineMs = deadlineMs;
    this.#beginning = new Beginning(url, 'is it the address of the gateway (port 8080 by default; gRPC has another)?');
  }

  async unary<M extends DescMethodUnary>(
    method: M,
    request: MessageInitShape<M['input']>,
    { deadlineMs = this.#deadlineMs, signal }: AskOptions = {},
  ): Promise<MessageShape<M['output']>> {
    const usual = this.#beginning.isOver ? DEADLINE_MS : FIRST_MS;
    const until = performance.now() + (deadlineMs ?? usual);
    for (let tries = 0; ; tries++) {
      signal?.throwIfAborted();
      try {
        // Connect tells whole milliseconds, and takes 0 for no deadline.
        const left = Math.max(1, Math.ceil(until - performance.now()));
        const { message } = await this.#wire.unary(method, signal, left, this.#headers, request);
        this.#beginning.answered();
        return message as MessageShape<M['output']>;
      } catch (thrown) {
        signal?.throwIfAborted();
        const error = this.#beginning.failure(toUsherError(thrown));
        const wait = Math.min(MOST_AGAIN_MS, AGAIN_MS * 2 ** tries) * (0.5 + Math.random() / 2);
        const mayRetry = error.code === 'UNAVAILABLE' && tries < MORE_TRIES && performance.now() + wait < until;
        if (!mayRetry) throw error;
        await pause(wait, undefined, { signal });
      }
    }
  }

  /** Connect writes each message itself. */
  async written<M extends DescMethodUnary>(
    method: M,
    bytes: Uint8Array,
    options?: AskOptions,
  ): Promise<MessageShape<M['output']>> {
    return await this.unary(method, fromBinary(method.input, bytes) as MessageInitShape<M['input']>, options);
  }

  async *stream<M extends DescMethodServerStreaming>(
    method: M,
    request: MessageInitShape<M['input']>,
    signal: AbortSignal,
  ): AsyncGenerator<MessageShape<M['output']>, void> {
    try {
      const { message } = await this.#wire.stream(method, signal, undefined, this.#headers, one(request));
      yield* message as AsyncIterable<MessageShape<M['output']>>;
    } catch (error) {
      throw toUsherError(error);
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}

async function* one<T>(request: T): AsyncGenerator<T> {
  yield request;
}

function toUsherError(thrown: unknown): UsherError {
  const error = ConnectError.from(thrown);
  const info = error.findDetails(ErrorInfoSchema).find(({ domain }) => domain === 'usher');
  const named = error.findDetails(BadRequestSchema).flatMap(({ fieldViolations }) => fieldViolations);
  return errorOf(error.rawMessage, {
    code: isOfConnection(error) ? 'UNAVAILABLE' : nameOf(error.code),
    info,
    named,
    requestId: error.metadata.get('x-request-id') ?? undefined,
    cause: thrown,
  });
}

/** Refused, cut, or without a name: Node.js's error, which has a text as code, and no answer of the service. */
function isOfConnection({ cause }: ConnectError): boolean {
  return typeof (cause as { code?: unknown } | undefined)?.code === 'string';
}

/** As gRPC writes it: Connect spells one of them otherwise. */
function nameOf(code: Code): string {
  if (code === Code.Canceled) return 'CANCELLED';
  return Code[code].replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase();
}
