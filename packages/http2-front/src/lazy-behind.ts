/** The connection to grpc-js of one client: made by the first call that needs it, and anew when grpc-js has ended it. */

import { Behind } from './behind.ts';
import { ErrorCode } from './frames.ts';
import type { Outbound } from './outbound.ts';
import type { Passing } from './passing.ts';
import type { ClientSocket, FrontService } from './shared.ts';

/** The client's connection. */
export interface BehindHost {
  readonly service: Pick<FrontService, 'inject'>;
  readonly outbound: Outbound;
  readonly streams: { readonly passing: Passing; abandon(): void };
  /** Runs what happens outside of a read; a fault of it ends the connection. */
  guard(work: () => void): void;
  /** Ends the client's connection. */
  fail(errorCode: number): void;
}

export class LazyBehind {
  readonly #socket: ClientSocket;
  readonly #host: BehindHost;
  #behind: Behind | null = null;

  constructor(socket: ClientSocket, host: BehindHost) {
    this.#socket = socket;
    this.#host = host;
  }

  /** Null as long as no call has needed it. */
  get open(): Behind | null {
    return this.#behind;
  }

  get(): Behind {
    // Apart from the making, whose closures would cost an allocation each time.
    return this.#behind ?? this.#make();
  }

  /** The client has left. */
  end(): void {
    this.#behind?.end();
    this.#behind = null;
  }

  #make(): Behind {
    const { service, outbound, streams } = this.#host;
    const { passing } = streams;
    const guard = (work: () => void): void => this.#host.guard(work);
    const made: Behind = new Behind(service.inject, this.#socket, outbound.initialWindow, {
      onHeaders: (id, ...rest) => guard(() => passing.onHeaders(id, ...rest)),
      onData: (id, ...rest) => guard(() => passing.onData(id, ...rest)),
      onReset: (id, errorCode) => guard(() => passing.onReset(id, errorCode)),
      onWindowUpdate: (id, increment) => passing.onWindowUpdate(id, increment),
      onInitialWindow: (size) => passing.onInitialWindow(size),
      onGoaway: (errorCode) => {
        // Of a client that is too much for grpc-js, all calls are too many; any other fault is that of one call.
        if (errorCode === ErrorCode.ENHANCE_YOUR_CALM) this.#host.fail(errorCode);
        else this.#abandon(made);
      },
      onClose: () => this.#abandon(made),
      isFull: () => outbound.isFull,
    });
    this.#behind = made;
    return made;
  }

  /** Its calls are over; the next one gets another connection. */
  #abandon(made: Behind): void {
    if (this.#behind !== made) return;
    this.#host.guard(() => this.#host.streams.abandon());
    this.end();
  }
}
