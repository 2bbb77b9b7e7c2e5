import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/telemetry.ts';
import { sleep } from '../base/wait.ts';
import { listenTo, type WakeOptions } from './driver/notify.ts';
import type { ClientPool } from './driver/postgresql.ts';

/** A stream that was opened or ended at the instance `at`, which gave it that number. */
export interface StreamNews {
  readonly what: 'opened' | 'ended';
  readonly email: string;
  readonly at: string;
  readonly number: number;
  /** Its latest end, in seconds since the epoch; 0 for one that has ended. */
  readonly expiresAt: number;
}

/** The callbacks for signals from instances. */
export interface InboxCallbacks {
  /** Addresses whose inbox another instance changed. Null: signals may have been lost, so treat every inbox as changed. */
  changed(emails: readonly string[] | null): void;
  /** From other instances and this one: all receive all of them in the same order. */
  stream(news: StreamNews): void;
}

/**
 * Signals changed inboxes and opened streams to other instances. Only a shortcut to polling: a signal may be
 * lost, and the embedded database, with its one instance, sends none.
 */
export interface InboxSignals {
  /** The name of this instance in `StreamNews`. */
  readonly self: string;
  /** Call it after the commit. Never rejects, and does not wait. */
  tell(emails: readonly string[]): void;
  /** The same for a stream of this instance. */
  tellStream(news: Omit<StreamNews, 'at'>): void;
  /** The returned function stops it. */
  listen(ear: InboxCallbacks): Promise<() => Promise<void>>;
}

const CHANNEL = 'usher_inbox';
/** PostgreSQL accepts 8,000 bytes; addresses are ASCII. */
const MAX_PAYLOAD = 7500;
/** More pending addresses than this are signalled as "any inbox". */
const MAX_PENDING = 5000;
/** Milliseconds to collect streams: many are opened at once, and their signals are not urgent. */
const GATHER_MS = 20;

/** One database, one process: there are no other instances. */
export const noSignals: InboxSignals = {
  self: '',
  tell: () => undefined,
  tellStream: () => undefined,
  listen: () => Promise.resolve(() => Promise.resolve()),
};

export class PostgresSignals implements InboxSignals {
  readonly #pool: ClientPool;
  readonly #options: WakeOptions;
  readonly self: string;
  #pending = new Set<string>();
  #streams: string[] = [];
  #running: Promise<void> | undefined;

  constructor(pool: ClientPool, options: WakeOptions & { clock: Clock; log: Logger }) {
    this.#pool = pool;
    this.#options = options;
    this.self = options.clock.bytes(9).toString('base64url');
  }

  tell(emails: readonly string[]): void {
    for (const email of emails) this.#pending.add(email);
    this.#running ??= this.#run();
  }

  tellStream({ what, email, number, expiresAt }: Omit<StreamNews, 'at'>): void {
    // An address contains no colon (docs/reference/names.md#e-mail-addresses).
    this.#streams.push(`${what === 'opened' ? '+' : '-'}${number}:${expiresAt}:${email}`);
    this.#running ??= this.#run();
  }

  /** Resolves when no signal is in progress. */
  async idle(): Promise<void> {
    await this.#running;
  }

  listen(ear: InboxCallbacks): Promise<() => Promise<void>> {
    return listenTo(CHANNEL, this.#options, {
      connected: () => ear.changed(null),
      heard: (payload) => {
        const [at = '', emails, streams = ''] = payload.split(' ');
        if (at !== this.self && emails !== '') ear.changed(emails?.split(',') ?? null);
        for (const text of streams.split(',')) {
          const news = readNews(at, text);
          if (news !== null) ear.stream(news);
        }
      },
    });
  }

  async #run(): Promise<void> {
    while (this.#pending.size > 0 || this.#streams.length > 0) {
      if (this.#pending.size === 0) {
        await sleep(this.#options.clock, GATHER_MS);
      }
      const payloads = [...changesOf(this.self, this.#pending), ...packed(`${this.self}  `, this.#streams)];
      this.#pending = new Set();
      this.#streams = [];
      try {
        await this.#pool.query({
          text: 'select pg_notify($1, payload) from unnest($2::text[]) as p (payload)',
          values: [CHANNEL, payloads],
        });
      } catch (error) {
        this.#options.log.debug({ err: error }, 'other instances not notified; they will poll');
      }
    }
    this.#running = undefined;
  }
}

/** `SELF EMAIL,EMAIL`, and `SELF` alone for any inbox. */
function changesOf(self: string, emails: ReadonlySet<string>): string[] {
  return emails.size > MAX_PENDING ? [self] : packed(`${self} `, emails);
}

/** The texts after the prefix, separated by commas, in as few payloads as possible. */
function packed(prefix: string, texts: Iterable<string>): string[] {
  const payloads: string[] = [];
  let payload = '';
  for (const text of texts) {
    if (payload !== '' && payload.length + text.length < MAX_PAYLOAD) payload += `,${text}`;
    else {
      if (payload !== '') payloads.push(payload);
      payload = prefix + text;
    }
  }
  if (payload !== '') payloads.push(payload);
  return payloads;
}

function readNews(at: string, text: string): StreamNews | null {
  const [, sign, number, expiresAt, email] = /^([+-])(\d+):(\d+):(.+)$/.exec(text) ?? [];
  if (email === undefined) return null;
  return { what: sign === '+' ? 'opened' : 'ended', email, at, number: Number(number), expiresAt: Number(expiresAt) };
}
