import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import type { Row } from '../entities/schema.ts';
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
  brand: Pick<Row<'brand'>, 'name' | 'primaryColor' | 'backgroundColor' | 'logoUrl' | 'footerText'>;
}

interface Found extends Omit<Subscription, 'brand'>, Omit<Subscription['brand'], 'name'> {
  brandName: string;
}

/** Undefined when the person or the type no longer exists. */
export async function findSubscription(tx: Tx, person: number, type: number): Promise<Subscription | undefined> {
  const { rows } = await sql<Found>`
    select a.name as app_name, t.name as type_name, t.user_can_disable as switchable,
      ${switchOf('email')} as email, p.locale,
      b.name as brand_name, b.primary_color, b.background_color, b.logo_url, b.footer_text
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
