import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { type Client, type ClientReadableStream, Metadata, type ServiceError } from '@grpc/grpc-js';
import {
  type Change,
  WatchRequestSchema,
  type WatchResponse,
  WatchResponseSchema,
} from '../../src/gen/usher/permission/v1/permission_pb.ts';
import { SERVICE } from '../grpc/support.ts';

/** A stream of Watch over gRPC that keeps what it was told. */
export class Watcher {
  readonly told: WatchResponse[] = [];
  readonly stream: ClientReadableStream<WatchResponse>;
  error: ServiceError | undefined;
  ended = false;
  #changed: () => void = () => undefined;

  constructor(client: Client, request: MessageInitShape<typeof WatchRequestSchema> | Buffer, key?: string) {
    const metadata = new Metadata();
    if (key !== undefined) metadata.set('x-internal-api-key', key);
    const bytes = Buffer.isBuffer(request)
      ? request
      : toBinary(WatchRequestSchema, create(WatchRequestSchema, request));
    this.stream = client.makeServerStreamRequest(
      `/${SERVICE}/Watch`,
      (message: Uint8Array) => Buffer.from(message),
      (message) => fromBinary(WatchResponseSchema, message),
      bytes,
      metadata,
    );
    this.stream.on('data', (message: WatchResponse) => {
      this.told.push(message);
      this.#changed();
    });
    this.stream.on('error', (error: ServiceError) => {
      this.error = error;
      this.ended = true;
      this.#changed();
    });
    this.stream.on('end', () => {
      this.ended = true;
      this.#changed();
    });
  }

  /** Every change so far, as `[case, value]`. */
  get changes(): unknown[] {
    return this.told.flatMap(({ changes }) => changes.map(shown));
  }

  get revision(): string {
    return this.told.at(-1)?.revision ?? '';
  }

  async until(holds: () => boolean, ms = 15_000): Promise<void> {
    const late = performance.now() + ms;
    while (!holds()) {
      const isLate = performance.now() > late || this.ended;
      if (isLate) throw new Error(`not told in time: ${JSON.stringify(this.changes)} ${this.error}`);
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#changed = resolve;
      const timer = setTimeout(resolve, 100);
      await promise;
      clearTimeout(timer);
    }
  }
}

function shown({ what }: Change): unknown {
  const { case: kind, value } = what;
  return kind === 'member' ? [kind, value.app, value.email] : [kind, value];
}
