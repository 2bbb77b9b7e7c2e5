import { sql } from 'kysely';
import type { Tx } from '../database.ts';

/** The fields of a brand that templates can use. */
export interface BrandLook {
  id: number;
  slug: string;
  name: string;
  primaryColor: string | null;
  logoUrl: string | null;
  footerText: string | null;
  isDefault: boolean;
}

/** The brands that these people have chosen, and the default one; by id. */
export async function brandsFor(tx: Tx, brands: readonly number[]): Promise<BrandLook[]> {
  const { rows } = await sql<BrandLook>`
    select id, slug, name, primary_color as "primaryColor", logo_url as "logoUrl", footer_text as "footerText",
      is_default as "isDefault"
    from brand where is_default or id = any(${brands}::bigint[])`.execute(tx.kysely);
  return rows;
}

export async function brandBySlug(tx: Tx, slug: string): Promise<BrandLook | undefined> {
  const { rows } = await sql<BrandLook>`
    select id, slug, name, primary_color as "primaryColor", logo_url as "logoUrl", footer_text as "footerText",
      is_default as "isDefault"
    from brand where slug = ${slug}`.execute(tx.kysely);
  return rows[0];
}
