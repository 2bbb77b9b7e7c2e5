/**
 * What PostgreSQL's own auto_explain tells of the statements that it carries out: how many pages each touches, and which tables it
 * reads from beginning to end. Unlike times, these are the same on a busy machine.
 */
import { configureSessions, ServerLog } from './server-log.ts';

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
  /** The statement that touches the most. */
  heaviest: { text: string; pages: number };
}

/** To its last brace: what others are writing at that moment may be there in part. */
const PLAN = /^.*duration: [\d.]+ ms {2}plan:\n((?:\t.*\n)*?\t\}\n)/gm;

/** Has sessions of that database, from the next one on, log the plan of each statement. */
export async function explainStatements(url: string): Promise<void> {
  await configureSessions(url, {
    log_min_messages: 'log',
    log_parameter_max_length: '0',
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_buffers': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_format': 'json',
  });
}

export class PlanLog extends ServerLog {
  readonly #growing: ReadonlySet<string>;

  /** `growing`: the tables that nothing should read whole. */
  constructor(file: string, growing: readonly string[]) {
    super(file);
    this.#growing = new Set(growing);
  }

  /** What was logged since the last call. */
  take(): Plans {
    const taken: Plans = { pages: 0, readWhole: new Set(), heaviest: { text: '', pages: 0 } };
    for (const [, text] of this.read().matchAll(PLAN)) {
      const said = JSON.parse((text ?? '').replaceAll(/^\t/gm, '')) as { Plan: PlanNode; 'Query Text': string };
      const { Plan: root, 'Query Text': statement } = said;
      // A node's count holds those of the nodes below it.
      const pages = (root['Shared Hit Blocks'] ?? 0) + (root['Shared Read Blocks'] ?? 0);
      taken.pages += pages;
      if (pages > taken.heaviest.pages) taken.heaviest = { text: statement, pages };
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
