/** Whom a subject of AuthZEN names (docs/reference/authzen.md#subjects). */

import { hasForbiddenCharacters, isLongerThan } from '../../base/grammar.ts';
import type { AccountNames } from '../../directory/account-names.ts';
import type { MaybePromise } from '../../rpc/call.ts';

interface Subject {
  readonly type: string;
  readonly id: string;
}

/** Stands for a subject that names nobody: not an address, so that the other fields are read as usual and the question is denied. */
const NOBODY = '-';
/** OpenID Connect Core 2: at most 255 ASCII characters. Longer ones are read as addresses, whose rules they break. */
const MAX_SUB = 255;

interface SubjectIdsOptions {
  readonly types: readonly string[];
  /** Those whose people `show` names by account. */
  readonly accountTypes: readonly string[];
  readonly accounts: Pick<AccountNames, 'emailsOf' | 'subjectsOf'>;
}

export class SubjectIds {
  readonly #types: ReadonlySet<string>;
  readonly #accountTypes: ReadonlySet<string>;
  readonly #accounts: SubjectIdsOptions['accounts'];

  constructor({ types, accountTypes, accounts }: SubjectIdsOptions) {
    this.#types = new Set(types);
    this.#accountTypes = new Set(accountTypes);
    this.#accounts = accounts;
  }

  /** Whether subjects of that type may be people. */
  has(type: string): boolean {
    return this.#types.has(type);
  }

  /** The address of each subject, in their order, for the questions that `ask` asks. Synchronous when all are addresses and `ask` is. */
  read<T>(subjects: readonly Subject[], ask: (emails: readonly string[]) => MaybePromise<T>): MaybePromise<T> {
    const accounts = new Set(subjects.filter((one) => this.#isAccount(one)).map(({ id }) => id));
    if (accounts.size === 0) return ask(subjects.map((one) => this.#emailOf(one, NO_OWNERS)));
    return this.#accounts
      .emailsOf([...accounts])
      .then((owners) => ask(subjects.map((one) => this.#emailOf(one, owners))));
  }

  /** People as subjects of a type, by address or by account. By account those without one are left out. */
  async show(type: string, emails: readonly string[]): Promise<Subject[]> {
    if (!this.#accountTypes.has(type)) return emails.map((id) => ({ type, id }));
    const subjects = await this.#accounts.subjectsOf(emails);
    return emails.flatMap((email) => {
      const id = subjects.get(email);
      return id === undefined ? [] : [{ type, id }];
    });
  }

  #isAccount({ type, id }: Subject): boolean {
    return this.#types.has(type) && !id.includes('@') && !isLongerThan(id, MAX_SUB) && !hasForbiddenCharacters(id);
  }

  #emailOf(subject: Subject, owners: ReadonlyMap<string, string>): string {
    if (!this.#types.has(subject.type)) return NOBODY;
    return this.#isAccount(subject) ? (owners.get(subject.id) ?? NOBODY) : subject.id;
  }
}

const NO_OWNERS: ReadonlyMap<string, string> = new Map();
