import type pg from 'pg';
import { numberOf } from '../support/revisions.ts';

/** A write that was acknowledged. */
export interface Acknowledged {
  email: string;
  granted: boolean;
  revision: string;
}

/** What a check was told. */
export interface Told {
  email: string;
  allowed: boolean;
  revision: string;
  /** The newest revision that its instance had acknowledged before it was asked. */
  floor: number;
  /** Performance time of the answer. */
  at: number;
}

interface Row {
  revision: string;
  nonce: string;
  email: string;
  actor: string;
}

/** Who made a row of the log says what it did. */
export const GRANT = 'key:grant';
export const REVOKE = 'key:revoke';

/** The log as it is at the end, of whatever history. */
export class Judge {
  readonly #nonces = new Map<number, string>();
  /** By person, in the order of revisions. */
  readonly #states = new Map<string, { revision: number; granted: boolean }[]>();

  /** `authors` are those by whom rights were given and taken, as the log names them. */
  static async of(client: pg.Client, authors = { grant: GRANT, revoke: REVOKE }): Promise<Judge> {
    const judge = new Judge();
    const { rows } = await client.query<Row>(
      `select revision, nonce, split_part(scopes[1], ':', 3) as email, actor from policy_change order by revision`,
    );
    for (const { revision, nonce, email, actor } of rows) {
      judge.#nonces.set(Number(revision), nonce);
      if (actor !== authors.grant && actor !== authors.revoke) continue;
      const states = judge.#states.get(email) ?? [];
      states.push({ revision: Number(revision), granted: actor === authors.grant });
      judge.#states.set(email, states);
    }
    return judge;
  }

  has(revision: string): boolean {
    const number = numberOf(revision);
    return this.#nonces.has(number) && `${number}.${this.#nonces.get(number)}` === revision;
  }

  lost(acknowledged: readonly Acknowledged[]): Acknowledged[] {
    return acknowledged.filter(
      ({ email, granted, revision }) =>
        !this.has(revision) ||
        this.#states.get(email)?.find((s) => s.revision === numberOf(revision))?.granted !== granted,
    );
  }

  /** Whether the person held it at that revision. */
  expected(email: string, revision: number): boolean {
    return this.#states.get(email)?.findLast((state) => state.revision <= revision)?.granted ?? false;
  }

  /**
   * Answers of this history that are not what it says at their revision, or are older than what their instance had acknowledged.
   */
  wrong(told: readonly Told[]): Told[] {
    return told.filter(({ email, allowed, revision, floor }) => {
      const number = numberOf(revision);
      return this.has(revision) && (allowed !== this.expected(email, number) || number < floor);
    });
  }

  /** People of whom the tables do not say what the log says. */
  async apart(client: pg.Client): Promise<string[]> {
    const { rows } = await client.query<{ email: string }>(
      'select p.email from user_role u join person p on p.id = u.person_id',
    );
    const holding = new Set(rows.map(({ email }) => email));
    return [...this.#states.keys()].filter(
      (email) => holding.has(email) !== this.expected(email, Number.MAX_SAFE_INTEGER),
    );
  }
}
