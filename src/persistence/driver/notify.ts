import pg from 'pg';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/telemetry.ts';
import { statementFailed } from './failures.ts';
import type { ClientPool } from './postgresql.ts';

/** Told to other instances after a write; they would find it by polling anyway. */
const CHANNEL = 'usher_policy_change';
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;
/** To be let in, and again to be told that it listens: a start waits for that, and so does whoever opens a stream. */
const ANSWER_MS = 2000;

export interface WakeOptions {
  url: string;
  clock: Clock;
  log: Logger;
}

/**
 * Tells other instances to look, outside any transaction (inside one, all of a server's notifying commits queue behind one
 * lock). At most one is under way; what comes meanwhile is told once, after it. `self` lets an instance know its own voice.
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

  /** Resolves when nothing is under way. */
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
        this.#log.debug({ err: error }, 'other instances were not told; they will see by themselves');
      }
    }
    this.#running = undefined;
  }
}

/**
 * Listens on a connection of its own and makes a new one, with growing pauses, when it is lost. After each new one `wake` is
 * called too: something may have been missed. Resolves once the first attempt has ended, either way; the answer ends it.
 */
export async function listen(options: WakeOptions, self: string, wake: () => void): Promise<() => Promise<void>> {
  return await listenTo(CHANNEL, options, {
    connected: wake,
    heard: (payload) => {
      if (payload !== self) wake();
    },
  });
}

/** What is done with what is heard. */
export interface Ear {
  heard(payload: string): void;
  /** After each new connection: something may have been missed. */
  connected(): void;
}

/** The same for any channel. */
export async function listenTo(channel: string, options: WakeOptions, ear: Ear): Promise<() => Promise<void>> {
  const listener = new Listener(channel, options, ear);
  await listener.connect();
  return () => listener.close();
}

class Listener {
  readonly #channel: string;
  readonly #options: WakeOptions;
  readonly #ear: Ear;
  #client: pg.Client | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  #cancelPause: (() => void) | undefined;
  #closed = false;

  constructor(channel: string, options: WakeOptions, ear: Ear) {
    this.#channel = channel;
    this.#options = options;
    this.#ear = ear;
  }

  async connect(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#options.url,
      application_name: 'usher-listen',
      connectionTimeoutMillis: ANSWER_MS,
      query_timeout: ANSWER_MS,
      keepAlive: true,
    });
    this.#client = client;
    client.on('notification', ({ payload }) => this.#ear.heard(payload ?? ''));
    client.on('error', (error) => this.#lost(client, error));
    client.on('end', () => this.#lost(client, undefined));
    try {
      await client.connect();
      // The channel is one of ours, never anybody's input.
      await client.query(`listen ${this.#channel}`);
      this.#pauseMs = FIRST_PAUSE_MS;
      if (this.#client === client) this.#ear.connected();
    } catch (error) {
      this.#lost(client, error);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelPause?.();
    const client = this.#client;
    this.#client = undefined;
    // A dead line would be waited for; nothing is owed to the server.
    client?.connection.stream.destroy();
    await client?.end();
  }

  #lost(client: pg.Client, error: unknown): void {
    if (this.#closed || this.#client !== client) return;
    this.#client = undefined;
    this.#options.log.debug(
      { err: error === undefined ? undefined : statementFailed(error) },
      'not listening just now',
    );
    client.connection.stream.destroy();
    const { clock } = this.#options;
    const pause = this.#pauseMs * (0.8 + 0.4 * clock.random());
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
    this.#cancelPause = clock.after(pause, () => void this.connect());
  }
}
