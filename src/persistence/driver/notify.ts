import pg from 'pg';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/telemetry.ts';
import { statementFailed } from './failures.ts';
import type { ClientPool } from './postgresql.ts';
import { SESSION_NAME } from './session-settings.ts';

/** Wakes other instances after a write; they would also find it by polling. */
const CHANNEL = 'usher_policy_change';
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;
/** For the connection, and again for the answer to LISTEN: a start waits for these, and so does the opening of a stream. */
const ANSWER_MS = 2000;

export interface WakeOptions {
  url: string;
  clock: Clock;
  log: Logger;
}

/**
 * Wakes other instances, outside any transaction (inside one, all notifying commits of a server queue behind one
 * lock). One notification at a time; calls meanwhile share the next one. `self` lets an instance ignore its own notifications.
 */
export class Announcer {
  readonly #pool: ClientPool;
  readonly #log: Logger;
  readonly self: string;
  #again = false;
  #running: Promise<void> | undefined;

  constructor(pool: ClientPool, { clock, log }: WakeOptions) {
    this.#pool = pool;
    this.#log = log;
    this.self = clock.bytes(9).toString('base64url');
  }

  readonly tell = (): void => {
    this.#again = true;
    this.#running ??= this.#run();
  };

  /** Resolves when no notification is in progress. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      try {
        await this.#pool.query({
          name: 'usher_notify',
          text: 'select pg_notify($1, $2)',
          values: [CHANNEL, this.self],
        });
      } catch (error) {
        this.#log.debug({ err: error }, 'other instances not notified; they will poll');
      }
    }
    this.#running = undefined;
  }
}

/**
 * Listens on a connection of its own and replaces it, with growing pauses, when it is lost. Each new connection calls `wake`
 * too: notifications may have been missed. Resolves once the first attempt has ended, either way; the returned function stops it.
 */
export async function listen(options: WakeOptions, self: string, wake: () => void): Promise<() => Promise<void>> {
  return await listenTo(CHANNEL, options, {
    connected: wake,
    heard: (payload) => {
      if (payload !== self) wake();
    },
  });
}

/** The callbacks of a listener. */
export interface ListenerCallbacks {
  heard(payload: string): void;
  /** After each new connection: notifications may have been missed. */
  connected(): void;
}

/** The same for any channel. */
export async function listenTo(
  channel: string,
  options: WakeOptions,
  callbacks: ListenerCallbacks,
): Promise<() => Promise<void>> {
  const listener = new Listener(channel, options, callbacks);
  await listener.connect();
  return () => listener.close();
}

class Listener {
  readonly #channel: string;
  readonly #options: WakeOptions;
  readonly #callbacks: ListenerCallbacks;
  #client: pg.Client | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  #cancelPause: (() => void) | undefined;
  #closed = false;

  constructor(channel: string, options: WakeOptions, callbacks: ListenerCallbacks) {
    this.#channel = channel;
    this.#options = options;
    this.#callbacks = callbacks;
  }

  async connect(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#options.url,
      application_name: `${SESSION_NAME}-listen`,
      connectionTimeoutMillis: ANSWER_MS,
      query_timeout: ANSWER_MS,
      keepAlive: true,
    });
    this.#client = client;
    client.on('notification', ({ payload }) => this.#callbacks.heard(payload ?? ''));
    client.on('error', (error) => this.#lost(client, error));
    client.on('end', () => this.#lost(client, undefined));
    try {
      await client.connect();
      // The channel is a constant, never input.
      await client.query(`listen ${this.#channel}`);
      this.#pauseMs = FIRST_PAUSE_MS;
      if (this.#client === client) this.#callbacks.connected();
    } catch (error) {
      this.#lost(client, error);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelPause?.();
    const client = this.#client;
    this.#client = undefined;
    // `end` would wait for a dead connection; nothing needs to be sent to the server.
    client?.connection.stream.destroy();
    await client?.end();
  }

  #lost(client: pg.Client, error: unknown): void {
    if (this.#closed || this.#client !== client) return;
    this.#client = undefined;
    this.#options.log.debug(
      { err: error === undefined ? undefined : statementFailed(error) },
      'database listener disconnected; reconnecting',
    );
    client.connection.stream.destroy();
    const { clock } = this.#options;
    const pause = this.#pauseMs * (0.8 + 0.4 * clock.random());
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
    this.#cancelPause = clock.after(pause, () => void this.connect());
  }
}
