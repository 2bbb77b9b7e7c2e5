/** The variables of templates beside the payload (docs/reference/notifications.md#templates). */

import { hasMembers } from '../base/members.ts';
import type { BrandLook } from '../persistence/notifications/brands.ts';

export interface Reader {
  readonly email: string;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly displayName: string | null;
  readonly locale: string | null;
  readonly timezone: string | null;
}

/** The variables that take precedence over members of the payload. */
const RESERVED = new Set(['user', 'app', 'brand', 'locale']);

/** The source of the reserved variables other than `user`. */
interface Surroundings {
  readonly app: { readonly code: string; readonly name: string };
  readonly brand: BrandLook | undefined;
  readonly locale: string;
}

/** The reserved variables. Liquid renders null as an empty string. */
export function variablesOf(about: Surroundings & { readonly user: Reader }) {
  return { user: readerOf(about.user, about.locale), ...surroundingsOf(about) };
}

/** The reserved variables other than `user`. */
export function surroundingsOf({ app, brand, locale }: Surroundings) {
  return {
    app: { code: app.code, name: app.name },
    brand: {
      slug: brand?.slug ?? null,
      name: brand?.name ?? null,
      primaryColor: brand?.primaryColor ?? null,
      logoUrl: brand?.logoUrl ?? null,
      footerText: brand?.footerText ?? null,
    },
    locale,
  };
}

/** The variable `user`; `locale` is the language of the message, used for a user without their own. */
export function readerOf(
  { email, firstName, lastName, displayName, locale: own, timezone }: Reader,
  locale: string,
): Reader {
  return { email, firstName, lastName, displayName, locale: own ?? locale, timezone };
}

/** The `required` variables that the payload lacks, sorted, without duplicates. `order.id` names a nested member. */
export function missingVariables(required: Iterable<string>, payload: Readonly<Record<string, unknown>>): string[] {
  return [...new Set(required)].filter((name) => !isGiven(name, payload)).sort();
}

function isGiven(name: string, payload: Readonly<Record<string, unknown>>): boolean {
  if (Object.hasOwn(payload, name)) return payload[name] !== null;
  const [first = '', ...rest] = name.split('.');
  // The service itself supplies these.
  if (RESERVED.has(first)) return true;
  let value: unknown = first === 'payload' ? payload : Object.hasOwn(payload, first) ? payload[first] : null;
  for (const member of rest) {
    if (!hasMembers(value) || !Object.hasOwn(value, member)) return false;
    value = value[member];
  }
  return value !== null && value !== undefined;
}
