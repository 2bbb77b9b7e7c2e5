import { afterAll, beforeAll } from '@jest/globals';
import type { Parts } from '../../src/app/app.ts';
import { createStorage, type Kind, type TestStorage } from '../support/databases.ts';
import { type IdpDouble, SERVICE_TOKEN, startIdp } from '../support/provider/double.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

export const WEBHOOK_SECRETS = ['webhook-secret-canary-one', 'webhook-secret-canary-two'] as const;
export const BRAND_KEY = Buffer.alloc(32, 7).toString('base64');

/** A service beside a double of the identity provider; the local issuer vouches for its users. */
export interface World {
  readonly idp: IdpDouble;
  readonly usher: RunningUsher;
  /** Another instance on the same database, with the same configuration; its starter closes it. */
  another(): Promise<RunningUsher>;
  readonly root: Rest;
  readonly nobody: Rest;
  readonly plain: Rest;
  /** Audit records of an action, oldest first. */
  audits(action: string): Promise<{ actor: string; subject: string | null; after: unknown }[]>;
}

export interface WorldOptions {
  kind?: Kind;
  /** What an operator sets; undefined takes a default of these tests away. */
  env?: (idp: IdpDouble) => Record<string, string | undefined>;
  /** Of the service, instead of its own. */
  parts?: Parts;
}

/** Called in a describe; what it answers is valid in tests and hooks. */
export function useWorld({ kind = 'postgresql', env = () => ({}), parts = {} }: WorldOptions = {}): World {
  let storage: TestStorage | undefined;
  let world: World | undefined;
  beforeAll(async () => {
    storage = await createStorage(kind);
    const idp = await startIdp();
    const given: Record<string, string | undefined> = {
      IDP_API_URL: idp.url,
      IDP_SERVICE_ACCOUNT_TOKEN: SERVICE_TOKEN,
      IDP_WEBHOOK_SECRET: WEBHOOK_SECRETS.join(','),
      BRAND_SMTP_KEY: BRAND_KEY,
      ...env(idp),
    };
    const set = Object.fromEntries(
      Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined),
    );
    const own = storage;
    const usher = await startUsher(own, { env: set, parts });
    world = {
      idp,
      usher,
      another: () => startUsher(own, { env: set, parts }),
      // Where another issuer is configured nobody can be signed in by the local one.
      root: await Rest.as(usher, usher.app.localIssuer === null ? undefined : 'admin@example.com'),
      plain: await Rest.as(usher, usher.app.localIssuer === null ? undefined : 'ben@example.com'),
      nobody: await Rest.as(usher),
      audits: (action) =>
        usher.app.database.read((tx) =>
          tx.kysely
            .selectFrom('audit')
            .select(['actor', 'subject', 'after'])
            .where('action', '=', action)
            .orderBy('id')
            .execute(),
        ),
    };
  }, 60_000);
  afterAll(async () => {
    await world?.usher.close();
    await world?.idp.close();
    await storage?.remove();
  }, 60_000);
  return new Proxy({} as World, {
    get: (_target, name) => {
      if (world === undefined) throw new Error('The world is ready in tests and hooks.');
      return world[name as keyof World];
    },
  });
}
