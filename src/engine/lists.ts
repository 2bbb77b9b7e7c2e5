/**
 * Lists of subjects and of resources (docs/reference/lists.md). A page is read from one snapshot of the database, never from
 * the cache, and returns its revision. Storage only finds candidates; `evaluate` decides here whether each is allowed, from the
 * facts of that snapshot, so that a list cannot allow what a check denies.
 */

import type { Clock } from '../base/clock.ts';
import { UsherError, unavailable, validationFailed } from '../base/errors.ts';
import { Cursors } from './cursors.ts';
import { evaluate, type PolicyPermission } from './evaluate.ts';
import type { AskOptions } from './options.ts';
import { compilePolicy } from './policy.ts';
import { isAllowed, unknownRevision } from './question.ts';
import {
  ANY_REVISION,
  type Decision,
  formatRevision,
  isOfOtherHistory,
  Level,
  type ListSource,
  MAX_LOG_ROWS,
  type Named,
  type Place,
  type ResourcesQuestion,
  type ResourcesRead,
  type Revision,
  type RevisionToken,
  type Snapshot,
  type SubjectsQuestion,
} from './types.ts';
import type { UnknownCodes } from './unknown-codes.ts';
import { toUnavailable, untilAborted } from './waiting.ts';

/** The requested page. */
export interface ListPage {
  readonly limit: number;
  /** From the previous page; '' for the first one. */
  readonly cursor: string;
  /** The name of the cursor in the caller's protocol. */
  readonly cursorPath: string;
}

export interface Subject {
  readonly email: string;
  readonly decision: Decision;
}

export interface SubjectsPage {
  readonly subjects: readonly Subject[];
  /** '' on the last page. */
  readonly next: string;
  readonly revision: string;
  /** Whether the application exists; null for a malformed question, which is answered without reading data. */
  readonly applicationKnown: boolean | null;
}

export interface ResourcesPage {
  /** Whether the resources listed are the exceptions. */
  readonly allExcept: boolean;
  readonly resourceIds: readonly string[];
  readonly next: string;
  readonly revision: string;
  readonly applicationKnown: boolean | null;
}

interface ListsOptions {
  /** Without it lists are UNAVAILABLE. */
  readonly source: ListSource | undefined;
  readonly clock: Clock;
  readonly unknownCodes: UnknownCodes;
  /** Knows which revisions the database has reached. */
  readonly engine: {
    isReached(mark: RevisionToken): boolean;
    reach(mark: RevisionToken): Promise<void>;
  };
  /** 32 bytes, the same in every instance; without it cursors are valid in this process only. */
  readonly cursorKey: (() => Promise<Uint8Array>) | undefined;
}

/** The form of a revision in cursors. */
type RevisionTuple = [number: Revision, nonce: string | null];
type SubjectsCursor = [mark: RevisionTuple, after: number];
type ResourcesCursor = [mark: RevisionTuple, from: string, skip: number, boundary: number | null];

/** Maximum bytes of JSON for an identifier in a cursor; of a longer one only a prefix is kept. */
const MAX_PREFIX = 240;

export class Lists {
  readonly #options: ListsOptions;
  readonly #cursors: Cursors;

  constructor(options: ListsOptions) {
    const { clock, cursorKey } = options;
    const ownKey = clock.bytes(32);
    this.#options = options;
    this.#cursors = new Cursors(cursorKey ?? (async () => ownKey), clock);
  }

  /** Everybody whom a check of the same question allows, in the order in which their addresses were first mentioned. */
  async subjects(question: SubjectsQuestion, page: ListPage, options: AskOptions = {}): Promise<SubjectsPage> {
    const bound = subjectsBound(question);
    const [mark, after] = (await this.#open<SubjectsCursor>(page, bound)) ?? [null, 0];
    const { limit } = page;
    const read = await this.#read(options, (source, revisions) =>
      source.subjects(question, { limit: limit + 1, after, revisions: [...revisions, mark?.[0] ?? 0] }),
    );
    this.#refuseOtherHistory(read, mark, page);
    const permission = this.#permissionOf(read, question);
    const rows = read.rows.slice(0, limit);
    const found = rows.map(({ person, member, override }) => {
      const overrides = question.resourceType === '' ? null : overridesOf(permission, override);
      return { email: person.email, decision: evaluate(person, member, permission, overrides) };
    });
    // Storage decides where a page ends: a row that is denied here neither ends the list nor hides the rows after it.
    const until = read.rows.length > limit ? (rows.at(-1)?.id ?? null) : read.until;
    return {
      subjects: found.filter(({ decision }) => isAllowed(decision, question.level)),
      next: until === null ? '' : await this.#cursors.seal([markOf(read), until] satisfies SubjectsCursor, bound),
      revision: formatRevision(read.head),
      applicationKnown: read.appId !== null,
    };
  }

  /**
   * The resources of a type that a check of the same question allows: all except those listed, or only those, ordered by UTF-8. All pages
   * reflect one state: LIST_CHANGED when the person's grants or the application's policy changed since the first page, or when one of
   * those grants has begun or ended since.
   */
  async resources(question: ResourcesQuestion, page: ListPage, options: AskOptions = {}): Promise<ResourcesPage> {
    const bound = resourcesBound(question);
    const [mark, from, skip, boundary] = (await this.#open<ResourcesCursor>(page, bound)) ?? [null, '', 0, null];
    const { limit } = page;
    const place = { from, skip };
    let allExcept = false;
    const read = await this.#read(options, (source, revisions) =>
      source.resources(
        question,
        { limit: limit + 1, place, revisions: [...revisions, mark?.[0] ?? 0], since: mark?.[0] ?? null },
        (facts) => {
          this.#refuseOtherHistory(facts, mark, page);
          refuseChanged(facts, mark, boundary);
          const permission = this.#permissionOf(facts, question);
          const isYes = (override: Level | null) =>
            isAllowed(
              evaluate(facts.person, facts.member, permission, overridesOf(permission, override)),
              question.level,
            );
          allExcept = isYes(null);
          return OVERRIDE_LEVELS.filter((level) => isYes(level) !== allExcept);
        },
      ),
    );
    const shown = read.resourceIds.slice(0, limit);
    const more = read.resourceIds.length > limit;
    return {
      allExcept,
      resourceIds: shown,
      next: more
        ? await this.#cursors.seal(
            [markOf(read), ...placeBehind(shown, place), read.boundary] satisfies ResourcesCursor,
            bound,
          )
        : '',
      revision: formatRevision(read.head),
      applicationKnown: read.appId !== null,
    };
  }

  async #open<T>({ cursor, cursorPath }: ListPage, bound: readonly unknown[]): Promise<T | null> {
    if (cursor === '') return null;
    const place = await this.#cursors.open(cursor, bound);
    if (place === null) throw notACursor(cursorPath);
    // A cursor that opens was sealed by this service for this question.
    return place as T;
  }

  /** The snapshot, at least as fresh as requested: a failover may have lost a revision that was reached before. */
  async #read<R extends Snapshot>(
    { minRevision = ANY_REVISION, signal }: AskOptions,
    read: (source: ListSource, revisions: Revision[]) => Promise<R>,
  ): Promise<R> {
    const { engine, source } = this.#options;
    if (source === undefined) throw unavailable('This process does not serve lists.');
    if (!engine.isReached(minRevision)) await untilAborted(engine.reach(minRevision), signal);
    const snapshot = await untilAborted(
      read(source, [minRevision.number]).catch((error: unknown) => {
        throw toUnavailable(error);
      }),
      signal,
    );
    if (isOfOtherHistory(minRevision, snapshot.nonces[0] ?? null)) throw unknownRevision();
    if (snapshot.head.number < minRevision.number) throw unavailable('The service is catching up with the database.');
    return snapshot;
  }

  /** Refuses a cursor from before a restore or a failover that lost commits: it belongs to a different history. */
  #refuseOtherHistory({ head, nonces }: Snapshot, mark: RevisionTuple | null, { cursorPath }: ListPage): void {
    if (mark === null) return;
    const [number, nonce] = mark;
    if (head.number < number || isOfOtherHistory({ nonce }, nonces[1] ?? null)) throw notACursor(cursorPath);
  }

  /** Throws UnknownCode as a check does. */
  #permissionOf(named: Named, { permission: code, resourceType }: { permission: string; resourceType: string }) {
    if (named.policy !== null) {
      const policy = compilePolicy(named.policy);
      this.#options.unknownCodes.checkType(policy, resourceType);
      this.#options.unknownCodes.permission(policy, code);
    }
    if (named.permission === null) return undefined;
    return { ...named.permission, code, groupName: null, levels: new Map(named.levels) } satisfies PolicyPermission;
  }
}

const OVERRIDE_LEVELS: readonly Level[] = [Level.NONE, Level.ALLOWED, Level.VIEW, Level.EDIT];
const NO_OVERRIDES: ReadonlyMap<number, Level> = new Map();

/** The overrides of a named resource; a null level means no override. */
function overridesOf(permission: PolicyPermission | undefined, level: Level | null): ReadonlyMap<number, Level> {
  return permission === undefined || level === null ? NO_OVERRIDES : new Map([[permission.id, level]]);
}

function refuseChanged(
  { head, nonces, changed, boundary }: Snapshot & Pick<ResourcesRead, 'changed' | 'boundary'>,
  mark: RevisionTuple | null,
  before: number | null,
): void {
  if (mark === null) return;
  const [number] = mark;
  // The row is pruned after a week, with others that might have recorded a change.
  const isPruned = number > 0 && (nonces[1] ?? null) === null;
  const hasPassed = boundary !== before;
  if (!changed && !hasPassed && !isPruned && head.number - number <= MAX_LOG_ROWS) return;
  throw new UsherError(
    'LIST_CHANGED',
    'What the user holds, or the policy of the application, has changed since the first page: read the list again from the start.',
  );
}

/**
 * The start of the next page. An identifier may be longer than a cursor: then the cursor holds a prefix and the number of listed
 * identifiers that are not less than it. The list is that of the first page's state, so the number stays correct.
 */
function placeBehind(shown: readonly string[], { from, skip }: Place): [from: string, skip: number] {
  const last = shown.at(-1) ?? '';
  const prefix = prefixOf(last);
  if (prefix === last) return [last, 1];
  // Identifiers with that prefix are adjacent at the end of the listed ones.
  const before = shown.findLastIndex((id) => !id.startsWith(prefix));
  return before === -1 ? [from, skip + shown.length] : [prefix, shown.length - 1 - before];
}

/** The text, or the longest prefix that fits a cursor, cut between characters. */
function prefixOf(text: string): string {
  if (bytesOf(text) <= MAX_PREFIX) return text;
  let prefix = '';
  let bytes = 0;
  for (const character of text) {
    // Without the quotes around each.
    bytes += bytesOf(character) - 2;
    if (bytes > MAX_PREFIX - 2) break;
    prefix += character;
  }
  return prefix;
}

function bytesOf(text: string): number {
  return Buffer.byteLength(JSON.stringify(text), 'utf8');
}

function markOf({ head }: Snapshot): RevisionTuple {
  return [head.number, head.nonce];
}

function subjectsBound({ app, permission, resourceType, resourceId, level }: SubjectsQuestion): readonly unknown[] {
  return ['subjects', app, permission, resourceType, resourceId, level];
}

function resourcesBound({ email, app, permission, resourceType, level }: ResourcesQuestion): readonly unknown[] {
  return ['resources', email, app, permission, resourceType, level];
}

/** 400 VALIDATION_FAILED. */
export function notACursor(path: string): UsherError {
  return validationFailed([{ path, message: 'must be the cursor of the previous page, with the same question' }]);
}
