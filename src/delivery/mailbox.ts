/**
 * The development mailbox (docs/reference/notifications.md#development-mailbox): mail of brands without an SMTP server is kept in
 * dataDir, one file a mail. It holds codes and links, so it does not exist in production.
 */

import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { codeOf } from '../base/members.ts';
import type { ComposedMail } from './message.ts';

export interface KeptMail extends ComposedMail {
  id: string;
  /** ISO 8601, UTC. */
  at: string;
}

/** Older mails are deleted. */
const MAX_MAILS = 200;
/** The time comes first, so that names sort by time. */
const ID = /^\d{15}-[0-9a-f]{8}$/;

export class Mailbox {
  readonly #directory: string;
  readonly #clock: Clock;

  constructor(dataDir: string, clock: Clock) {
    this.#directory = join(dataDir, 'mailbox');
    this.#clock = clock;
  }

  /** Resolves with the mail's id once the file exists. */
  async keep(mail: ComposedMail): Promise<string> {
    const now = this.#clock.now();
    const id = `${String(now).padStart(15, '0')}-${this.#clock.bytes(4).toString('hex')}`;
    const kept: KeptMail = { id, at: new Date(now).toISOString(), ...mail };
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    // A rename makes the file appear complete to concurrent readers.
    const draft = join(this.#directory, `${id}.tmp`);
    await writeFile(draft, JSON.stringify(kept, null, 2), { mode: 0o600 });
    await rename(draft, join(this.#directory, `${id}.json`));
    const surplus = (await this.#ids()).slice(MAX_MAILS);
    await Promise.all(surplus.map((old) => rm(join(this.#directory, `${old}.json`), { force: true })));
    return id;
  }

  /** The clock that names mails; milliseconds since the epoch. */
  now(): number {
    return this.#clock.now();
  }

  /** The newest first. */
  async list(): Promise<KeptMail[]> {
    const mails = await Promise.all((await this.#ids()).map((id) => this.#read(id)));
    return mails.filter((mail) => mail !== null);
  }

  /** Null for an unknown id. */
  async get(id: string): Promise<KeptMail | null> {
    return ID.test(id) ? await this.#read(id) : null;
  }

  async #ids(): Promise<string[]> {
    const names = await readdir(this.#directory).catch(absent([]));
    return names
      .filter((name) => name.endsWith('.json'))
      .map((name) => name.slice(0, -'.json'.length))
      .filter((id) => ID.test(id))
      .toSorted()
      .toReversed();
  }

  async #read(id: string): Promise<KeptMail | null> {
    const text = await readFile(join(this.#directory, `${id}.json`), 'utf8').catch(absent(null));
    return text === null ? null : (JSON.parse(text) as KeptMail);
  }
}

/** A handler that returns `value` for a file that does not exist. */
function absent<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (codeOf(error) === 'ENOENT') return value;
    throw error;
  };
}
