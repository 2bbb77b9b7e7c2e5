/**
 * Transactions that end with their caller: a session that is opened inside of `endedWith` sends nothing once the signal is aborted,
 * and has the server end what is under way (docs/reference/http.md#callers-that-leave).
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import pg from 'pg';

/** What ends a session. */
interface Ending {
  readonly signal: AbortSignal;
  /** Whether it lets everything else go first, where there is only one session. */
  readonly last: boolean;
}

const ENDING = new AsyncLocalStorage<Ending>();

/** Runs a transaction that writes nothing, and may be broken off. */
export function endedWith<T>(ending: Ending, run: () => Promise<T>): Promise<T> {
  return ENDING.run(ending, run);
}

/** What ends the session that is being opened; undefined where nothing does. */
export function endOfSession(): Ending | undefined {
  return ENDING.getStore();
}

/** What pg keeps of a connection; its types lack some. `processID` and `secretKey` are what the server gave it to cancel with. */
export interface Cancelable {
  readonly host: string;
  readonly port: number;
  readonly ssl: unknown;
  readonly sslNegotiation?: 'postgres' | 'direct';
  readonly processID?: number | null;
  readonly secretKey?: number | null;
}

/** pg's own connection below its client, as far as a request to cancel needs it. */
interface Wire {
  connect(port: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processId: number, secretKey: number): void;
  on(event: 'connect' | 'sslconnect' | 'end', listener: () => void): void;
  on(event: 'error', listener: (error: Error) => void): void;
  readonly stream: { destroy(): void };
}

const CANCEL_MS = 2000;

/**
 * Asks the server to end what that connection is doing (PostgreSQL's protocol, "Canceling Requests in Progress"), by a connection
 * of its own, which counts for no limit of the server; a pooler passes it on. Whether it came in time only the statement tells.
 * Never rejects: resolves when the request was taken, or could not be made.
 */
export function cancelStatement(client: Cancelable): Promise<void> {
  const { host, port, ssl, sslNegotiation = 'postgres', processID, secretKey } = client;
  if (processID == null || secretKey == null) return Promise.resolve();
  const wire = new pg.Connection({ ssl, sslNegotiation } as never) as unknown as Wire;
  return new Promise((resolve) => {
    const timer = setTimeout(() => wire.stream.destroy(), CANCEL_MS);
    const over = (): void => {
      clearTimeout(timer);
      resolve();
    };
    // The server answers nothing and closes.
    wire.on('end', over);
    wire.on('error', () => wire.stream.destroy());
    const ask = (): void => wire.cancel(processID, secretKey);
    wire.on('connect', () => {
      if (!ssl) ask();
      else if (sslNegotiation !== 'direct') wire.requestSsl();
    });
    wire.on('sslconnect', ask);
    if (host.startsWith('/')) wire.connect(`${host}/.s.PGSQL.${port}`);
    else wire.connect(port, host);
  });
}
