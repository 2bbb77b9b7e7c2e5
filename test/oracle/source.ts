import { unavailable } from '../../src/base/errors.ts';
import type { FactsSource, LogWindow, Revision } from '../../src/engine/types.ts';
import { groundsOf, memberOf, policyOf, scopesOf } from './storage.ts';
import { History, NAMES, type Random, randomOperation } from './world.ts';

/** The oracle's rows as an engine's storage: each snapshot arrives a while after it was taken. */
export class OracleSource implements FactsSource {
  readonly parallelism = 4;
  readonly history = new History();
  readonly scopes: string[][] = [];
  away = false;

  write(random: Random): void {
    const operation = randomOperation(random, this.history.newest, NAMES);
    this.history.record(this.history.head + 1, operation);
    this.scopes.push(scopesOf(operation));
  }

  async members(...[since, needs]: Parameters<FactsSource['members']>): ReturnType<FactsSource['members']> {
    return this.#read(since, () => ({ answers: needs.map((need) => memberOf(this.history.newest, need)) }));
  }

  async policy(since: Revision, app: string): ReturnType<FactsSource['policy']> {
    return this.#read(since, () => ({ policy: policyOf(this.history.newest, app) }));
  }

  async grounds(...[since, question]: Parameters<FactsSource['grounds']>): ReturnType<FactsSource['grounds']> {
    return this.#read(since, () => ({ grounds: groundsOf(this.history.newest, question) }));
  }

  async changes(since: Revision): Promise<LogWindow> {
    return (await this.#read(since, () => ({}))).window;
  }

  async listen(): Promise<() => Promise<void>> {
    return async () => {};
  }

  /** One snapshot, that arrives a while after it was taken. */
  async #read<T>(since: Revision, facts: () => T): Promise<T & { window: LogWindow }> {
    if (this.away) throw unavailable('The database is away.');
    const changes = this.scopes.slice(since).map((scopes, index) => {
      const revision = since + 1 + index;
      return { revision, nonce: `n${revision}`, scopes };
    });
    const head = this.history.head;
    const headNonce = head === 0 ? null : `n${head}`;
    const window = { head, headNonce, sinceNonce: since === 0 ? null : `n${since}`, changes, tooMany: false };
    const read = { ...facts(), window };
    await new Promise((resolve) => setImmediate(resolve));
    return read;
  }
}
