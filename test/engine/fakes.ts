/** A source of facts that a test owns, and a small shop to ask about. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { type CacheOptions, Engine, type EngineOptions } from '../../src/engine/engine.ts';
import type {
  FactsSource,
  LogNews,
  LogWindow,
  MemberNeed,
  Question,
  Revision,
  RevisionToken,
} from '../../src/engine/types.ts';
import { applyTo, countingAt, NO_ROWS, type Operation, type Rows } from '../oracle/rows.ts';
import { groundsOf, memberAt, policyOf } from '../oracle/storage.ts';
import { FakeClock } from './fake-clock.ts';
import { SimulatedDatabase } from './model/simulated-database.ts';

export { FakeClock } from './fake-clock.ts';

export interface Call {
  kind: 'members' | 'policy' | 'grounds' | 'changes';
  since: Revision;
  needs: readonly MemberNeed[];
  app: string;
  /** Reads the snapshot now, to be delivered later. Otherwise it is read when it is delivered. */
  read(): void;
  deliver(): Promise<void>;
  fail(error: Error): Promise<void>;
}

/** Answers from `database` at once; while `held`, calls wait to be delivered or failed one by one. */
export class FakeSource implements FactsSource {
  parallelism = 4;
  held = false;
  failing: Error | undefined;
  readonly calls: Call[] = [];
  /** Called instead of the database where a test tells the log itself. */
  window: ((since: Revision, window: LogWindow) => LogWindow) | undefined;
  wake: (news?: LogNews) => void = () => undefined;
  unlistened = 0;
  /** What the clock of the database says. */
  instant: () => number = () => 0;
  readonly database: SimulatedDatabase;

  constructor(rows: Rows) {
    this.database = new SimulatedDatabase(() => 0, rows);
  }

  of(kind: Call['kind']): Call[] {
    return this.calls.filter((call) => call.kind === kind);
  }

  members(since: Revision, needs: readonly MemberNeed[]) {
    return this.#statement({ kind: 'members', since, needs, app: '' }, (rows) => {
      return { answers: needs.map((need) => memberAt(rows, need, this.instant())) };
    });
  }

  policy(since: Revision, app: string) {
    return this.#statement({ kind: 'policy', since, needs: [], app }, (rows) => ({ policy: policyOf(rows, app) }));
  }

  grounds(since: Revision, question: Question) {
    return this.#statement({ kind: 'grounds', since, needs: [question], app: question.app }, (rows) => {
      return { grounds: groundsOf(countingAt(rows, this.instant()), question) };
    });
  }

  async changes(since: Revision): Promise<LogWindow> {
    return (await this.#statement({ kind: 'changes', since, needs: [], app: '' }, () => ({ log: true }))).window;
  }

  listen(wake: (news?: LogNews) => void): Promise<() => Promise<void>> {
    this.wake = wake;
    return Promise.resolve(() => {
      this.unlistened++;
      return Promise.resolve();
    });
  }

  #statement<T>(
    call: Pick<Call, 'kind' | 'since' | 'needs' | 'app'>,
    facts: (rows: Rows) => T,
  ): Promise<{ window: LogWindow } & T> {
    const snapshot = () => {
      const window = this.database.window(call.since, 1000);
      return { window: this.window?.(call.since, window) ?? window, ...facts(this.database.newest.rows) };
    };
    let reply: ReturnType<typeof snapshot> | undefined;
    const { promise, resolve, reject } = Promise.withResolvers<ReturnType<typeof snapshot>>();
    this.calls.push({
      ...call,
      read: () => {
        reply = snapshot();
      },
      deliver: () => {
        resolve(reply ?? snapshot());
        return settled();
      },
      fail: (error) => {
        reject(error);
        return settled();
      },
    });
    if (this.failing !== undefined) reject(this.failing);
    else if (!this.held) resolve(snapshot());
    return promise;
  }
}

/** That revision, of whichever history. */
export function at(number: Revision): RevisionToken {
  return { number, nonce: null };
}

/** What is said of an answer at that revision, of whichever history. */
export function said(number: Revision): unknown {
  return number === 0 ? '0' : expect.stringMatching(new RegExp(`^${number}\\.`));
}

export const ADA = 'ada@example.com';
export const BOB = 'bob@example.com';

/** Ada reads orders by a role, in the application `shop`. */
export const SHOP: Rows = (
  [
    { kind: 'create-app', app: 'shop' },
    { kind: 'define-permission', app: 'shop', permission: 'read', type: 'tiered', global: false, groupName: null },
    { kind: 'define-permission', app: 'shop', permission: 'pay', type: 'binary', global: true, groupName: 'money' },
    { kind: 'define-role', app: 'shop', role: 'reader' },
    {
      kind: 'permissions-of-role',
      app: 'shop',
      role: 'reader',
      permissions: [{ permission: 'read', accessLevel: 'view' }],
    },
    { kind: 'roles-of-user', app: 'shop', email: ADA, roles: ['reader'] },
  ] satisfies Operation[]
).reduce<Rows>(applyTo, NO_ROWS);

export const REVOKE: Operation = { kind: 'roles-of-user', app: 'shop', email: ADA, roles: [] };
export const GRANT: Operation = { kind: 'roles-of-user', app: 'shop', email: ADA, roles: ['reader'] };
/** Changes nothing that SHOP has to do with. */
export const ELSEWHERE: Operation = { kind: 'user', email: BOB, active: true };

export function ask(about: Partial<Question> = {}): Question {
  return { email: ADA, app: 'shop', permission: 'read', resourceType: '', resourceId: '', ...about };
}

export const CACHE: CacheOptions = {
  megabytes: 64,
  ttlMs: 30_000,
  maxEntries: 100,
  policies: 100,
  persons: 1000,
  members: 1000,
};

export interface Fixture {
  engine: Engine;
  source: FakeSource;
  clock: FakeClock;
  /** What was logged, by level. */
  logged: [level: string, message: string][];
}

/** An engine that has been started, unless `start` is false. */
export async function fixture(
  options: Partial<EngineOptions> & { start?: boolean; rows?: Rows } = {},
): Promise<Fixture> {
  const { start = true, rows = SHOP, ...others } = options;
  const source = new FakeSource(rows);
  const clock = new FakeClock();
  const logged: [string, string][] = [];
  const log = {
    debug: (_: object, message: string) => void logged.push(['debug', message]),
    info: (_: object, message: string) => void logged.push(['info', message]),
    warn: (_: object, message: string) => void logged.push(['warn', message]),
  };
  const engine = new Engine({ source, clock, cache: CACHE, log, ...others });
  if (start) await engine.start();
  return { engine, source, clock, logged };
}

/** Lets everything run that can. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 3; i++) await turn();
}
