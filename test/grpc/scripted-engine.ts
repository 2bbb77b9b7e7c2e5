import { UsherError } from '../../src/base/errors.ts';
import type { AskOptions } from '../../src/engine/engine.ts';
import type { ExplainedAt } from '../../src/engine/explain.ts';
import type { KeptQuestion } from '../../src/engine/grounds.ts';
import type { EffectiveItem } from '../../src/engine/types.ts';
import {
  ANY_REVISION,
  type Decision,
  Level,
  type Question,
  type RevisionToken,
  Source,
  type Subject,
} from '../../src/engine/types.ts';
import type { PermissionEngine } from '../../src/rpc/call.ts';

export const HELD: Record<'edit' | 'view' | 'allowed' | 'overridden' | 'denied', Decision> = {
  edit: { granted: true, level: Level.EDIT, source: Source.ROLE, tiered: true },
  view: { granted: true, level: Level.VIEW, source: Source.ROLE, tiered: true },
  allowed: { granted: true, level: Level.ALLOWED, source: Source.APP_ADMIN, tiered: false },
  overridden: { granted: false, level: Level.NONE, source: Source.OVERRIDE, tiered: true },
  denied: { granted: false, level: Level.NONE, source: Source.NONE, tiered: true },
};

/**
 * An engine for tests of the door: it answers by permission code, knows at once or after a while, waits until it is told
 * to go on, and fails as it is told. It writes down what it was asked.
 */
export class ScriptedEngine implements PermissionEngine {
  cursor = 7;
  /** The newest revision there is: `reach` beyond it fails. */
  head = 9;
  decisions = new Map<string, Decision>(Object.entries(HELD));
  items: EffectiveItem[] = [];
  /** Whether `peek` knows. */
  warm = true;
  /** What `peek` throws, and everything else rejects with. */
  failure: unknown;
  /** What everything but `peek` waits for. */
  gate: Promise<unknown> = Promise.resolve();
  asked: { method: string; what: Question | Subject; permissions?: readonly string[]; options?: AskOptions }[] = [];
  /** How many calls have come to the gate. */
  waits = 0;

  /** Lists come from a database: what the doors do with them is tested on a whole service. */
  readonly lists = {
    subjects: () => Promise.reject(new Error('no list is scripted')),
    resources: () => Promise.reject(new Error('no list is scripted')),
  };

  get revision(): string {
    return `${this.cursor}`;
  }

  isReached({ number }: RevisionToken): boolean {
    return number <= this.cursor;
  }

  /** Caches nothing: what the door does with cached decisions is tested on the real engine. */
  recall(): null {
    return null;
  }

  peekFacts(question: Question): Decision | null {
    this.asked.push({ method: 'peek', what: question });
    if (this.failure !== undefined) throw this.failure;
    return this.warm ? this.#decide(question.permission) : null;
  }

  async check(question: Question, options: AskOptions = {}): Promise<{ decision: Decision; revision: string }> {
    this.asked.push({ method: 'check', what: question, options });
    await this.#wait(options);
    return { decision: this.#decide(question.permission), revision: this.revision };
  }

  /** Never knows: what the door does with decisions at hand is tested on the real engine. */
  peekBulk(): null {
    return null;
  }

  async bulk(
    subject: Subject,
    permissions: readonly string[],
    options: AskOptions = {},
  ): Promise<{ decisions: Decision[]; revision: string }> {
    this.asked.push({ method: 'bulk', what: subject, permissions, options });
    await this.#wait(options);
    return { decisions: permissions.map((code) => this.#decide(code)), revision: this.revision };
  }

  /** Never knows, as `peekBulk`. */
  peekKept({ question }: KeptQuestion): Decision | null {
    this.asked.push({ method: 'peek kept', what: question });
    return this.warm && this.failure === undefined ? this.#decide(question.permission) : null;
  }

  peekBatch(): null {
    return null;
  }

  async batch(
    questions: readonly (Question | null)[],
    options: AskOptions = {},
  ): Promise<{ decisions: Decision[]; revision: string }> {
    for (const question of questions)
      if (question !== null) this.asked.push({ method: 'batch', what: question, options });
    await this.#wait(options);
    const decisions = questions.map((question) =>
      question === null ? HELD.denied : this.#decide(question.permission),
    );
    return { decisions, revision: this.revision };
  }

  async explain(question: Question, options: AskOptions = {}): Promise<ExplainedAt> {
    this.asked.push({ method: 'explain', what: question, options });
    await this.#wait(options);
    const decision = this.#decide(question.permission);
    const rules = [1, 2, 3, 4, 5, 6].map((rule) => {
      return { applies: rule >= 5, decides: rule === 5, level: rule === 5 ? decision.level : Level.NONE };
    });
    const known = { user: true, application: true, permission: true };
    const roles = [{ code: 'viewer', level: decision.level }];
    return { decision, rule: 5, rules, override: null, roles, known, revision: this.revision };
  }

  /** Never knows, as `peekBulk`. */
  peekEffective(): EffectiveItem[] | null {
    return null;
  }

  async effective(subject: Subject, options: AskOptions = {}): Promise<{ items: EffectiveItem[]; revision: string }> {
    this.asked.push({ method: 'effective', what: subject, options });
    await this.#wait(options);
    return { items: this.items, revision: this.revision };
  }

  async reach({ number }: RevisionToken): Promise<void> {
    if (number > this.head) throw new UsherError('UNKNOWN_REVISION', 'no such revision');
    this.cursor = Math.max(this.cursor, number);
  }

  #decide(permission: string): Decision {
    return this.decisions.get(permission) ?? HELD.denied;
  }

  async #wait({ minRevision }: AskOptions): Promise<void> {
    this.waits++;
    await this.gate;
    if (this.failure !== undefined) throw this.failure;
    await this.reach(minRevision ?? ANY_REVISION);
  }
}
