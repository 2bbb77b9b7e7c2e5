/** A manifest as its schema reads it (schema.ts), and its records by name. */

import type { z } from 'zod';
import type { NotificationTypeRow, TemplateContent } from '../../persistence/catalog/manifest-records.ts';
import type * as schema from './schema.ts';

export type { AccessLevel, Section, Window } from './schema.ts';
export type ManifestApplication = z.output<typeof schema.Application>;
export type ManifestEntity = z.output<typeof schema.Entity>;
export type ManifestPermission = z.output<typeof schema.Permission>;
export type PermissionType = ManifestPermission['type'];
export type ManifestRole = z.output<typeof schema.Role>;
export type ManifestNotificationType = NotificationTypeRow;
/** The template of a type in one language. Null means absent; an empty part is present. */
export type ManifestTemplate = TemplateContent;
/** `accessLevel` null beside `granted: true` means the highest level of the permission's type. */
export type ManifestOverride = z.output<typeof schema.Override>;

/**
 * A manifest whose fields all have the right form; the plan checks it against the database.
 * A section is null when it is absent; an invalid record is null, so that indexes match the text.
 */
export type Manifest = { application: ManifestApplication } & {
  [Name in schema.Section]: readonly (z.output<(typeof schema.SECTIONS)[Name]>[number] | null)[] | null;
} & {
  /** `section:code` of invalid records: references to them are not reported as faults. */
  spoiled: ReadonlySet<string>;
};

/** The records of a section of a manifest without faults: none of them is null. */
export function present<T>(section: readonly (T | null)[] | null): T[] {
  return (section ?? []).filter((record) => record !== null);
}
