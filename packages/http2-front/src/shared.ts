/** What a connection of the front is given: its socket, and what all connections share. */

import type { Duplex } from 'node:stream';
import type { Addresses } from './behind.ts';
import { Guests } from './guests.ts';
import { RefusalBlocks } from './refusal.ts';
import type { Clock, Service } from './service.ts';
import { UnfinishedMessages } from './unfinished.ts';

/** The service behind all connections of a port, and what bounds them together. */
export interface FrontService extends Service {
  readonly guests: Guests;
  readonly unfinished: UnfinishedMessages;
  readonly refusals: RefusalBlocks;
}

export function frontService(service: Service): FrontService {
  return {
    ...service,
    guests: new Guests(() => service.refused.count('kept')),
    unfinished: new UnfinishedMessages(),
    refusals: new RefusalBlocks(service.requestId),
  };
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
