import { sql } from 'kysely';
import { rules } from '../accounts.ts';
import type { Tx } from '../database.ts';

/** What a token is compared with: the account that signs its address in, and the age of the names. */
export interface KeptAccount {
  /** The person's id. */
  readonly id: number;
  /** Whether the person has a profile. */
  readonly registered: boolean;
  /** Null where no account signs the address in. */
  readonly issuer: string | null;
  readonly subject: string | null;
  /** Whether the account may sign in an address that rules. */
  readonly mayRule: boolean;
  /** Whether the address rules. Asked only for an account that may not: false for the others. */
  readonly rules: boolean;
  readonly namesChangedAt: Date | null;
  readonly namesKept: number;
}

/** The account that signs an address in; undefined for an unknown address. */
export async function findAccount({ kysely }: Tx, email: string): Promise<KeptAccount | undefined> {
  const { rows } = await sql<KeptAccount>`
    select p.id, f.person_id is not null as registered, a.issuer, a.user_id as subject, coalesce(a.may_rule, false) as "mayRule",
      case when a.may_rule then false else ${rules(sql.ref('p.id'))} end as rules,
      f.names_changed_at as "namesChangedAt", coalesce(f.names_kept, 0) as "namesKept"
    from person p left join profile f on f.person_id = p.id
      left join person_account a on a.person_id = p.id and a.signs_in
    where p.email = ${email}`.execute(kysely);
  return rows[0];
}
