import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import { switchOf } from './preferences.ts';

/** A person's mail of one type, for a page that switches it. */
export interface Subscription {
  appName: string;
  typeName: string;
  /** Whether users may switch it. */
  switchable: boolean;
  /** Whether it is on. */
  email: boolean;
  /** The person's language; null where they have chosen none. */
  locale: string | null;
  /** The person's brand, or the default one: that of the mail. */
  brand: {
    name: string;
    primaryColor: string | null;
    backgroundColor: string | null;
    logoUrl: string | null;
    footerText: string | null;
  };
}

interface Row extends Omit<Subscription, 'brand'>, Omit<Subscription['brand'], 'name'> {
  brandName: string;
}

/** Undefined when the person or the type no longer exists. */
export async function findSubscription(tx: Tx, person: number, type: number): Promise<Subscription | undefined> {
  const { rows } = await sql<Row>`
    select a.name as "appName", t.name as "typeName", t.user_can_disable as switchable,
      ${switchOf('email')} as email, p.locale,
      b.name as "brandName", b.primary_color as "primaryColor", b.background_color as "backgroundColor",
      b.logo_url as "logoUrl", b.footer_text as "footerText"
    from notification_type t
    join application a on a.id = t.application_id
    join person o on o.id = ${person}
    left join profile p on p.person_id = o.id
    left join notification_preference c on c.notification_type_id = t.id and c.person_id = o.id
    join brand b on b.id = coalesce(p.brand_id, (select id from brand where is_default))
    where t.id = ${type}`.execute(tx.kysely);
  const [row] = rows;
  if (row === undefined) return undefined;
  const { brandName: name, primaryColor, backgroundColor, logoUrl, footerText, ...rest } = row;
  return { ...rest, brand: { name, primaryColor, backgroundColor, logoUrl, footerText } };
}
