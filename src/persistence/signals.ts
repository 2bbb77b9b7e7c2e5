import type { Clock } from '../clock.ts';
import type { Logger } from '../telemetry.ts';
import type { ClientPool } from './postgresql.ts';
import { listenTo, type WakeOptions } from './wake.ts';

/**
 * Tells other instances whose inbox is another now. Only ever faster than looking: a signal may be lost, and none comes from the
 * embedded database, which has one instance.
 */
export interface InboxSignals {
  /** After the commit. Never rejects, and does not wait. */
  tell(emails: readonly string[]): void;
  /** Calls `heard` for what other instances tell: null when anybody's may be. The answer ends it. */
  listen(heard: (emails: readonly string[] | null) => void): Promise<() => Promise<void>>;
}

const CHANNEL = 'usher_inbox';
/** PostgreSQL takes 8,000 bytes; addresses are ASCII. */
const MAX_PAYLOAD = 7500;
/** More than this that wait to be told are told as "anybody". */
const MAX_PENDING = 5000;

/** One database, one process: there is nobody to tell. */
export const noSignals: InboxSignals = {
  tell: () => undefined,
  listen: () => Promise.resolve(() => Promise.resolve()),
};

export class PostgresSignals implements InboxSignals {
  readonly #pool: ClientPool;
  readonly #options: WakeOptions;
  readonly #self: string;
  #pending = new Set<string>();
  #running: Promise<void> | undefined;

  constructor(pool: ClientPool, options: WakeOptions & { clock: Clock; log: Logger }) {
    this.#pool = pool;
    this.#options = options;
    this.#self = options.clock.bytes(9).toString('base64url');
  }

  tell(emails: readonly string[]): void {
    for (const email of emails) this.#pending.add(email);
    this.#running ??= this.#run();
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    await this.#running;
  }

  listen(heard: (emails: readonly string[] | null) => void): Promise<() => Promise<void>> {
    return listenTo(CHANNEL, this.#options, {
      connected: () => heard(null),
      heard: (payload) => {
        const [from, emails = ''] = payload.split(' ');
        if (from !== this.#self) heard(emails === '' ? null : emails.split(','));
      },
    });
  }

  async #run(): Promise<void> {
    while (this.#pending.size > 0) {
      const payloads = payloadsOf(this.#self, this.#pending);
      this.#pending = new Set();
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

function payloadsOf(self: string, emails: ReadonlySet<string>): string[] {
  if (emails.size > MAX_PENDING) return [self];
  const payloads: string[] = [];
  let payload = '';
  for (const email of emails) {
    if (payload !== '' && payload.length + email.length < MAX_PAYLOAD) payload += `,${email}`;
    else {
      if (payload !== '') payloads.push(payload);
      payload = `${self} ${email}`;
    }
  }
  payloads.push(payload);
  return payloads;
}
