/** What a connection of the front is given: its socket, and the service behind it. */

import type { Duplex } from 'node:stream';
import type { Clock } from '../../base/clock.ts';
import type { ConnectionSlots } from '../../base/connection-slots.ts';
import type { Authorize, Handle } from '../bridge.ts';
import type { Guesses } from '../guesses.ts';
import type { GrpcRefused } from '../refused.ts';
import type { Entrance, Entrances } from '../served-methods.ts';
import type { UnfinishedMessages } from '../unfinished.ts';
import type { WaitingCalls } from '../waiting.ts';
import type { Addresses } from './behind.ts';
import type { Guests } from './guests.ts';
import type { RefusalBlocks } from './refusal.ts';

/** A unary method that the front answers itself. */
export interface FrontMethod extends Entrance {
  readonly handle: Handle;
  readonly authorize: Authorize;
}

/** By path, `/usher.permission.v1.PermissionService/Check`. */
export type FrontMethods = ReadonlyMap<string, FrontMethod>;

/** The service behind all connections of a listener. */
export interface FrontService {
  readonly methods: FrontMethods;
  /** Every method that grpc-js has a handler of. */
  readonly served: Entrances;
  readonly calls: WaitingCalls;
  readonly slots: ConnectionSlots;
  readonly guests: Guests;
  readonly unfinished: UnfinishedMessages;
  readonly refusals: RefusalBlocks;
  /** Null where wrong keys are not limited. */
  readonly guesses: Guesses | null;
  readonly refused: GrpcRefused;
  /** Hands a connection over to grpc-js. */
  readonly inject: (connection: Duplex) => void;
}

/** A socket of node:net or node:tls, or one in memory. */
export type ClientSocket = Duplex & Addresses;

export interface ConnectionParts {
  readonly socket: ClientSocket;
  readonly service: FrontService;
  readonly clock: Clock;
  /** Of frames that are read in a turn of the event loop. For tests. */
  readonly turnBytes?: number;
  /** Told once, when the first call is admitted. */
  readonly proved?: () => void;
  /** Told once, when the socket is closed. */
  readonly closed: () => void;
}
