/** What the gRPC port refuses, by kind. */

import type { Clock } from '../base/clock.ts';
import { RefusedCounts } from '../base/refused-counts.ts';
import type { Logger } from '../base/telemetry.ts';

/** Why something is refused. */
export const REFUSED = {
  /** A call without a key, or with a wrong one. */
  KEY: 'key',
  /** A call on a connection, or from an address, that has guessed too many keys. */
  GUESSES: 'guesses',
  /** A call whose message, or whose unfinished bytes with others', are too many. */
  BYTES: 'bytes',
  /** A call whose message did not come in time. */
  LATE: 'late',
  /** A connection for which there was no room, or that had to give way: on none of these a right key was shown. */
  CONNECTIONS: 'connections',
  /** A connection on which no right key was shown, for what it made the service keep. */
  KEPT: 'kept',
  /** The same, for it did nothing. */
  IDLE: 'idle',
} as const;
export type Refused = (typeof REFUSED)[keyof typeof REFUSED];

export type GrpcRefused = RefusedCounts<Refused>;

export function countRefused(log: Logger, clock: Clock): GrpcRefused {
  return new RefusedCounts('gRPC port: refused', Object.values(REFUSED), { log, clock });
}
