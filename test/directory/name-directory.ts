import { type Clock, systemClock } from '../../src/base/clock.ts';
import type { UsherError } from '../../src/base/errors.ts';
import { AccountRefusals } from '../../src/directory/account-refusals.ts';
import type { NameDirectory, Names } from '../../src/directory/names.ts';
import type { SignedIn } from '../../src/directory/presence.ts';
import { Profiles } from '../../src/directory/profiles.ts';
import { WorkQueue } from '../../src/directory/work-queue.ts';
import type { Database } from '../../src/persistence/database.ts';
import type { AdminApi } from '../../src/provider/admin-api.ts';
import { ProviderLocks } from '../../src/provider/administration.ts';
import { IdpNames } from '../../src/provider/names.ts';

/** An identity provider that keeps names, can be slow, and can refuse or be away; its turns are the real ones. */
export class FakeDirectory implements NameDirectory {
  readonly kept = new Map<string, Partial<Names>>();
  readonly written: Partial<Names>[] = [];
  readonly inTurn: NameDirectory['inTurn'];
  fault: UsherError | null = null;
  delayMs = (): number => 0;
  /** What it waits for after it has taken names, before it says so. */
  answering: Promise<void> | null = null;

  constructor(database: Database, clock: Pick<Clock, 'bytes' | 'monotonic'> = systemClock) {
    const real = new IdpNames({} as AdminApi, new ProviderLocks({ database, clock }), null);
    this.inTurn = (...turn) => real.inTurn(...turn);
  }

  async writeNames({ email }: { email: string }, names: Partial<Names>): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, this.delayMs()));
    if (this.fault) throw this.fault;
    this.written.push(names);
    this.kept.set(email, { ...this.kept.get(email), ...names });
    await this.answering;
  }
}

export function caller(email: string, issuedAt: number, names: Partial<Names> = {}): SignedIn {
  return {
    email,
    issuer: 'https://idp.example.com',
    subject: `sub-${email}`,
    issuedAt,
    picture: null,
    locale: null,
    organization: null,
    givenName: names.firstName ?? null,
    familyName: names.lastName ?? null,
    name: names.displayName ?? null,
  };
}

export function profilesOn(database: Database, names: NameDirectory | null, now: () => number): Profiles {
  return new Profiles({
    database,
    clock: { now },
    policy: { binding: null, allowHttp: true, ownNames: names === null },
    turns: new WorkQueue({ permits: 8, clock: systemClock }),
    refusals: new AccountRefusals(database),
    names,
    idpPublicUrl: null,
  });
}

export const BY = { requestId: 'r', signal: new AbortController().signal };
export const NOW = Date.UTC(2026, 0, 1, 10, 0, 0);

/** The leases of turns that are held. */
export function claims(database: Database): Promise<{ key: string }[]> {
  return database.read((tx) =>
    tx.kysely.selectFrom('setting').select('key').where('key', 'like', 'idp.lock:%').execute(),
  );
}
