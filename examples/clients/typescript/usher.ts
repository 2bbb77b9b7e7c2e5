import { readFileSync } from 'node:fs';
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { ErrorInfoSchema } from './gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from './gen/google/rpc/status_pb.ts';
import { PermissionService } from './gen/usher/permission/v1/permission_pb.ts';

/** While a call is UNAVAILABLE it is retried, with back-off, within its deadline. Questions only read, so a second try is safe. */
const SERVICE_CONFIG = {
  methodConfig: [
    {
      name: [{ service: PermissionService.typeName }],
      retryPolicy: {
        maxAttempts: 3,
        initialBackoff: '0.05s',
        maxBackoff: '0.2s',
        backoffMultiplier: 2,
        retryableStatusCodes: ['UNAVAILABLE'],
      },
    },
  ],
  // During an outage retries stop, instead of tripling the load.
  retryThrottling: { maxTokens: 10, tokenRatio: 0.1 },
};

/** Where the service is and how to speak to it. */
export interface UsherOptions {
  /** host:port, or any gRPC target such as dns:///usher.internal:50051. */
  readonly address: string;
  /** The internal API key, where the service has any. */
  readonly key?: string | undefined;
  /** File with the certificate authority of the service, in PEM. Without it the connection is cleartext: loopback only. */
  readonly caFile?: string | undefined;
  /** How long one call may take, its retries included. */
  readonly deadlineMs: number;
}

/** Why there is no answer. `reason` is stable (google.rpc.ErrorInfo, else the name of the gRPC status); `message` is for people. */
export interface Failure {
  readonly reason: string;
  readonly message: string;
}

/** An answer, or a failure beside an empty message, which reads as "denied". */
export interface Answer<T> {
  readonly response: T;
  readonly failure: Failure | null;
}

/** The permission service. Make one for the whole process: it holds one connection, shared by all calls. */
export class Usher {
  readonly #client: Client;
  readonly #metadata = new Metadata();
  readonly #deadlineMs: number;

  constructor(options: UsherOptions) {
    const security = options.caFile
      ? credentials.createSsl(readFileSync(options.caFile))
      : credentials.createInsecure();
    this.#client = new Client(options.address, security, {
      'grpc.service_config': JSON.stringify(SERVICE_CONFIG),
      // A dead peer is noticed within 35 s, also while nothing is asked; without pings the next calls would wait in vain.
      'grpc.keepalive_time_ms': 30_000,
      'grpc.keepalive_timeout_ms': 5_000,
      'grpc.keepalive_permit_without_calls': 1,
    });
    if (options.key) this.#metadata.set('x-internal-api-key', options.key);
    this.#deadlineMs = options.deadlineMs;
  }

  /** Waits for the first connection, so that the deadline of the first question is not spent on it. Rejects after `timeoutMs`. */
  ready(timeoutMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#client.waitForReady(Date.now() + timeoutMs, (error) => (error ? reject(error) : resolve()));
    });
  }

  check(question: MessageInitShape<typeof PermissionService.method.check.input>) {
    return this.#ask(PermissionService.method.check, question);
  }

  bulkCheck(question: MessageInitShape<typeof PermissionService.method.bulkCheck.input>) {
    return this.#ask(PermissionService.method.bulkCheck, question);
  }

  effective(question: MessageInitShape<typeof PermissionService.method.effective.input>) {
    return this.#ask(PermissionService.method.effective, question);
  }

  close(): void {
    this.#client.close();
  }

  /** Never rejects. An error is not an answer: the person is denied for this request, by a response that grants nothing. */
  #ask<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    question: MessageInitShape<I>,
  ): Promise<Answer<MessageShape<O>>> {
    return new Promise((resolve) => {
      this.#client.makeUnaryRequest(
        `/${method.parent.typeName}/${method.name}`,
        (message: MessageShape<I>) => Buffer.from(toBinary(method.input, message)),
        (bytes: Buffer) => fromBinary(method.output, bytes),
        create(method.input, question),
        this.#metadata,
        { deadline: Date.now() + this.#deadlineMs },
        (error, response) => {
          if (error || !response) resolve({ response: create(method.output), failure: toFailure(error) });
          else resolve({ response, failure: null });
        },
      );
    });
  }
}

function toFailure(error: ServiceError | null): Failure {
  if (!error) return { reason: 'INTERNAL', message: 'the service answered nothing' };
  const fallback = { reason: status[error.code], message: error.details };
  const [bytes] = error.metadata.get('grpc-status-details-bin');
  if (!(bytes instanceof Buffer)) return fallback;
  try {
    for (const detail of fromBinary(StatusSchema, bytes).details) {
      const info = anyUnpack(detail, ErrorInfoSchema);
      if (info?.domain === 'usher') return { reason: info.reason, message: error.details };
    }
  } catch {
    // Details that cannot be read only cost the precise reason: the call has failed all the same.
  }
  return fallback;
}
