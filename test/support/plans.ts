import { CompiledQuery, type Kysely, type KyselyPlugin, type RootOperationNode } from 'kysely';
import type { Tx } from '../../src/persistence/database.ts';
import { preparedName } from '../../src/persistence/driver/dialect.ts';
import type { Schema } from '../../src/persistence/entities/schema.ts';

/** What EXPLAIN (FORMAT JSON) says of one node; only what is looked at here. */
export interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Shared Hit Blocks'?: number;
  'Shared Read Blocks'?: number;
  Plans?: PlanNode[];
}

/** The plans of the statements that `run` sends: with their values, and of prepared ones the generic plan as well. */
export async function plansOf(tx: Tx, run: (tx: Tx) => Promise<unknown>): Promise<PlanNode[]> {
  const plans: PlanNode[] = [];
  for (const { sql: text, parameters } of await statementsOf(tx, run)) {
    const generic: [string, unknown[]][] = preparedName(text) === undefined ? [] : [['generic_plan, ', []]];
    for (const [how, values] of [['', [...parameters]] as const, ...generic]) {
      const { rows } = await tx.kysely.executeQuery<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        CompiledQuery.raw(`explain (${how}format json) ${text}`, [...values]),
      );
      if (rows[0]) plans.push(rows[0]['QUERY PLAN'][0].Plan);
    }
  }
  return plans;
}

/** Pages of 8 kB that the statements of `run`, which only read, touch. */
export async function pagesOf(tx: Tx, run: (tx: Tx) => Promise<unknown>): Promise<number> {
  let pages = 0;
  for (const { sql: text, parameters } of await statementsOf(tx, run)) {
    const { rows } = await tx.kysely.executeQuery<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      CompiledQuery.raw(`explain (analyze, buffers, format json) ${text}`, [...parameters]),
    );
    const plan = rows[0]?.['QUERY PLAN'][0].Plan;
    pages += (plan?.['Shared Hit Blocks'] ?? 0) + (plan?.['Shared Read Blocks'] ?? 0);
  }
  return pages;
}

/** The tables that a plan reads whole. */
export function scannedTables(plan: PlanNode): string[] {
  return [
    ...(plan['Node Type'] === 'Seq Scan' && plan['Relation Name'] !== undefined ? [plan['Relation Name']] : []),
    ...(plan.Plans ?? []).flatMap(scannedTables),
  ];
}

/** The statements that `run` sends, as they are sent. */
async function statementsOf(tx: Tx, run: (tx: Tx) => Promise<unknown>): Promise<CompiledQuery[]> {
  const sent: CompiledQuery[] = [];
  const executor = tx.kysely.getExecutor();
  const note: KyselyPlugin = {
    transformQuery: ({ node, queryId }) => {
      sent.push(executor.compileQuery(node as RootOperationNode, queryId));
      return node;
    },
    transformResult: ({ result }) => Promise.resolve(result),
  };
  const noting: Kysely<Schema> = tx.kysely.withPlugin(note);
  // Prepared ones are sent as texts.
  const prepared = noting.executeQuery.bind(noting);
  noting.executeQuery = ((query: CompiledQuery) => {
    sent.push(query);
    return prepared(query);
  }) as typeof noting.executeQuery;
  await run({ kysely: noting });
  return sent;
}
