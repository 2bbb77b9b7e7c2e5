import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import type { Row } from '../entities/schema.ts';

export type BrandRow = Row<'brand'>;

/** The writable columns. */
export type BrandChange = Partial<Omit<BrandRow, 'id' | 'slug' | 'createdAt' | 'updatedAt'>>;

/** Every brand, by slug. */
export async function listBrands(tx: Tx): Promise<BrandRow[]> {
  return await tx.kysely.selectFrom('brand').selectAll().orderBy('slug').execute();
}

export async function findBrand(tx: Tx, id: number): Promise<BrandRow | undefined> {
  return await tx.kysely.selectFrom('brand').selectAll().where('id', '=', id).executeTakeFirst();
}

export async function findDefaultBrand(tx: Tx): Promise<BrandRow | undefined> {
  return await tx.kysely.selectFrom('brand').selectAll().where('isDefault', '=', true).executeTakeFirst();
}

export async function findBrandOfOrganization(tx: Tx, orgId: string): Promise<BrandRow | undefined> {
  return await tx.kysely.selectFrom('brand').selectAll().where('idpOrgId', '=', orgId).executeTakeFirst();
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
  return await tx.kysely.selectFrom('brand').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
}

/** Another brand with the slug or the organization; after `lockBrands` none can appear. */
export async function findTaken(
  tx: Tx,
  { id, slug, idpOrgId }: { id: number | null; slug: string; idpOrgId: string | null },
): Promise<{ slug: string; idpOrgId: string | null } | undefined> {
  return await tx.kysely
    .selectFrom('brand')
    .select(['slug', 'idpOrgId'])
    .where((eb) => eb.or([eb('slug', '=', slug), eb('idpOrgId', '=', idpOrgId)]))
    .where((eb) => (id === null ? eb.lit(true) : eb('id', '<>', id)))
    .executeTakeFirst();
}

export async function insertBrand(tx: Tx, brand: { slug: string; name: string }): Promise<BrandRow> {
  return await tx.kysely.insertInto('brand').values(brand).returningAll().executeTakeFirstOrThrow();
}

/** Creates the default brand if no brand exists. */
export async function ensureDefaultBrand(tx: Tx, brand: { slug: string; name: string }): Promise<void> {
  await sql`
    insert into brand (slug, name, is_default)
    select ${brand.slug}, ${brand.name}, true where not exists (select from brand where is_default)
    on conflict do nothing`.execute(tx.kysely);
}

export async function updateBrand(tx: Tx, id: number, change: BrandChange): Promise<BrandRow> {
  return await tx.kysely
    .updateTable('brand')
    .set({ ...change, updatedAt: sql<Date>`now()` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Makes `id` the default in place of the present one; after `lockBrands`. */
export async function makeDefault(tx: Tx, id: number): Promise<void> {
  await tx.kysely
    .updateTable('brand')
    .set({ isDefault: false, updatedAt: sql<Date>`now()` })
    .where('isDefault', '=', true)
    .where('id', '<>', id)
    .execute();
  await tx.kysely.updateTable('brand').set({ isDefault: true }).where('id', '=', id).execute();
}

/** Whether a profile uses it. After `lockBrand` no further profile can. */
export async function isBrandInUse(tx: Tx, id: number): Promise<boolean> {
  const user = await tx.kysely
    .selectFrom('profile')
    .select('personId')
    .where('brandId', '=', id)
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
    .leftJoin('brand_refresh as r', 'r.brandId', 'b.id')
    .select([
      'b.id',
      'b.slug',
      'b.smtpKey as key',
      'b.smtpPassword as password',
      'b.smtpTokenUrl as tokenUrl',
      'b.smtpClientId as clientId',
      'b.smtpClientSecret as clientSecret',
      'b.smtpRefreshToken as refreshToken',
      'r.refreshToken as renewedToken',
    ])
    .where(
      sql<boolean>`coalesce(b.smtp_password, b.smtp_client_secret, b.smtp_refresh_token, r.refresh_token) is not null`,
    )
    .orderBy('b.slug')
    .execute();
}

/** Keeps this text as what a token endpoint gave in place of a brand's refresh token, sealed; null for none. After `lockBrands`. */
export async function keepRenewed(tx: Tx, id: number, renewedToken: string | null): Promise<void> {
  await tx.kysely.updateTable('brand_refresh').set({ refreshToken: renewedToken }).where('brandId', '=', id).execute();
}

/** Forgets what a token endpoint gave in place of a brand's refresh token. */
export async function forgetRenewed(tx: Tx, id: number): Promise<void> {
  await tx.kysely.deleteFrom('brand_refresh').where('brandId', '=', id).execute();
}
