/** The administrators of single applications. (docs/reference/administration.md#application-administrators.) */

import { administer, applicationOf, type By, editorOf, knownApplication } from '../administration/administer.ts';
import { isSameWindow, refuseWindows, type WantedWindow, windowAfter, windowWords } from '../administration/windows.ts';
import { certain } from '../base/certain.ts';
import { UsherError } from '../base/errors.ts';
import {
  type AppAdminRow,
  deleteAppAdmin,
  findAppAdmin,
  listAppAdmins,
  putAppAdmin,
} from '../persistence/catalog/app-admins.ts';
import type { Committed, Database } from '../persistence/database.ts';
import { ensurePeople, holdPerson } from '../persistence/people/people.ts';

export type { AppAdminRow } from '../persistence/catalog/app-admins.ts';

export class AppAdmins {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** By e-mail; NOT_FOUND for an unknown application. */
  list(app: string): Promise<AppAdminRow[]> {
    return this.#database.read(async (tx) => await listAppAdmins(tx, await knownApplication(tx, app)));
  }

  /** `made` is false when they already are one: then only the window may change. */
  add(
    app: string,
    email: string,
    wanted: WantedWindow,
    by: By,
  ): Promise<Committed<{ made: boolean; admin: AppAdminRow }>> {
    const about = { app, action: 'app_admin.added', guard: editorOf(app), subject: email };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      const appId = await applicationOf(tx, app);
      await ensurePeople(tx, [email]);
      // Locked, so that an administrator found here is not removed before the answer.
      const person = await holdPerson(tx, email);
      if (person === null) throw new Error('person row missing after it was created');
      const held = (await findAppAdmin(tx, appId, person)) ?? null;
      await refuseWindows(tx, [{ path: '', wanted, held }]);
      const after = windowAfter(wanted, held);
      if (held !== null && isSameWindow(held, after)) {
        return { result: { made: false, admin: { email, ...held } }, scopes: [] };
      }
      const createdAt = certain(await putAppAdmin(tx, appId, person, after));
      const [before, words] = [held, after].map((window) => (window === null ? {} : windowWords(window)));
      if (held === null) audit({ subject: email, ...given({ after: words }) });
      else audit({ action: 'app_admin.changed', subject: email, ...given({ before, after: words }) });
      const scopes = [`m:${app}:${email}` as const];
      return { result: { made: held === null, admin: { email, createdAt, ...after } }, scopes };
    });
  }

  /** NOT_FOUND when they are not one. */
  remove(app: string, email: string, by: By): Promise<Committed<null>> {
    const about = { app, action: 'app_admin.removed', guard: editorOf(app), subject: email };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      const appId = await applicationOf(tx, app);
      // Locked: a concurrent `add` then waits for this removal.
      const person = await holdPerson(tx, email);
      if (person === null || !(await deleteAppAdmin(tx, appId, person))) {
        throw new UsherError('NOT_FOUND', `${email} is not an administrator of ${app}.`);
      }
      audit({ subject: email });
      return { result: null, scopes: [`m:${app}:${email}`] };
    });
  }
}

/** Without what says nothing. */
function given(sides: Record<string, object | undefined>): Record<string, object | undefined> {
  return Object.fromEntries(Object.entries(sides).filter(([, side]) => Object.keys(side ?? {}).length > 0));
}
