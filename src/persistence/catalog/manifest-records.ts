/** Rows in the form of a manifest's records. Types alone: the panel, which reads manifests in the browser, sees nothing of a database. */

import type { TemplateWords, TypeSwitch } from '../../base/channels.ts';

/** A type as a manifest describes it. */
export interface NotificationTypeRow extends Record<TypeSwitch, boolean> {
  code: string;
  name: string;
  description: string | null;
  system: boolean;
  emailFromName: string | null;
}

/** A template by its place and its parts, without ids. */
export interface TemplateContent extends TemplateWords {
  /** The type's code. */
  type: string;
  key: string;
  locale: string;
  requiredVariables: string[];
}
