import type { QueryResultRow } from 'pg';
import {
  type FactsSource,
  type LogWindow,
  MAX_NEEDS,
  type MemberAnswer,
  type MemberNeed,
  type PolicyRows,
} from '../../engine/types.ts';
import type { Tx } from '../database.ts';
import { toDatabaseError } from '../driver/failures.ts';
import type { Embedded } from '../driver/pglite.ts';
import { ClientPool, type ClientPoolOptions } from '../driver/postgresql.ts';
import { Prepared } from '../driver/prepared.ts';
import { type MembersRow, type PolicyRow, readAnswers, readPolicy, readWindow, type WindowRow } from './rows.ts';
import { CHANGES_SQL, MEMBER_SQL, MEMBERS_SQL, POLICY_ALONE_SQL, POLICY_SQL } from './sql.ts';

/** A statement by name, so that a connection prepares it once. Answers its only row. */
type Ask = <R extends WindowRow>(name: string, sql: string, parameters: readonly unknown[]) => Promise<R>;

function source(parallelism: number, ask: Ask, listen: FactsSource['listen']): FactsSource {
  const asking = async <R extends WindowRow>(name: string, sql: string, parameters: readonly unknown[]): Promise<R> => {
    try {
      return await ask<R>(name, sql, parameters);
    } catch (error) {
      throw toDatabaseError(error);
    }
  };
  return {
    parallelism,
    async members(since, needs) {
      if (needs.length === 0 || needs.length > MAX_NEEDS) throw new RangeError(`1 to ${MAX_NEEDS} needs a statement`);
      const row = await asking<MembersRow>('usher_members', MEMBERS_SQL, [since, ...columns(needs)]);
      return { window: readWindow(row, since), answers: readAnswers(row, needs) };
    },
    async policy(since, app) {
      const row = await asking<PolicyRow>('usher_policy', POLICY_SQL, [since, app]);
      return { window: readWindow(row, since), policy: readPolicy(row, app) };
    },
    async changes(since): Promise<LogWindow> {
      return readWindow(await asking<WindowRow>('usher_changes', CHANGES_SQL, [since]), since);
    },
    listen,
  };
}

function columns(needs: readonly MemberNeed[]): [string[], string[], string[], string[]] {
  return [
    needs.map((need) => need.email),
    needs.map((need) => need.app),
    needs.map((need) => need.resourceType),
    needs.map((need) => need.resourceId),
  ];
}

/** Loads at once; one more connection is for the sync that goes on beside them. */
const LOADS = 4;

/** The pool of the facts: its own, so that slow writers never hold up a check. Its sessions cannot write. */
export function createFactsPool(options: Pick<ClientPoolOptions, 'url' | 'clock' | 'log' | 'connecting'>): ClientPool {
  return new ClientPool({
    ...options,
    max: LOADS + 1,
    // With the pool's grace for dead lines under 2 s: so long after a network is back a check may still hang on one.
    statementTimeoutMs: 1400,
    lockTimeoutMs: 1400,
    keep: true,
    // The plan by index, prepared once, whatever the statistics say after a big load.
    settings: {
      default_transaction_read_only: 'on',
      plan_cache_mode: 'force_generic_plan',
      enable_seqscan: 'off',
      enable_hashjoin: 'off',
      enable_mergejoin: 'off',
      jit: 'off',
    },
  });
}

export function postgresFacts(pool: ClientPool, listen: FactsSource['listen']): FactsSource {
  const ask: Ask = async <R extends WindowRow>(name: string, text: string, values: readonly unknown[]) =>
    only((await pool.query<R & QueryResultRow>({ name, text, values: [...values] })).rows);
  return source(LOADS, ask, listen);
}

/** The embedded database has one process and one session: nobody else writes, so there is nothing to listen to. */
export function embeddedFacts(embedded: Embedded): FactsSource {
  const ask: Ask = async <R extends WindowRow>(_name: string, sql: string, parameters: readonly unknown[]) =>
    only(await embedded.query<R>(sql, parameters));
  return source(1, ask, () => Promise.resolve(() => Promise.resolve()));
}

function only<R>(rows: readonly R[]): R {
  const row = rows[0];
  if (row === undefined || rows.length !== 1) throw new Error('A statement of facts answers one row.');
  return row;
}

const MEMBER = new Prepared<Pick<MembersRow, 'answers'>>('member_alone', MEMBER_SQL);
const POLICY = new Prepared<Omit<PolicyRow, keyof WindowRow>>('policy_alone', POLICY_ALONE_SQL);

/** The same facts as rows of `tx` show them, its own uncommitted ones included: for guards of writes. */
export async function memberIn(tx: Tx, need: MemberNeed): Promise<MemberAnswer> {
  const { email, app, resourceType, resourceId } = need;
  const [answer] = readAnswers(await MEMBER.row(tx, email, app, resourceType, resourceId), [need]);
  if (answer === undefined) throw new Error('one need has one answer');
  return answer;
}

/** One application's policy as rows of `tx` show it. */
export async function policyIn(tx: Tx, app: string): Promise<PolicyRows> {
  return readPolicy(await POLICY.row(tx, app), app);
}
