/** A user's record as the API returns it (docs/reference/people.md#profiles). */

import type { ProfileRow } from '../persistence/directory/profiles.ts';

export type { ProfileRow } from '../persistence/directory/profiles.ts';

export type Theme = ProfileRow['theme'];

export interface ProfileRecord {
  id: number;
  email: string;
  firstName: string | null;
  lastName: string | null;
  displayName: string | null;
  avatarUrl: string | null;
  /** Null means the system language, `en`. */
  locale: string | null;
  theme: Theme;
  /** Null means the system time zone. */
  timezone: string | null;
  /** A slug. */
  brand: string;
  /** Where users edit name, password and passkeys; null where no provider is configured. */
  identityProfileUrl: string | null;
  /** ISO 8601, UTC. */
  createdAt: string;
  updatedAt: string;
}

/** The record of a row. `idpPublicUrl` is `idp.publicUrl` of the configuration. */
export function profileRecord(row: ProfileRow, idpPublicUrl: string | null): ProfileRecord {
  return {
    id: row.id,
    email: row.email,
    firstName: row.firstName,
    lastName: row.lastName,
    displayName: row.displayName,
    avatarUrl: row.avatarUrl,
    locale: row.locale,
    theme: row.theme,
    timezone: row.timezone,
    brand: row.brand,
    identityProfileUrl: idpPublicUrl === null ? null : `${idpPublicUrl}/ui/console/users/me`,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}
