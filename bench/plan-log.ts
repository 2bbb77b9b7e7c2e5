/**
 * What PostgreSQL's own auto_explain tells of the statements that it carries out: how many pages each touches, and which tables it
 * reads from beginning to end. Unlike times, these are the same on a busy machine.
 */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import pg from 'pg';

/** What `EXPLAIN (FORMAT JSON, BUFFERS)` says of a node; more than this, too. */
interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Shared Hit Blocks'?: number;
  'Shared Read Blocks'?: number;
  Plans?: PlanNode[];
}

/** What the statements of some calls took together. */
export interface Plans {
  /** Pages of 8 kB of tables and indexes, each as often as it was looked at. */
  pages: number;
  readWhole: Set<string>;
}

const PLAN = /^.*duration: [\d.]+ ms {2}plan:\n((?:\t.*\n)+)/gm;

/** Has sessions of that database, from the next one on, log the plan of each statement. */
export async function explainStatements(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const database = client.escapeIdentifier(new URL(url).pathname.slice(1));
  const settings = {
    log_min_messages: 'log',
    log_parameter_max_length: '0',
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_buffers': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_format': 'json',
  };
  for (const [name, value] of Object.entries(settings)) {
    await client.query(`alter database ${database} set ${name} = '${value}'`);
  }
  await client.end();
}

export class PlanLog {
  readonly #file: string;
  readonly #growing: ReadonlySet<string>;
  #at = 0;

  /** `growing`: the tables that nothing should read whole. */
  constructor(file: string, growing: readonly string[]) {
    this.#file = file;
    this.#growing = new Set(growing);
  }

  /** Forgets what was logged so far. */
  skip(): void {
    this.#at = statSync(this.#file).size;
  }

  /** What was logged since then. */
  take(): Plans {
    const bytes = Buffer.alloc(statSync(this.#file).size - this.#at);
    const file = openSync(this.#file, 'r');
    readSync(file, bytes, 0, bytes.length, this.#at);
    closeSync(file);
    const taken: Plans = { pages: 0, readWhole: new Set() };
    for (const [, text] of bytes.toString('utf8').matchAll(PLAN)) {
      const { Plan: root } = JSON.parse((text ?? '').replaceAll(/^\t/gm, '')) as { Plan: PlanNode };
      // A node's count holds those of the nodes below it.
      taken.pages += (root['Shared Hit Blocks'] ?? 0) + (root['Shared Read Blocks'] ?? 0);
      this.#look(root, taken.readWhole);
    }
    return taken;
  }

  #look(node: PlanNode, readWhole: Set<string>): void {
    const table = node['Relation Name'];
    if (node['Node Type'] === 'Seq Scan' && table !== undefined && this.#growing.has(table)) readWhole.add(table);
    for (const child of node.Plans ?? []) this.#look(child, readWhole);
  }
}
