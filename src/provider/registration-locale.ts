/** The language of a person who registers and has no record yet (docs/reference/identity-provider.md#registration-locale). */

import { PANEL_APP } from '../administration/panel.ts';
import { SYSTEM_LANGUAGE } from '../base/grammar.ts';
import { languageCodes } from '../base/language-tags.ts';
import type { Database } from '../persistence/database.ts';
import { keepRegistrationLocale, supportedOf } from '../persistence/provider/registration-locales.ts';

export interface RegistrationLocale {
  /** In normal form. */
  email: string;
  orgId: string;
  /** As browsers write it, `cs-CZ`; stored is a code of the registry. */
  locale: string;
}

export class RegistrationLocales {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Keeps it for 24 hours; returns the stored code. */
  async keep({ email, orgId, locale }: RegistrationLocale): Promise<RegistrationLocale> {
    const wanted = languageCodes(locale);
    const { result } = await this.#database.change(async (tx) => {
      const supported = await supportedOf(tx, PANEL_APP, wanted);
      const kept = wanted.find((code) => supported.has(code)) ?? SYSTEM_LANGUAGE;
      await keepRegistrationLocale(tx, { email, orgId, locale: kept });
      return { result: kept, scopes: [] };
    });
    return { email, orgId, locale: result };
  }
}
