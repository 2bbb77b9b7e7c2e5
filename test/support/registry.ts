import { afterAll, beforeAll } from '@jest/globals';
import { type AuditRow, readAudit } from '../../src/persistence/audit.ts';
import { createStorage, type Kind, type TestStorage } from './databases.ts';
import { Rest, type RestAnswer } from './rest.ts';
import { type RunningUsher, startUsher } from './usher.ts';

/** A service that a whole suite shares, with applications in it. Its clients may be taken at once, and used inside tests and hooks. */
export interface Registry {
  readonly usher: RunningUsher;
  /** The first SuperAdmin. */
  readonly root: Rest;
  /** `NAME@example.com`. */
  readonly as: (name: string) => Rest;
  /** What a check says of `NAME@example.com`, or of a whole address. */
  readonly allowed: (email: string, app: string, permission: string, more?: object) => Promise<boolean>;
  /** The audit records of an action, the oldest first. */
  readonly audits: (action: string, subject?: string) => Promise<AuditRow[]>;
}

/** Starts a service before the tests of the suite, and applies these manifests. `env` is what an operator would set. */
export function useRegistry(kind: Kind, manifests: readonly string[], env: Record<string, string> = {}): Registry {
  let storage: TestStorage | undefined;
  let usher: RunningUsher | undefined;
  const running = (): RunningUsher => {
    if (usher === undefined) throw new Error('the service runs inside tests and hooks');
    return usher;
  };
  beforeAll(async () => {
    storage = await createStorage(kind);
    usher = await startUsher(storage, { env });
    for (const text of manifests) await usher.app.manifests.apply(text, { actor: 'cli' });
  }, 60_000);
  afterAll(async () => {
    await usher?.close();
    await storage?.remove();
  }, 60_000);

  const as = (name: string): Rest => Rest.later(running, `${name}@example.com`);
  const root = as('admin');
  return {
    get usher() {
      return running();
    },
    root,
    as,
    allowed: async (email, app, permission, more = {}) =>
      (await root.post('/api/check', { email, app, permission, ...more })).body.data.allowed,
    audits: (action, subject) =>
      running().app.database.read(async (tx) =>
        (await readAudit(tx, { action, subject }, { limit: 1000, after: null })).rows.toReversed(),
      ),
  };
}

/** The status and the most precise code of an answer. */
export function outcome({ status, body }: RestAnswer): [number, string | undefined] {
  return [status, body?.details?.code ?? body?.code];
}
