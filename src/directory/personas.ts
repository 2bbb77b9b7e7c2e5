/** People worth being while one tries the panel in development (docs/reference/service.md#development-sign-in). */

import { PANEL_APP, PANEL_ENTRY, PANEL_MANAGE } from '../administration/panel.ts';
import { keysOf } from '../base/own-keys.ts';
import type { Database } from '../persistence/database.ts';
import { type PersonaRow, readPersonas } from '../persistence/directory/personas.ts';

export interface Persona {
  readonly email: string;
  /** Their display name; without one the address. */
  readonly name: string;
  readonly role: PersonaRow['part'];
  /** A sentence that says what they are. */
  readonly description: string;
}

/** How many of each part are shown: eight at most. */
const SHOWN: Readonly<Record<PersonaRow['part'], number>> = {
  superadmin: 2,
  app_admin: 2,
  panel_edit: 1,
  panel_view: 1,
  user: 2,
};

export class Personas {
  readonly #database: Pick<Database, 'read'>;

  constructor(database: Pick<Database, 'read'>) {
    this.#database = database;
  }

  /** A few active people of each kind, SuperAdmins first, the oldest first. */
  async list(): Promise<Persona[]> {
    const panel = { app: PANEL_APP, entry: PANEL_ENTRY, manage: PANEL_MANAGE };
    const rows = await this.#database.read((tx) => readPersonas(tx, panel));
    const parts = keysOf(SHOWN);
    return parts
      .flatMap((part) => rows.filter((row) => row.part === part).slice(0, SHOWN[part]))
      .map((row) => ({
        email: row.email,
        name: row.displayName ?? row.email,
        role: row.part,
        description: descriptionOf(row),
      }));
  }
}

function descriptionOf({ part, application, role }: PersonaRow): string {
  switch (part) {
    case 'superadmin':
      return 'SuperAdmin: is allowed everything.';
    case 'app_admin':
      return `Administrator of ${application ?? ''}.`;
    case 'panel_edit':
      return 'Panel user who changes applications.';
    case 'panel_view':
      return 'Panel user who only looks.';
    case 'user':
      return `Has the role ${role ?? ''} in ${application ?? ''}.`;
  }
}
