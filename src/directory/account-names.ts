/** People by their accounts at the issuer of tokens, for callers who know nobody by address (docs/reference/authzen.md#subjects). */

import type { Database } from '../persistence/database.ts';
import { accountsOf, peopleSignedInBy } from '../persistence/people/accounts.ts';

interface AccountNamesOptions {
  readonly database: Pick<Database, 'read'>;
  /** The issuer of tokens. */
  readonly issuer: string;
  /** Whether accounts are bound. */
  readonly bound: boolean;
}

/** Reads the database each time: an account that was unbound must not decide for anybody. */
export class AccountNames {
  readonly #options: AccountNamesOptions;

  constructor(options: AccountNamesOptions) {
    this.#options = options;
  }

  /** The address that tokens of each account are admitted as, by `sub`. Accounts that admit nobody are left out. */
  async emailsOf(subjects: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const { database, issuer, bound } = this.#options;
    return await database.read((tx) => peopleSignedInBy(tx, issuer, subjects, bound));
  }

  /** The reverse: the `sub` of each address. People without an account are left out. */
  async subjectsOf(emails: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (emails.length === 0) return new Map();
    const { database, issuer, bound } = this.#options;
    return await database.read(async (tx) => {
      const accounts = (await accountsOf(tx, emails)).filter((one) => one.signsIn && one.issuer === issuer);
      const subjects = accounts.map(({ subject }) => subject);
      const owners = await peopleSignedInBy(tx, issuer, subjects, bound);
      const own = accounts.filter(({ subject, email }) => owners.get(subject) === email);
      return new Map(own.map(({ subject, email }) => [email, subject]));
    });
  }
}
