import { afterAll, beforeAll } from '@jest/globals';
import { sql } from 'kysely';
import { LOCAL_ISSUER } from '../../src/identity/local-issuer.ts';
import { createStorage } from '../support/databases.ts';
import { Rest, type RestAnswer } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/** A whole service whose applications are asked as AuthZEN's policy decision points, with the key as a bearer. */

export const KEY = 'a-key-that-may-ask-checks';
export const OTHER_KEY = 'a-key-that-may-only-notify';
export const PUBLIC_URL = 'https://usher.example.com';
export const ROOT = 'root@example.com';

export const ENDPOINTS = ['evaluation', 'evaluations', 'search/subject', 'search/resource', 'search/action'] as const;
export type Endpoint = (typeof ENDPOINTS)[number];

/** An application as a manifest. */
export interface Facts {
  application: { code: string; name: string; strictCodes?: boolean };
  entities?: { code: string; name: string }[];
  permissions: { code: string; type: 'binary' | 'tiered'; global?: boolean }[];
  roles?: { code: string; permissions: Record<string, string> }[];
  assignments?: { email: string; roles: string[] }[];
  overrides?: Override[];
  admins?: string[];
}

export interface Override {
  email: string;
  resourceType: string;
  resourceId: string;
  permission: string;
  granted: boolean;
  accessLevel?: string;
}

export interface Service {
  readonly usher: RunningUsher;
  /** With the key as a bearer. */
  ask(app: string, endpoint: Endpoint, body: unknown, headers?: Record<string, string>): Promise<RestAnswer>;
  /** Without credentials but those in `headers`. */
  bare(path: string, body: unknown, headers?: Record<string, string>): Promise<RestAnswer>;
  apply(facts: Facts): Promise<void>;
  close(): Promise<void>;
}

export const pathOf = (app: string, endpoint: Endpoint) => `/authzen/${app}/access/v1/${endpoint}`;

async function startService(facts: readonly Facts[], env: Record<string, string>): Promise<Service> {
  const storage = await createStorage('postgresql');
  const usher = await startUsher(storage, {
    env: {
      INTERNAL_API_KEY: `asks:check:${KEY},sends:notify:${OTHER_KEY}`,
      PUBLIC_URL,
      SUPERADMINS: ROOT,
      ...env,
    },
  });
  const keyed = Rest.bearing(usher, KEY);
  const nobody = await Rest.as(usher);
  const apply = async (one: Facts) => {
    await usher.app.manifests.apply(JSON.stringify(one), { actor: 'cli' });
  };
  for (const one of facts) await apply(one);
  return {
    usher,
    ask: (app, endpoint, body, headers) => keyed.post(pathOf(app, endpoint), body, headers),
    bare: (path, body, headers) => nobody.post(path, body, headers),
    apply,
    close: async () => {
      await usher.close();
      await storage.remove();
    },
  };
}

/** `startService` before the tests of a file or a describe. What it answers is valid in tests and hooks. */
export function useService(facts: readonly Facts[], env: Record<string, string> = {}): Omit<Service, 'close'> {
  let service: Service | undefined;
  const started = (): Service => {
    if (service === undefined) throw new Error('the service has not been started');
    return service;
  };
  beforeAll(async () => {
    service = await startService(facts, env);
  }, 120_000);
  afterAll(async () => {
    await service?.close();
  }, 60_000);
  return {
    get usher() {
      return started().usher;
    },
    ask: (...asked) => started().ask(...asked),
    bare: (...asked) => started().bare(...asked),
    apply: (facts) => started().apply(facts),
  };
}

export const ADA = 'ada@example.com';
export const BEN = 'ben@example.com';
export const BOSS = 'boss@example.com';
export const ALICE = 'alice@example.com';
export const BOB = 'bob@example.com';

export const user = (id: string) => ({ type: 'user', id });
export const action = (name: string) => ({ name });
export const binary = (...codes: string[]) => codes.map((code) => ({ code, type: 'binary' as const }));

export const granted = (email: string, permission: string, resourceType: string, resourceId: string): Override => ({
  email,
  resourceType,
  resourceId,
  permission,
  granted: true,
});

export const identity = (id: string) => ({ type: 'identity', id });

/** Keeps an account at the local issuer as a person's, as a token of it does. */
export async function keepAccount(
  { usher }: Pick<Service, 'usher'>,
  email: string,
  subject: string,
  { issuer = LOCAL_ISSUER, signsIn = true, mayRule = true, seenAt = 'now' } = {},
): Promise<void> {
  await usher.app.database.change(async (tx) => {
    await sql`insert into person (email) values (${email}) on conflict (email) do nothing`.execute(tx.kysely);
    await sql`insert into person_account (issuer, user_id, person_id, signs_in, may_rule, seen_at)
      select ${issuer}, ${subject}, id, ${signsIn}, ${mayRule}, ${seenAt}::timestamptz from person where email = ${email}`.execute(
      tx.kysely,
    );
    return { result: null, scopes: [`u:${email}`] };
  });
}

/** The issues of a 400, as `path: message`. */
export function issuesOf({ body }: RestAnswer): string[] {
  const { details } = body as { details?: { issues?: { path: string; message: string }[] } };
  return (details?.issues ?? []).map(({ path, message }) => `${path}: ${message}`);
}

export const decisionsOf = (body: { evaluations: { decision: boolean }[] }) =>
  body.evaluations.map((one) => one.decision);
