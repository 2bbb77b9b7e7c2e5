import { Migration } from '@mikro-orm/migrations';

/**
 * Brands that sign in at their mail server by OAuth 2.0 (docs/reference/brands.md#smtp-by-oauth-20). The secrets are sealed (brands/sealing.ts), each with the name of
 * its key in front. A process of the version before ignores these columns: it sends without a login, is refused, and tries again.
 * `brand_refresh` has what the token endpoint gave in place of a refresh token, and whose turn it is to use it.
 */
export class Migration0028SmtpOauth extends Migration {
  override up(): void {
    this.addSql(`alter table brand
      add smtp_auth text collate "C" not null default 'password' check (smtp_auth in ('password', 'oauth2')),
      add smtp_token_url text,
      add smtp_client_id text,
      add smtp_client_secret text,
      add smtp_scope text,
      add smtp_refresh_token text`);
    this.addSql(`create table brand_refresh (
      brand_id bigint primary key references brand (id) on delete cascade,
      refresh_token text,
      taken_until timestamptz(3)
    )`);
  }
}
