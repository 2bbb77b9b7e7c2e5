import { randomBytes } from 'node:crypto';
import type { Database } from '../../src/persistence/database.ts';
import { type OidcDouble, startOidc } from '../support/oidc.ts';
import { type SmtpSink, startSmtp } from '../support/smtp.ts';

export const BRANDS = '/api/admin/brands';
/** Who sends at the mail server. */
export const USER = 'postman@example.com';

/** A key of the installation. */
export const newKey = (): string => randomBytes(32).toString('base64');

/** A provider, and a mail server that takes its tokens. */
export async function startMailWorld(): Promise<{ oidc: OidcDouble; sink: SmtpSink }> {
  const oidc = await startOidc();
  const takes = async (user: string, token: string) => user === USER && (await oidc.isActive(token));
  return { oidc, sink: await startSmtp({ xoauth2: { takes, explains: true } }) };
}

/** Everything that is stored, as text. */
export async function everything(database: Database): Promise<string> {
  return await database.read(async (tx) =>
    JSON.stringify([
      await tx.kysely.selectFrom('brand').selectAll().execute(),
      await tx.kysely.selectFrom('brand_refresh').selectAll().execute(),
      await tx.kysely.selectFrom('audit').selectAll().execute(),
    ]),
  );
}
