/** What the front answers: the methods whose callers wait for microseconds. */

import type { Duplex } from 'node:stream';
import type { Authorize, Handle } from '../bridge.ts';
import type { WaitingCalls } from '../waiting.ts';

/** A unary method that the front answers itself. */
export interface FrontMethod {
  /** Its place in METHODS. */
  readonly index: number;
  readonly handle: Handle;
}

/** The service behind all connections of a listener. */
export interface FrontService {
  /** By path, `/usher.permission.v1.PermissionService/Check`. */
  readonly methods: ReadonlyMap<string, FrontMethod>;
  /** The paths of every method that grpc-js has a handler of. */
  readonly served: ReadonlySet<string>;
  readonly authorize: Authorize;
  readonly calls: WaitingCalls;
  /** Hands a connection over to grpc-js. */
  readonly inject: (connection: Duplex) => void;
}
