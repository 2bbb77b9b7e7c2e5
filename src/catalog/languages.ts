/** The registry of languages and their fallbacks. (docs/reference/administration.md#languages.) */

import { administer, type By, superAdmin } from '../administration/administer.ts';
import { isSame, refuseField, refuseImmutable, refuseSystem } from '../administration/records.ts';
import { UsherError } from '../base/errors.ts';
import { SYSTEM_LANGUAGE } from '../base/grammar.ts';
import { unknownLanguages } from '../base/unregistered.ts';
import {
  deleteLanguage,
  insertLanguage,
  type LanguageRow,
  languageCodes,
  listLanguages,
  lockLanguage,
  lockLanguages,
  makesLoop,
  updateLanguage,
  usersOfLanguage,
} from '../persistence/catalog/languages.ts';
import type { Committed, Database, Tx } from '../persistence/database.ts';

export type { LanguageRow } from '../persistence/catalog/languages.ts';

const guard = superAdmin('change the language registry');

/** Languages decide no permission: these writes touch no scope. */
export class Languages {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** All languages, by code. */
  list(): Promise<LanguageRow[]> {
    return this.#database.read(listLanguages);
  }

  /** ALREADY_EXISTS; UNKNOWN_LANGUAGES for an unknown fallback, VALIDATION_FAILED for one that leads back to the language. */
  create(language: LanguageRow, by: By): Promise<Committed<LanguageRow>> {
    const about = { app: null, action: 'language.created', guard };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      await lockLanguages(tx);
      await refuseFallback(tx, language.code, language.fallback);
      const made = await insertLanguage(tx, language);
      if (made === undefined) throw new UsherError('ALREADY_EXISTS', `Language ${language.code} exists already.`);
      audit({ subject: language.code, after: made });
      return { result: made, scopes: [] };
    });
  }

  /** Changes the fields sent. NOT_FOUND; IMMUTABLE_FIELD for a changed code; refuses a fallback as `create` does. */
  change(
    code: string,
    change: { [Field in keyof LanguageRow]?: LanguageRow[Field] | undefined },
    by: By,
  ): Promise<Committed<LanguageRow>> {
    const about = { app: null, action: 'language.changed', guard };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      await lockLanguages(tx);
      const before = await locked(tx, code);
      refuseImmutable('code', code, change.code);
      const wanted = {
        name: change.name ?? before.name,
        nativeName: change.nativeName ?? before.nativeName,
        fallback: change.fallback === undefined ? before.fallback : change.fallback,
      };
      if (isSame({ code, ...wanted }, before)) return { result: before, scopes: [] };
      await refuseFallback(tx, code, wanted.fallback);
      const after = await updateLanguage(tx, code, wanted);
      audit({ subject: code, before, after });
      return { result: after, scopes: [] };
    });
  }

  /** NOT_FOUND; LANGUAGE_IN_USE while a profile, an application, a template or another language's fallback uses it. */
  delete(code: string, by: By): Promise<Committed<null>> {
    const about = { app: null, action: 'language.deleted', guard };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      await lockLanguages(tx);
      const before = await locked(tx, code);
      const users = await usersOfLanguage(tx, code);
      if (users.length > 0) {
        throw new UsherError('LANGUAGE_IN_USE', `${code} is still in use: ${users.join(', ')}.`, {
          details: { users },
        });
      }
      refuseSystem(code === SYSTEM_LANGUAGE, `language ${code}`);
      await deleteLanguage(tx, code);
      audit({ subject: code, before });
      return { result: null, scopes: [] };
    });
  }
}

async function refuseFallback(tx: Tx, code: string, fallback: string | null): Promise<void> {
  if (fallback === null) return;
  if (fallback === code) refuseField('fallback', 'must be another language');
  if ((await lockLanguage(tx, fallback)) === undefined) {
    throw unknownLanguages([fallback], await languageCodes(tx), 'fallback');
  }
  if (await makesLoop(tx, code, fallback)) refuseField('fallback', `must not lead back to ${code}`);
}

async function locked(tx: Tx, code: string): Promise<LanguageRow> {
  const language = await lockLanguage(tx, code);
  if (language === undefined) throw new UsherError('NOT_FOUND', `There is no language ${code}.`);
  return language;
}
