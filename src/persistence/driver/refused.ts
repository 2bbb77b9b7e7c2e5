/** The database cannot be used in its present state. `message` is one sentence for the operator; the start ends with it. */
export class Refused extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'Refused';
  }
}

/** The same for a state that usually passes by itself: the database is away, starting, full, or a standby that lacks migrations. */
export class Unready extends Refused {}
