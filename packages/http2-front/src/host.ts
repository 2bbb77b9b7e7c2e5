import type { Behind } from './behind.ts';
import type { Outbound } from './outbound.ts';
import type { ConnectionGuesses } from './service.ts';
import type { FrontService } from './shared.ts';
import type { UnfinishedShare } from './unfinished.ts';

/** The connection, as its streams need it. */
export interface Host {
  readonly service: FrontService;
  readonly outbound: Outbound;
  readonly unfinished: UnfinishedShare;
  /** Null where wrong keys are not limited. */
  readonly guesses: ConnectionGuesses | null;
  /** Bytes that the connection may still make the service keep; infinite once a right was shown on it. */
  readonly room: number;
  /** Made when it is first needed. */
  behind(): Behind;
  /** A call was admitted. */
  prove(): void;
  /** Something costs as much as reading that many bytes. */
  spend(bytes: number): void;
  /** Runs what happens outside of a read; a fault of it ends the connection. */
  guard(work: () => void): void;
  /** Monotonic milliseconds. */
  now(): number;
  /** A stream was reset from here. Throws ConnectionFault when that happens too often. */
  countReset(): void;
  /** The last stream has ended. */
  idle(): void;
  /** A stream with a deadline was opened. */
  watchDeadline(deadline: number): void;
}
