/** The language of a person who registers and has no record yet (docs/reference/identity-provider.md#registration-locale). */

import { PANEL_APP } from '../administration/panel.ts';
import { isLanguageCode, lowerAscii, SYSTEM_LANGUAGE } from '../base/grammar.ts';
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
    const wanted = codesOf(locale);
    const { result } = await this.#database.change(async (tx) => {
      const supported = await supportedOf(tx, PANEL_APP, wanted);
      const kept = wanted.find((code) => supported.has(code)) ?? SYSTEM_LANGUAGE;
      await keepRegistrationLocale(tx, { email, orgId, locale: kept });
      return { result: kept, scopes: [] };
    });
    return { email, orgId, locale: result };
  }
}

/** The codes that a BCP 47 tag can mean, the more exact first: `pt-BR` is `pt-br`, else `pt`. */
function codesOf(locale: string): string[] {
  const [language = '', ...rest] = lowerAscii(locale.trim()).replaceAll('_', '-').split('-');
  // A script may stand before the region: zh-Hans-CN.
  const region = rest.find((part) => /^(?:[a-z]{2}|[0-9]{3})$/.test(part));
  return [...(region === undefined ? [] : [`${language}-${region}`]), language].filter(isLanguageCode);
}
