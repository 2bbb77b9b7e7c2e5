import { sql } from 'kysely';
import type { Tx } from '../database.ts';

/**
 * A brand as stored: the password is sealed, and `smtpKey` is the name of the key that sealed it. The client secret and the refresh
 * token are sealed, too, with that name in front.
 */
export interface BrandRow {
  id: number;
  slug: string;
  name: string;
  isDefault: boolean;
  primaryColor: string | null;
  backgroundColor: string | null;
  logoUrl: string | null;
  iconUrl: string | null;
  footerText: string | null;
  emailFrom: string | null;
  emailFromName: string | null;
  smtpHost: string | null;
  smtpPort: number | null;
  smtpSecure: boolean;
  smtpAllowInsecure: boolean;
  smtpUser: string | null;
  smtpPassword: string | null;
  smtpKey: string | null;
  smtpAuth: 'password' | 'oauth2';
  smtpTokenUrl: string | null;
  smtpClientId: string | null;
  smtpClientSecret: string | null;
  smtpScope: string | null;
  smtpRefreshToken: string | null;
  idpOrgId: string | null;
  createdAt: Date;
  updatedAt: Date;
}

/** The writable columns. */
export type BrandChange = Partial<Omit<BrandRow, 'id' | 'slug' | 'createdAt' | 'updatedAt'>>;

const COLUMNS = [
  'id',
  'slug',
  'name',
  'is_default as isDefault',
  'primary_color as primaryColor',
  'background_color as backgroundColor',
  'logo_url as logoUrl',
  'icon_url as iconUrl',
  'footer_text as footerText',
  'email_from as emailFrom',
  'email_from_name as emailFromName',
  'smtp_host as smtpHost',
  'smtp_port as smtpPort',
  'smtp_secure as smtpSecure',
  'smtp_allow_insecure as smtpAllowInsecure',
  'smtp_user as smtpUser',
  'smtp_password as smtpPassword',
  'smtp_key as smtpKey',
  'smtp_auth as smtpAuth',
  'smtp_token_url as smtpTokenUrl',
  'smtp_client_id as smtpClientId',
  'smtp_client_secret as smtpClientSecret',
  'smtp_scope as smtpScope',
  'smtp_refresh_token as smtpRefreshToken',
  'idp_org_id as idpOrgId',
  'created_at as createdAt',
  'updated_at as updatedAt',
] as const;

/** Every brand, by slug. */
export async function listBrands(tx: Tx): Promise<BrandRow[]> {
  return await tx.kysely.selectFrom('brand').select(COLUMNS).orderBy('slug').execute();
}

export async function findBrand(tx: Tx, id: number): Promise<BrandRow | undefined> {
  return await tx.kysely.selectFrom('brand').select(COLUMNS).where('id', '=', id).executeTakeFirst();
}

export async function findDefaultBrand(tx: Tx): Promise<BrandRow | undefined> {
  return await tx.kysely.selectFrom('brand').select(COLUMNS).where('is_default', '=', true).executeTakeFirst();
}

export async function findBrandOfOrganization(tx: Tx, orgId: string): Promise<BrandRow | undefined> {
  return await tx.kysely.selectFrom('brand').select(COLUMNS).where('idp_org_id', '=', orgId).executeTakeFirst();
}

/**
 * Serializes writes of brands until the transaction ends, so that what they read of other brands (which is the
 * default, which has an organization) still holds when they write. Reads go on, and so do references to brands.
 */
export async function lockBrands(tx: Tx): Promise<void> {
  await sql`lock table brand in share row exclusive mode`.execute(tx.kysely);
}

/** One brand, locked until the transaction ends against new references to it. After `lockBrands`. */
export async function lockBrand(tx: Tx, id: number): Promise<BrandRow | undefined> {
  return await tx.kysely.selectFrom('brand').select(COLUMNS).where('id', '=', id).forUpdate().executeTakeFirst();
}

/** Another brand with the slug or the organization; after `lockBrands` none can appear. */
export async function findTaken(
  tx: Tx,
  { id, slug, idpOrgId }: { id: number | null; slug: string; idpOrgId: string | null },
): Promise<{ slug: string; idpOrgId: string | null } | undefined> {
  return await tx.kysely
    .selectFrom('brand')
    .select(['slug', 'idp_org_id as idpOrgId'])
    .where((eb) => eb.or([eb('slug', '=', slug), eb('idp_org_id', '=', idpOrgId)]))
    .where((eb) => (id === null ? eb.lit(true) : eb('id', '<>', id)))
    .executeTakeFirst();
}

export async function insertBrand(tx: Tx, brand: { slug: string; name: string }): Promise<BrandRow> {
  return await tx.kysely.insertInto('brand').values(brand).returning(COLUMNS).executeTakeFirstOrThrow();
}

/** Creates the default brand if no brand exists. */
export async function ensureDefaultBrand(tx: Tx, brand: { slug: string; name: string }): Promise<void> {
  await sql`
    insert into brand (slug, name, is_default)
    select ${brand.slug}, ${brand.name}, true where not exists (select from brand where is_default)
    on conflict do nothing`.execute(tx.kysely);
}

export async function updateBrand(tx: Tx, id: number, change: BrandChange): Promise<BrandRow> {
  const columns = Object.fromEntries(
    Object.entries(change).map(([name, value]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );
  return await tx.kysely
    .updateTable('brand')
    .set({ ...columns, updated_at: sql<Date>`now()` })
    .where('id', '=', id)
    .returning(COLUMNS)
    .executeTakeFirstOrThrow();
}

/** Makes `id` the default in place of the present one; after `lockBrands`. */
export async function makeDefault(tx: Tx, id: number): Promise<void> {
  await tx.kysely
    .updateTable('brand')
    .set({ is_default: false, updated_at: sql<Date>`now()` })
    .where('is_default', '=', true)
    .where('id', '<>', id)
    .execute();
  await tx.kysely.updateTable('brand').set({ is_default: true }).where('id', '=', id).execute();
}

/** Whether a profile uses it. After `lockBrand` no further profile can. */
export async function isBrandInUse(tx: Tx, id: number): Promise<boolean> {
  const user = await tx.kysely
    .selectFrom('profile')
    .select('person_id')
    .where('brand_id', '=', id)
    .limit(1)
    .executeTakeFirst();
  return user !== undefined;
}

export async function deleteBrand(tx: Tx, id: number): Promise<void> {
  await tx.kysely.deleteFrom('brand').where('id', '=', id).execute();
}

/** The sealed secrets of a brand, with what they belong to and its slug for messages; null for those that it has not. */
export interface SealedSecrets {
  readonly id: number;
  readonly slug: string;
  /** The name of the key that sealed the password. */
  readonly key: string | null;
  readonly password: string | null;
  readonly tokenUrl: string | null;
  readonly clientId: string | null;
  readonly clientSecret: string | null;
  readonly refreshToken: string | null;
  /** What a token endpoint gave in place of the refresh token. */
  readonly renewedToken: string | null;
}

/** Of the brands that have any, by slug. */
export async function listSealed(tx: Tx): Promise<SealedSecrets[]> {
  return await tx.kysely
    .selectFrom('brand as b')
    .leftJoin('brand_refresh as r', 'r.brand_id', 'b.id')
    .select([
      'b.id',
      'b.slug',
      'b.smtp_key as key',
      'b.smtp_password as password',
      'b.smtp_token_url as tokenUrl',
      'b.smtp_client_id as clientId',
      'b.smtp_client_secret as clientSecret',
      'b.smtp_refresh_token as refreshToken',
      'r.refresh_token as renewedToken',
    ])
    .where(
      sql<boolean>`coalesce(b.smtp_password, b.smtp_client_secret, b.smtp_refresh_token, r.refresh_token) is not null`,
    )
    .orderBy('b.slug')
    .execute();
}

/** Keeps this text as what a token endpoint gave in place of a brand's refresh token, sealed; null for none. After `lockBrands`. */
export async function keepRenewed(tx: Tx, id: number, renewedToken: string | null): Promise<void> {
  await tx.kysely
    .updateTable('brand_refresh')
    .set({ refresh_token: renewedToken })
    .where('brand_id', '=', id)
    .execute();
}

/** Forgets what a token endpoint gave in place of a brand's refresh token. */
export async function forgetRenewed(tx: Tx, id: number): Promise<void> {
  await tx.kysely.deleteFrom('brand_refresh').where('brand_id', '=', id).execute();
}
