/** What callers ask, and what they are answered. */

/** What is held of a permission: `allowed` of a binary one, `view` or `edit` of a tiered one. */
export type Level = 'allowed' | 'view' | 'edit';

/** Which rule granted, or denied. */
export type Source = 'role' | 'override' | 'superadmin' | 'app_admin';

/** One record of an application. */
export interface Resource {
  readonly type: string;
  readonly id: string;
}

/** The user of a question, in an application, and the record that it is about. */
export interface Subject {
  readonly email: string;
  /** The code of the application. */
  readonly app: string;
  readonly resource?: Resource | undefined;
}

export interface Question extends Subject {
  /** The code of the permission. */
  readonly permission: string;
  /** The least level that will do; without it, any. */
  readonly level?: 'view' | 'edit' | undefined;
}

/** Up to 1,000 permissions of one user in one application. */
export interface BulkQuestion extends Subject {
  readonly permissions: readonly string[];
  readonly level?: Question['level'];
}

export interface Decision {
  readonly allowed: boolean;
  /** The level held; null for nothing. */
  readonly level: Level | null;
  /** Null where no rule granted. */
  readonly source: Source | null;
  /** The revision that the answer is true of. */
  readonly revision: string;
}

export interface AskOptions {
  /** The answer is at least as fresh as this revision, of an earlier answer or of a write (`usher-revision`). */
  readonly minRevision?: string | undefined;
  /** Milliseconds for the answer, retries included. */
  readonly deadlineMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A permission that an application defines, and what somebody holds of it. */
export interface Held extends Omit<Decision, 'revision'> {
  readonly permission: string;
  readonly tiered: boolean;
  readonly global: boolean;
  readonly group: string | null;
}

/** What one of the six rules makes of a question. */
export interface RuleResult {
  /** 1 to 6, in the order in which they count. */
  readonly rule: number;
  readonly applies: boolean;
  readonly decides: boolean;
  readonly level: Level | null;
}

export interface Explanation extends Decision {
  readonly rules: readonly RuleResult[];
  /** What of the question exists. */
  readonly known: { readonly user: boolean; readonly application: boolean; readonly permission: boolean };
}

/** Who may. */
export interface Allowed {
  readonly email: string;
  readonly level: Level | null;
  readonly source: Source | null;
}

/** Which records: `only` those, or `all` but those. */
export interface Reach {
  readonly scope: 'only' | 'all';
  readonly resourceIds: readonly string[];
  readonly revision: string;
}

/** Whose decisions may be others now. */
export type Change =
  | { readonly kind: 'application' | 'everything_in_application'; readonly app: string }
  | { readonly kind: 'member'; readonly app: string; readonly email: string }
  | { readonly kind: 'user'; readonly email: string }
  | { readonly kind: 'everything' };

export interface Changes {
  /** Everything up to this revision has been told. */
  readonly revision: string;
  readonly changes: readonly Change[];
  /** Forget what you hold, and go on from `revision`. */
  readonly reset: boolean;
}

export interface WatchOptions {
  /** Codes of applications; without them, all. */
  readonly apps?: readonly string[] | undefined;
  /** Begin with what came after it. */
  readonly since?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The questions. Those that give a Promise reject with UsherError; a question that is wrong rejects with InvalidQuestionError, before
 * anything is sent: an unknown member, a wrong type, an unknown level, half of a record.
 */
export interface Usher {
  check(question: Question, options?: AskOptions): Promise<Decision>;
  /** Whether it is allowed. Trouble is false, and is logged. Rejects with InvalidQuestionError alone, where the question is wrong. */
  allowed(question: Question, options?: AskOptions): Promise<boolean>;
  /** At one revision; by code. */
  bulkCheck(subject: BulkQuestion, options?: AskOptions): Promise<ReadonlyMap<string, Decision>>;
  /** Up to 1,000 questions at one revision, answered in their order. */
  batchCheck(questions: readonly Question[], options?: AskOptions): Promise<readonly Decision[]>;
  /** Every permission that the application defines. */
  effective(
    subject: Subject,
    options?: AskOptions,
  ): Promise<{ readonly revision: string; readonly permissions: readonly Held[] }>;
  explain(question: Question, options?: AskOptions): Promise<Explanation>;
  /** Everybody for whom the question is answered with yes, page by page. */
  subjects(question: Omit<Question, 'email'>, options?: AskOptions): AsyncIterable<Allowed>;
  /** For which records of a type it is answered with yes. */
  resources(
    question: Omit<Question, 'resource'> & { readonly resourceType: string },
    options?: AskOptions,
  ): Promise<Reach>;
  /** What changes, until the signal is aborted. Reconnects by itself, with nothing lost. */
  watch(options?: WatchOptions): AsyncIterable<Changes>;
  /**
   * Connects, and resolves once the service has answered, within ten seconds by default: then the first question takes no longer than
   * the others. Rejects with UsherError that says what is wrong with an address, a certificate or a key.
   */
  ready(options?: Pick<AskOptions, 'deadlineMs' | 'signal'>): Promise<void>;
  close(): void;
}

/** Where warnings go; `console` fits. */
export interface Log {
  warn(message: string): void;
}
