/** What templates can say beside the payload. (docs/reference/notifications.md#templates.) */

import type { BrandLook } from '../persistence/notifications/brands.ts';

export interface Reader {
  readonly email: string;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly displayName: string | null;
  readonly locale: string | null;
}

/** The four that win over members of the payload. */
const RESERVED = new Set(['user', 'app', 'brand', 'locale']);

/** What the reserved variables are made of. */
interface Surroundings {
  readonly app: { readonly code: string; readonly name: string };
  readonly brand: BrandLook | undefined;
  readonly locale: string;
}

/** The reserved variables. Null becomes what Liquid shows as nothing. */
export function variablesOf(about: Surroundings & { readonly user: Reader }) {
  return { user: readerOf(about.user, about.locale), ...surroundingsOf(about) };
}

/** All of them but `user`. */
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

/** `user`, who is written to in `locale`. */
export function readerOf({ email, firstName, lastName, displayName, locale: own }: Reader, locale: string): Reader {
  return { email, firstName, lastName, displayName, locale: own ?? locale };
}

/** Which of `required` the payload lacks, each once, in order. `order.id` asks for a member of a member. */
export function missingVariables(required: Iterable<string>, payload: Readonly<Record<string, unknown>>): string[] {
  return [...new Set(required)].filter((name) => !isGiven(name, payload)).sort();
}

function isGiven(name: string, payload: Readonly<Record<string, unknown>>): boolean {
  if (Object.hasOwn(payload, name)) return payload[name] !== null;
  const [first = '', ...rest] = name.split('.');
  // What the service itself gives is never missing.
  if (RESERVED.has(first)) return true;
  let value: unknown = first === 'payload' ? payload : Object.hasOwn(payload, first) ? payload[first] : null;
  for (const member of rest) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, member)) return false;
    value = (value as Record<string, unknown>)[member];
  }
  return value !== null && value !== undefined;
}
