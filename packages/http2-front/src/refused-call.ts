/** What the front refuses by itself. The service has the words for the caller (`CallErrors`). */

export type Reason =
  /** A header has a control character in its value. */
  | 'unreadable'
  /** Several keys were sent. */
  | 'several keys'
  /** Too many calls of methods that are open to everybody. */
  | 'open calls'
  /** Too many bytes of messages that are not whole. */
  | 'unfinished bytes'
  /** A message is too long. */
  | 'too long'
  /** The message did not come in time. */
  | 'too late';

export class RefusedCall extends Error {
  readonly reason: Reason;

  constructor(reason: Reason, message: string = reason) {
    super(message);
    this.name = 'RefusedCall';
    this.reason = reason;
  }
}
