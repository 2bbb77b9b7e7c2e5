import { UsherError } from '../../base/errors.ts';

/** A decision that is answered as 403, with headers for the proxy that asked. */
export class Denial extends UsherError {
  readonly headers: Readonly<Record<string, string>>;

  constructor(message: string, headers: Readonly<Record<string, string>>) {
    super('FORBIDDEN', message);
    this.headers = headers;
  }
}
