/** The records in the panel's application that the service itself needs (docs/reference/administration.md#the-systems-own-records): neither a route nor a manifest may remove them. */

import {
  PANEL_ADMIN,
  PANEL_APP,
  PANEL_ENTITY,
  PANEL_ENTRY,
  PANEL_MANAGE,
  PANEL_MANAGER,
} from '../administration/panel.ts';

/** Entities keep their code; permissions also their type and `global`. */
const NEEDED = {
  entities: new Set([PANEL_ENTITY]),
  permissions: new Set([PANEL_ENTRY, PANEL_MANAGE]),
  roles: new Set([PANEL_MANAGER, PANEL_ADMIN]),
} as const satisfies Record<string, ReadonlySet<string>>;

export function isSystemRecord(app: string, section: keyof typeof NEEDED, code: string): boolean {
  return app === PANEL_APP && NEEDED[section].has(code);
}
