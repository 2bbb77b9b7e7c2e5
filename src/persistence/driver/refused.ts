/** The database cannot be used as it is. `message` is one sentence for the operator; a start ends with it. */
export class Refused extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'Refused';
  }
}
