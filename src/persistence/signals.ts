import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/telemetry.ts';
import { listenTo, type WakeOptions } from './driver/notify.ts';
import type { ClientPool } from './driver/postgresql.ts';

/** A stream that somebody opened, or that ended, at the instance `at`, which gave it that number. */
export interface StreamNews {
  readonly what: 'opened' | 'ended';
  readonly email: string;
  readonly at: string;
  readonly number: number;
  /** When it ends at the latest, in seconds since the epoch; 0 for one that has ended. */
  readonly expiresAt: number;
}

/** What is done with what instances tell. */
export interface InboxEar {
  /** Whose inbox is another, as another instance says: null when anybody's may be, and signals may have been missed. */
  changed(emails: readonly string[] | null): void;
  /** Of other instances and of this one: all hear all of it in the same order. */
  stream(news: StreamNews): void;
}

/**
 * Tells other instances whose inbox is another now, and who opens streams where. Only ever faster than looking: a signal may be
 * lost, and none comes from the embedded database, which has one instance.
 */
export interface InboxSignals {
  /** The name of this instance in `StreamNews`. */
  readonly self: string;
  /** After the commit. Never rejects, and does not wait. */
  tell(emails: readonly string[]): void;
  /** The same for a stream of this instance. */
  tellStream(news: Omit<StreamNews, 'at'>): void;
  /** The answer ends it. */
  listen(ear: InboxEar): Promise<() => Promise<void>>;
}

const CHANNEL = 'usher_inbox';
/** PostgreSQL takes 8,000 bytes; addresses are ASCII. */
const MAX_PAYLOAD = 7500;
/** More than this that wait to be told are told as "anybody". */
const MAX_PENDING = 5000;
/** Milliseconds: streams are opened many at once, and nobody waits to hear of one. */
const GATHER_MS = 20;

/** One database, one process: there is nobody to tell. */
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
    // An address holds no colon (docs/reference/names.md#e-mail-addresses).
    this.#streams.push(`${what === 'opened' ? '+' : '-'}${number}:${expiresAt}:${email}`);
    this.#running ??= this.#run();
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    await this.#running;
  }

  listen(ear: InboxEar): Promise<() => Promise<void>> {
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
        await new Promise<void>((resolve) => void this.#options.clock.after(GATHER_MS, resolve));
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
        this.#options.log.debug({ err: error }, 'other instances were not told; they will see by themselves');
      }
    }
    this.#running = undefined;
  }
}

/** `SELF EMAIL,EMAIL`, and `SELF` alone for anybody. */
function changesOf(self: string, emails: ReadonlySet<string>): string[] {
  return emails.size > MAX_PENDING ? [self] : packed(`${self} `, emails);
}

/** The texts behind the prefix, parted by commas, in as few payloads as they fit into. */
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
