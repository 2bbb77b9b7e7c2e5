import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import type { Row } from '../entities/schema.ts';

/** The fields of a brand that templates can use. */
export type BrandLook = Pick<
  Row<'brand'>,
  'id' | 'slug' | 'name' | 'primaryColor' | 'logoUrl' | 'footerText' | 'isDefault'
>;

const LOOK = sql`select id, slug, name, primary_color, logo_url, footer_text, is_default from brand`;

/** The brands that these people have chosen, and the default one; by id. */
export async function brandsFor(tx: Tx, brands: readonly number[]): Promise<BrandLook[]> {
  const { rows } = await sql<BrandLook>`${LOOK} where is_default or id = any(${brands}::bigint[])`.execute(tx.kysely);
  return rows;
}

export async function brandSlugs(tx: Tx): Promise<string[]> {
  const brands = await tx.kysely.selectFrom('brand').select('slug').orderBy('slug').execute();
  return brands.map(({ slug }) => slug);
}

export async function brandBySlug(tx: Tx, slug: string): Promise<BrandLook | undefined> {
  const { rows } = await sql<BrandLook>`${LOOK} where slug = ${slug}`.execute(tx.kysely);
  return rows[0];
}
