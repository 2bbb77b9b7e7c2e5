/** Brands as mail uses them: sender, appearance, server. */

import { unavailable } from '../base/errors.ts';
import { normalizeEmail } from '../base/grammar.ts';
import type { MailSender, OAuth2Account } from '../delivery/mail.ts';
import { type BrandRow, findBrand, findBrandOfOrganization, findDefaultBrand } from '../persistence/brands/brands.ts';
import type { Database } from '../persistence/database.ts';
import { clientSecretContext, passwordContext, refreshTokenContext, type Sealing } from './sealing.ts';

interface SendersOptions {
  database: Database;
  sealing: Sealing;
  /** Its host is the sender's where a brand has no address; null while the port is not known. */
  publicUrl: string | null;
}

export class Senders {
  readonly #database: Database;
  readonly #sealing: Sealing;
  readonly #fallback: string;

  constructor({ database, sealing, publicUrl }: SendersOptions) {
    this.#database = database;
    this.#sealing = sealing;
    const host = publicUrl === null ? 'localhost' : new URL(publicUrl).hostname;
    this.#fallback = normalizeEmail(`no-reply@${host}`) ?? 'no-reply@localhost';
  }

  /** The brand of that id; the default brand for null, and for an id that was deleted. UNAVAILABLE when its secrets cannot be opened. */
  async senderOf(brandId: number | null): Promise<MailSender> {
    const row = await this.#database.read(async (tx) => {
      const named = brandId === null ? undefined : await findBrand(tx, brandId);
      return named ?? (await findDefaultBrand(tx));
    });
    if (row === undefined) throw new Error('no default brand, though every start creates one');
    return this.toSender(row);
  }

  /** The brand of the organization; null without one: falling back to the default brand is not allowed (docs/reference/identity-provider.md#e-mails). */
  async senderOfOrganization(orgId: string): Promise<MailSender | null> {
    const row = await this.#database.read((tx) => findBrandOfOrganization(tx, orgId));
    return row === undefined ? null : this.toSender(row);
  }

  toSender(row: BrandRow): MailSender {
    const { smtpHost: host, smtpPort: port, smtpUser: user } = row;
    const address = row.emailFrom ?? (user === null ? null : normalizeEmail(user)) ?? this.#fallback;
    return {
      brandId: row.id,
      slug: row.slug,
      name: row.name,
      from: { address, name: row.emailFromName ?? row.name },
      look: lookOf(row),
      smtp:
        host === null || port === null
          ? null
          : {
              host,
              port,
              secure: row.smtpSecure,
              allowInsecure: row.smtpAllowInsecure,
              user,
              password: row.smtpAuth === 'password' ? this.#passwordOf(row) : null,
              oauth2: row.smtpAuth === 'oauth2' ? this.#accountOf(row) : null,
            },
    };
  }

  #passwordOf({ id, slug, smtpPassword, smtpKey }: BrandRow): string | null {
    if (smtpPassword === null || smtpKey === null) return null;
    const password = this.#sealing.open(passwordContext(id), { key: smtpKey, text: smtpPassword });
    if (password !== null) return password;
    throw lostKey(slug);
  }

  #accountOf(row: BrandRow): OAuth2Account | null {
    const { id, slug, smtpTokenUrl: tokenUrl, smtpClientId: clientId, smtpScope: scope } = row;
    if (tokenUrl === null || clientId === null) return null;
    const open = (context: string, sealed: string | null): string | null => {
      const secret = sealed === null ? null : this.#sealing.openText(context, sealed);
      if (sealed !== null && secret === null) throw lostKey(slug);
      return secret;
    };
    return {
      tokenUrl,
      clientId,
      clientSecret: open(clientSecretContext(id), row.smtpClientSecret),
      scope,
      refreshToken: open(refreshTokenContext(id), row.smtpRefreshToken),
    };
  }
}

function lostKey(slug: string) {
  return unavailable(
    `The SMTP secrets of brand ${slug} were sealed with a key that is missing from brandSmtpKey (BRAND_SMTP_KEY).`,
  );
}

/** The part of a brand that the layout of its mails shows. */
export function lookOf({ primaryColor, backgroundColor, logoUrl, footerText }: BrandRow): MailSender['look'] {
  return { primaryColor, backgroundColor, logoUrl, footerText };
}
