import { hkdfSync } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Database } from './database.ts';
import { claimSetting, getSetting } from './settings.ts';

const SETTING = 'secret_key';
const BYTES = 32;

/**
 * What seals cookies and signs links: `secretKey` of the configuration, or a key that the first use makes and keeps in the
 * database, so that all instances share it (contract 10).
 */
export class SecretKey {
  readonly #database: Database;
  readonly #clock: Pick<Clock, 'bytes'>;
  #secret: string | null;

  constructor(options: { configured: string | null; database: Database; clock: Pick<Clock, 'bytes'> }) {
    this.#secret = options.configured;
    this.#database = options.database;
    this.#clock = options.clock;
  }

  /** 32 bytes for one purpose: what is made for another purpose is worth nothing here. Throws UNAVAILABLE. */
  async keyFor(purpose: string): Promise<Uint8Array> {
    this.#secret ??= await this.#kept();
    return new Uint8Array(hkdfSync('sha256', this.#secret, '', `usher ${purpose}`, BYTES));
  }

  async #kept(): Promise<string> {
    const kept = await this.#database.read((tx) => getSetting(tx, SETTING));
    if (typeof kept === 'string') return kept;
    const { result } = await this.#database.change(async (tx) => {
      await claimSetting(tx, SETTING, this.#clock.bytes(BYTES).toString('base64url'));
      return { result: await getSetting(tx, SETTING), scopes: [] };
    });
    if (typeof result !== 'string') throw new Error(`the setting ${SETTING} holds no text`);
    return result;
  }
}
