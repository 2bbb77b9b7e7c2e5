import type { QueryResultRow } from 'pg';
import {
  type FactsSource,
  type LogWindow,
  MAX_NEEDS,
  type MemberAnswer,
  type MemberNeed,
  type PolicyRows,
  type ReplicaSource,
} from '../../engine/types.ts';
import type { Tx } from '../database.ts';
import { toDatabaseError } from '../driver/failures.ts';
import type { Embedded } from '../driver/pglite.ts';
import { ClientPool, type ClientPoolOptions } from '../driver/postgresql.ts';
import { Prepared } from '../driver/prepared.ts';
import type { Failover } from './failover.ts';
import {
  type GroundsRow,
  type HeadRow,
  type MembersRow,
  type PolicyRow,
  readAnswers,
  readGrounds,
  readHead,
  readPolicy,
  readWindow,
  type WindowRow,
} from './rows.ts';
import {
  CHANGES_SQL,
  GROUNDS_SQL,
  MEMBER_SQL,
  MEMBERS_SQL,
  POLICY_ALONE_SQL,
  POLICY_SQL,
  REPLICA_MEMBERS_SQL,
} from './sql.ts';

/** A statement by name, so that a connection prepares it once. Answers its only row. */
type Ask = <R extends HeadRow>(name: string, sql: string, parameters: readonly unknown[]) => Promise<R>;

/** `facts` reads people and policies, `log` what need not be repeated. */
interface Asks {
  readonly facts: Ask;
  readonly log: Ask;
}

function source(parallelism: number, asks: Asks, listen: FactsSource['listen'], members = MEMBERS_SQL): FactsSource {
  const asking = async <R extends HeadRow>(
    ask: Ask,
    name: string,
    sql: string,
    parameters: readonly unknown[],
  ): Promise<R> => {
    try {
      return await ask<R>(name, sql, parameters);
    } catch (error) {
      throw toDatabaseError(error);
    }
  };
  return {
    parallelism,
    async members(since, needs) {
      if (needs.length === 0 || needs.length > MAX_NEEDS) throw new RangeError(`1 to ${MAX_NEEDS} needs per statement`);
      const row = await asking<MembersRow>(asks.facts, 'usher_members', members, [since, ...columns(needs)]);
      return { window: readWindow(row, since), answers: readAnswers(row, needs) };
    },
    async policy(since, app) {
      const row = await asking<PolicyRow>(asks.facts, 'usher_policy', POLICY_SQL, [since, app]);
      return { window: readWindow(row, since), policy: readPolicy(row, app) };
    },
    async grounds(since, question) {
      const { email, app, permission, resourceType, resourceId } = question;
      const parameters = [since, email, app, resourceType, resourceId, permission];
      const row = await asking<GroundsRow>(asks.facts, 'usher_grounds', GROUNDS_SQL, parameters);
      return { window: readHead(row), grounds: readGrounds(row, question) };
    },
    async changes(since): Promise<LogWindow> {
      return readWindow(await asking<WindowRow>(asks.log, 'usher_changes', CHANGES_SQL, [since]), since);
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

/** Concurrent loads; one more connection is for the sync beside them. */
const LOADS = 4;

/** The facts' own pool, so that slow writers never hold up a check. Its sessions cannot write. */
export function createFactsPool(
  options: Pick<ClientPoolOptions, 'name' | 'url' | 'clock' | 'log' | 'connecting'>,
): ClientPool {
  return new ClientPool({
    ...options,
    max: LOADS + 1,
    // Together with the pool's grace for dead connections below 2 s: after a network outage a check may hang on one for that long.
    statementTimeoutMs: 1400,
    lockTimeoutMs: 1400,
    keep: true,
    // Always the plan by index, prepared once, whatever the statistics say after a big load.
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

/** Facts are read across a failover. */
export function postgresFacts(pool: ClientPool, listen: FactsSource['listen'], failover: Failover): FactsSource {
  const ask = askOf(pool);
  const asks: Asks = {
    facts: (...statement) => failover.waitedOut(() => ask(...statement)),
    log: (...statement) => failover.seen(() => ask(...statement)),
  };
  return source(LOADS, asks, listen);
}

/** Without a failover: a replica is better left alone, and the primary asked. */
export function replicaFacts(pool: ClientPool): ReplicaSource {
  const ask = askOf(pool);
  return source(LOADS, { facts: ask, log: ask }, noNotifications, REPLICA_MEMBERS_SQL);
}

function askOf(pool: ClientPool): Ask {
  return async <R extends HeadRow>(name: string, text: string, values: readonly unknown[]) =>
    only((await pool.query<R & QueryResultRow>({ name, text, values: [...values] })).rows);
}

/** For what has nothing to listen to. */
const noNotifications: FactsSource['listen'] = () => Promise.resolve(() => Promise.resolve());

/** The embedded database has one process and one session: there are no other writers. */
export function embeddedFacts(embedded: Embedded): FactsSource {
  const ask: Ask = async <R extends HeadRow>(name: string, sql: string, parameters: readonly unknown[]) =>
    only(await embedded.query<R>(sql, parameters, name));
  return source(1, { facts: ask, log: ask }, noNotifications);
}

function only<R>(rows: readonly R[]): R {
  const row = rows[0];
  if (row === undefined || rows.length !== 1) throw new Error('A statement of facts must return one row.');
  return row;
}

const MEMBER = new Prepared<Pick<MembersRow, 'answers'>>('member_alone', MEMBER_SQL);
const POLICY = new Prepared<Omit<PolicyRow, keyof WindowRow>>('policy_alone', POLICY_ALONE_SQL);

/** The same facts from the rows of `tx`, including its own uncommitted ones: for guards of writes. */
export async function memberIn(tx: Tx, need: MemberNeed): Promise<MemberAnswer> {
  const { email, app, resourceType, resourceId } = need;
  const [answer] = readAnswers(await MEMBER.row(tx, email, app, resourceType, resourceId), [need]);
  if (answer === undefined) throw new Error('one need must have one answer');
  return answer;
}

/** One application's policy from the rows of `tx`. */
export async function policyIn(tx: Tx, app: string): Promise<PolicyRows> {
  return readPolicy(await POLICY.row(tx, app), app);
}
