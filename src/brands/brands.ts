/** Brands: appearance, sender, mail server, and the provider's organization that each stands for. (docs/reference/brands.md.) */

import { administer, type By, superAdmin } from '../administration/administer.ts';
import { refuseImmutable, type Sent } from '../administration/records.ts';
import { UsherError, validationFailed } from '../base/errors.ts';
import { escapeHtml } from '../delivery/layout.ts';
import type { Mailer, MailMessage, MailSender } from '../delivery/mail.ts';
import type { Policy } from '../outbound/outbound.ts';
import {
  type BrandChange,
  type BrandRow,
  deleteBrand,
  findBrand,
  findTaken,
  forgetRenewed,
  insertBrand,
  isBrandInUse,
  listBrands,
  lockBrand,
  lockBrands,
  makeDefault,
  updateBrand,
} from '../persistence/brands/brands.ts';
import { findImage, keepImage, noteShown, type StoredImage } from '../persistence/brands/images.ts';
import type { Committed, Database, Tx } from '../persistence/database.ts';
import { readImage } from './images.ts';
import type { Sealing } from './sealing.ts';
import type { Senders } from './senders.ts';
import { type SmtpInput, type SmtpRules, shownSmtp, smtpChange, smtpFailed } from './smtp.ts';
import { tokenUrlProblem } from './token-url.ts';

export type { BrandRow } from '../persistence/brands/brands.ts';

/** The fields of a brand in a request: undefined means the request did not have it. */
export interface BrandInput extends Sent<Pick<BrandRow, 'slug' | 'isDefault' | (typeof PLAIN)[number]>> {
  smtp?: SmtpInput | null | undefined;
}

interface BrandsOptions {
  database: Database;
  sealing: Sealing;
  senders: Senders;
  mailer: Mailer;
  /** Where a brand's access tokens may be fetched. */
  tokenPolicy: Policy;
  /** Where people reach this service, without a path. */
  publicUrl: () => string;
}

/** The columns that a request sets as they stand in it. */
const PLAIN = [
  'name',
  'primaryColor',
  'backgroundColor',
  'logoUrl',
  'iconUrl',
  'footerText',
  'emailFrom',
  'emailFromName',
  'idpOrgId',
] as const;

/** The caller waits for the result of a test. */
const TEST_MS = 25_000;

const GUARD = superAdmin('write brands');

export class Brands {
  readonly #database: Database;
  readonly #senders: Senders;
  readonly #mailer: Mailer;
  readonly #smtpRules: SmtpRules;
  readonly #publicUrl: () => string;

  constructor({ database, sealing, senders, mailer, tokenPolicy, publicUrl }: BrandsOptions) {
    this.#publicUrl = publicUrl;
    this.#database = database;
    this.#smtpRules = { sealing, tokenUrlProblem: (url) => tokenUrlProblem(url, tokenPolicy) };
    this.#senders = senders;
    this.#mailer = mailer;
  }

  /** All brands, by slug. */
  list(): Promise<BrandRow[]> {
    return this.#database.read((tx) => listBrands(tx));
  }

  /** Throws NOT_FOUND. */
  async get(id: number): Promise<BrandRow> {
    return present(await this.#database.read((tx) => findBrand(tx, id)));
  }

  /** ALREADY_EXISTS when slug or organization is taken. `isDefault: true` makes it the default in place of the current one. */
  create(input: BrandInput & { slug: string; name: string }, by: By): Promise<Committed<BrandRow>> {
    const about = { app: null, action: 'brand.created', guard: GUARD };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      await lockBrands(tx);
      await refuseTaken(tx, { id: null, slug: input.slug, idpOrgId: input.idpOrgId ?? null });
      const made = await insertBrand(tx, { slug: input.slug, name: input.name });
      const brand = await this.#write(tx, made, input);
      audit({ subject: brand.slug, after: words(brand) });
      return { result: brand, scopes: [] };
    });
  }

  /**
   * Changes the fields sent. IMMUTABLE_FIELD for a changed slug, ALREADY_EXISTS when the organization is taken, VALIDATION_FAILED
   * where SMTP settings do not fit together or the change would leave no default brand.
   */
  change(id: number, input: BrandInput, by: By): Promise<Committed<BrandRow>> {
    const about = { app: null, action: 'brand.changed', guard: GUARD };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      await lockBrands(tx);
      const before = present(await lockBrand(tx, id));
      refuseImmutable('slug', before.slug, input.slug);
      if (before.isDefault && input.isDefault === false) {
        const message = 'must not be false for the default brand: make another brand the default instead';
        throw validationFailed([{ path: 'isDefault', message }]);
      }
      await refuseTaken(tx, { id, slug: before.slug, idpOrgId: input.idpOrgId ?? null });
      const after = await this.#write(tx, before, input);
      if (after !== before) {
        audit({
          subject: before.slug,
          before: words(before),
          after: { ...words(after), ...changedSecrets(before, after) },
        });
      }
      return { result: after, scopes: [] };
    });
  }

  /** Keeps the image, and makes it the brand's; null: none. UNSUPPORTED_MEDIA_TYPE for a body that is not an image of that type. */
  async setImage(
    id: number,
    field: 'logoUrl' | 'iconUrl',
    upload: { bytes: Buffer; media: string } | null,
    by: By,
  ): Promise<Committed<BrandRow>> {
    const image = upload === null ? null : await readImage(upload.bytes, upload.media);
    const about = { app: null, action: 'brand.changed', guard: GUARD };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      await lockBrands(tx);
      const before = present(await lockBrand(tx, id));
      if (image !== null) await keepImage(tx, image);
      const url = image === null ? null : `${this.#publicUrl()}/media/${image.name}`;
      const after = await this.#write(tx, before, { [field]: url });
      if (after !== before) audit({ subject: before.slug, before: words(before), after: words(after) });
      return { result: after, scopes: [] };
    });
  }

  /** NOT_FOUND for a name that nothing was uploaded under, or that no brand has shown for 90 days. */
  async image(name: string): Promise<StoredImage> {
    const found = await this.#database.read((tx) => findImage(tx, name));
    if (found === undefined) throw new UsherError('NOT_FOUND', 'There is no image at this path.');
    return found;
  }

  /** BRAND_IN_USE for the default brand, and while a user or an organization uses it. */
  delete(id: number, by: By): Promise<Committed<null>> {
    const about = { app: null, action: 'brand.deleted', guard: GUARD };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      await lockBrands(tx);
      const brand = present(await lockBrand(tx, id));
      const reason = brand.isDefault
        ? 'It is the default brand; make another brand the default first.'
        : brand.idpOrgId !== null
          ? 'It has an organization of the identity provider; set idpOrgId to null first.'
          : (await isBrandInUse(tx, id))
            ? 'Users have chosen it.'
            : null;
      if (reason !== null) throw new UsherError('BRAND_IN_USE', `The brand cannot be deleted. ${reason}`);
      await deleteBrand(tx, id);
      await noteShown(tx, [brand.logoUrl, brand.iconUrl]);
      audit({ subject: brand.slug, before: words(brand) });
      return { result: null, scopes: [] };
    });
  }

  /**
   * Sends a mail through the brand's own server and returns the server's response. SMTP_FAILED (502) with `details.smtp` when it
   * refused the mail, also when the brand has no server: falling back to another server would test nothing.
   */
  async sendTest(id: number, to: string, by: By, signal: AbortSignal): Promise<{ response: string }> {
    const { result: brand } = await administer(
      this.#database,
      by,
      { app: null, action: 'brand.tested', guard: superAdmin('send mail by a brand') },
      async ({ tx, audit }) => {
        const row = present(await findBrand(tx, id));
        audit({ subject: row.slug, after: { to } });
        return { result: row, scopes: [] };
      },
    );
    const sender = this.#senders.toSender(brand);
    if (sender.smtp === null) throw smtpFailed({ kind: 'no_smtp', code: 'no_smtp', response: '' });
    return await this.#send(sender, testMessage(brand.name, to), by, signal);
  }

  /**
   * Sends a mail as the brand does, or the default brand for null and for a deleted one, and returns the server's response.
   * SMTP_FAILED when it refused the mail. Outside production the mailbox takes the mail of a brand without a server.
   */
  async sendBy(
    brandId: number | null,
    message: Omit<MailMessage, 'messageId'>,
    by: Pick<By, 'requestId'>,
    signal: AbortSignal,
  ): Promise<{ response: string }> {
    return await this.#send(await this.#senders.senderOf(brandId), message, by, signal);
  }

  async #send(
    sender: MailSender,
    message: Omit<MailMessage, 'messageId'>,
    { requestId }: Pick<By, 'requestId'>,
    signal: AbortSignal,
  ): Promise<{ response: string }> {
    const { address } = sender.from;
    const messageId = `test-${requestId}@${address.slice(address.lastIndexOf('@') + 1)}`;
    const limited = AbortSignal.any([signal, AbortSignal.timeout(TEST_MS)]);
    const outcome = await this.#mailer.send(sender, { ...message, messageId }, limited);
    if (outcome.kind !== 'sent') throw smtpFailed(outcome);
    return { response: outcome.response };
  }

  /** The brand after the fields sent; the same object where they change nothing. */
  async #write(tx: Tx, before: BrandRow, input: BrandInput): Promise<BrandRow> {
    const wanted: BrandChange = smtpChange(before, input.smtp, this.#smtpRules);
    for (const field of PLAIN) {
      const value = input[field];
      if (value !== undefined) Object.assign(wanted, { [field]: value });
    }
    const change = Object.fromEntries(
      Object.entries(wanted).filter(([field, value]) => before[field as keyof BrandChange] !== value),
    );
    const promoted = input.isDefault === true && !before.isDefault;
    if (promoted) await makeDefault(tx, before.id);
    if (!promoted && Object.keys(change).length === 0) return before;
    // It was given for another refresh token, or by another endpoint.
    if (REFRESHED_AT.some((column) => column in change)) await forgetRenewed(tx, before.id);
    await noteShown(tx, ['logoUrl' in change ? before.logoUrl : null, 'iconUrl' in change ? before.iconUrl : null]);
    return await updateBrand(tx, before.id, change);
  }
}

const REFRESHED_AT = ['smtpTokenUrl', 'smtpClientId', 'smtpRefreshToken'] as const;

/** Which secrets have changed, for the audit record: it says so, and never shows one. */
function changedSecrets(before: BrandRow, after: BrandRow): Record<string, true> {
  return {
    ...(after.smtpPassword === before.smtpPassword ? {} : { passwordChanged: true }),
    ...(after.smtpClientSecret === before.smtpClientSecret ? {} : { clientSecretChanged: true }),
    ...(after.smtpRefreshToken === before.smtpRefreshToken ? {} : { refreshTokenChanged: true }),
  };
}

async function refuseTaken(tx: Tx, brand: { id: number | null; slug: string; idpOrgId: string | null }): Promise<void> {
  const taken = await findTaken(tx, brand);
  if (taken === undefined) return;
  const what =
    taken.slug === brand.slug
      ? `Brand ${brand.slug} exists already.`
      : `Brand ${taken.slug} has this organization already.`;
  throw new UsherError('ALREADY_EXISTS', what);
}

function present(brand: BrandRow | undefined): BrandRow {
  if (brand === undefined) throw new UsherError('NOT_FOUND', 'Unknown brand.');
  return brand;
}

/** The brand as audit records show it: never a secret, not even sealed. */
function words(brand: BrandRow): Record<string, unknown> {
  const { slug, isDefault } = brand;
  return {
    slug,
    isDefault,
    ...Object.fromEntries(PLAIN.map((field) => [field, brand[field]])),
    smtp: shownSmtp(brand),
  };
}

function testMessage(brand: string, to: string) {
  const sentence = `This is a test of brand ${brand}: its mail server accepted this message, and its mail looks like this.`;
  return {
    to,
    subject: `Test of brand ${brand}`,
    html: `<p>${escapeHtml(sentence)}</p>`,
    text: sentence,
    locale: 'en',
    fromName: null,
    urgent: true,
  };
}
