import { sql } from 'kysely';
import type { Database } from '../../src/persistence/database.ts';
import { Rest, type RestAnswer } from '../support/rest.ts';
import type { RunningUsher } from '../support/usher.ts';

/** Whole seconds of now, moved by some: what a token's `iat` holds. */
export function seconds(more = 0): number {
  return Math.floor(Date.now() / 1000) + more;
}

/** Requests with a token of the local issuer that carries these claims beside the usual ones. */
export async function asToken(usher: RunningUsher, email: string, claims: Record<string, unknown> = {}): Promise<Rest> {
  if (usher.app.localIssuer === null) throw new Error('this service has no local issuer');
  return Rest.bearing(usher, await usher.app.localIssuer.sign(email, claims));
}

/** A backend's request with an internal key; without one, the key that the service has made for itself. */
export async function asBackend(
  usher: RunningUsher,
  method: string,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<RestAnswer> {
  const nobody = await Rest.as(usher);
  return await nobody.send(method, path, body, { 'x-internal-api-key': usher.app.localKey ?? '', ...headers });
}

/** The slug of the default brand, which is made where the start has made none; and one more brand, `acme`. */
export async function prepareBrands(database: Database): Promise<string> {
  const { result } = await database.change(async (tx) => {
    await sql`insert into brand (slug, name, is_default) values ('default', 'Default', true) on conflict do nothing`.execute(
      tx.kysely,
    );
    await sql`insert into brand (slug, name) values ('acme', 'Acme') on conflict do nothing`.execute(tx.kysely);
    const { rows } = await sql<{ slug: string }>`select slug from brand where is_default`.execute(tx.kysely);
    return { result: rows[0]?.slug ?? '', scopes: [] };
  });
  return result;
}

/** Rows of any statement, as it is. */
export async function rowsOf<T>(database: Database, statement: ReturnType<typeof sql<T>>): Promise<T[]> {
  return await database.read(async (tx) => (await statement.execute(tx.kysely)).rows);
}

/** A statement that changes rows which decide nothing. */
export async function alter(database: Database, statement: ReturnType<typeof sql>): Promise<void> {
  await database.change(async (tx) => {
    await statement.execute(tx.kysely);
    return { result: null, scopes: [] };
  });
}
