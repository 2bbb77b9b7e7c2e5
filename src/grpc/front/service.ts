/** What the front answers: the methods whose callers wait for microseconds, or are many. */

import type { Duplex } from 'node:stream';
import type { Authorize, Handle } from '../bridge.ts';
import type { WaitingCalls } from '../waiting.ts';

/** A unary method that the front answers itself. */
export interface FrontMethod {
  /** Its place in METHODS. */
  readonly index: number;
  readonly handle: Handle;
  readonly authorize: Authorize;
}

/** By path, `/usher.permission.v1.PermissionService/Check`. */
export type FrontMethods = ReadonlyMap<string, FrontMethod>;

/** The service behind all connections of a listener. */
export interface FrontService {
  readonly methods: FrontMethods;
  /** The paths of every method that grpc-js has a handler of. */
  readonly served: ReadonlySet<string>;
  readonly calls: WaitingCalls;
  /** Hands a connection over to grpc-js. */
  readonly inject: (connection: Duplex) => void;
}
