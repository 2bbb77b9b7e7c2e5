/**
 * The service's own engine in this process. It is fed as an edge is: facts are asked for once and kept, and every answer is exactly
 * the database's at the revision that comes with it.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { systemClock } from '../../../src/base/clock.ts';
import { Engine } from '../../../src/engine/engine.ts';
import { isAllowed, PROTO_FIELDS, readQuestion } from '../../../src/engine/question.ts';
import type { Question as Asked, Decision as Decided, FactsSource } from '../../../src/engine/types.ts';
import { withCallerPath } from '../../../src/engine/unknown-codes.ts';
import { untilAborted } from '../../../src/engine/waiting.ts';
import type { BulkCheckResponse, EffectiveResponse } from '../../../src/gen/usher/permission/v1/permission_pb.ts';
import { pathsOf } from '../../../src/rpc/call.ts';
import { answersOf } from '../../../src/rpc/methods.ts';
import { PROTO } from '../../../src/rpc/naming.ts';
import { UpstreamLink } from '../../../src/upstream/link.ts';
import { remoteFacts } from '../../../src/upstream/remote-facts.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { UnavailableError } from './errors.ts';
import { engineError } from './local-errors.ts';
import { askedLevel, checkFields, decisionOf, heldOf, levelOf, sourceOf, subjectFields } from './messages.ts';
import { orDenied, RemoteUsher } from './remote.ts';
import type {
  Allowed,
  AskOptions,
  Changes,
  Decision,
  Explanation,
  Held,
  Log,
  Question,
  Reach,
  Subject,
  Usher,
  WatchOptions,
} from './types.ts';

export interface LocalUsherOptions extends ConnectionOptions {
  /** Needs the scope `facts`. */
  readonly key?: string | undefined;
  /** How old an answer may be: longer without word from the service, nothing is answered. Milliseconds; 5,000 by default. */
  readonly maxStalenessMs?: number | undefined;
  /** How long a fact may be used, in ms from when it was read from the database; 30,000 by default. */
  readonly ttlMs?: number | undefined;
  /** About what facts may take of the heap, decisions about as much beside them; 16 by default. */
  readonly megabytes?: number | undefined;
  readonly log?: Log | undefined;
}

/** `explain`, `subjects`, `resources` and `watch` ask the service. */
export interface LocalUsher extends Usher {
  /** Resolves once it follows the service. Rejects with UsherError where that refuses this process. */
  ready(): Promise<void>;
  /**
   * The answer if the facts for it are here; undefined otherwise: then `check` asks for them. Throws UsherError, also when the last
   * word from the service is older than `maxStalenessMs`.
   */
  peek(question: Question): Decision | undefined;
  /** The revision that answers given now are true of. */
  readonly revision: string;
  /** Milliseconds since what is known here was known to be the newest. */
  readonly stalenessMs: number;
}

const DEADLINE_MS = 500;
const MAX_STALENESS_MS = 5000;
/** As the service names the fields of a question. */
const PATHS = pathsOf(PROTO_FIELDS);
/** Decisions that are kept for a megabyte of facts. With its key each takes some 900 bytes: about as much again. */
const DECISIONS_A_MEGABYTE = 1250;
/** Before a question is asked again whose facts could not be had. */
const RETRY_MS = 100;
/** Between two attempts to follow the service for the first time. */
const AGAIN_MS = 300;

/** The engine in this process. It asks for nothing before the first question, but connects at once. */
export function createLocalUsher(options: LocalUsherOptions): LocalUsher {
  return new LocalEngine(options);
}

class LocalEngine implements LocalUsher {
  readonly #engine: Engine;
  readonly #link: UpstreamLink;
  readonly #remote: RemoteUsher;
  readonly #answers: ReturnType<typeof answersOf>;
  readonly #maxStalenessMs: number;
  readonly #deadlineMs: number;
  readonly #log: Log;
  readonly #ready: Promise<void>;
  /** The wall clock less the monotonic one when the newest log was asked for: a machine that slept has another. */
  #offset = wallOffset();
  #closed = false;

  constructor(options: LocalUsherOptions) {
    const { maxStalenessMs = MAX_STALENESS_MS, deadlineMs = DEADLINE_MS, ttlMs = 30_000, megabytes = 16 } = options;
    const { address, key, ca, certificate, plaintext, log = console } = options;
    this.#maxStalenessMs = maxStalenessMs;
    this.#deadlineMs = deadlineMs;
    this.#log = log;
    const clock = systemClock;
    this.#link = new UpstreamLink({ address, key: key ?? null, ca, certificate, plaintext: plaintext ?? null, clock });
    const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined };
    const source = remoteFacts({ link: this.#link, ttlMs, clock, log: quiet, head: () => this.#engine.tail.head });
    this.#engine = new Engine({
      source: this.#timed(source),
      clock,
      log: quiet,
      cache: {
        ttlMs,
        megabytes,
        maxEntries: Math.ceil(megabytes * DECISIONS_A_MEGABYTE),
        policies: 1000,
        persons: null,
        members: null,
      },
    });
    this.#answers = answersOf(this.#engine);
    this.#remote = new RemoteUsher(new Connection(options), { batch: false, log });
    this.#ready = this.#start();
    // Whoever asks is told.
    this.#ready.catch(() => undefined);
  }

  ready(): Promise<void> {
    return this.#ready;
  }

  get stalenessMs(): number {
    const now = systemClock.monotonic();
    const slept = Math.max(0, Date.now() - now - this.#offset);
    return now - this.#engine.tail.syncedAt + slept;
  }

  get revision(): string {
    return this.#engine.revision;
  }

  peek(question: Question): Decision | undefined {
    this.#checkStaleness();
    try {
      const asked = read(question);
      if (asked === null) return { allowed: false, level: null, source: null, revision: this.#engine.revision };
      const decided = this.#engine.peek(asked);
      return decided === null ? undefined : answerOf(decided, question, this.#engine.revision);
    } catch (error) {
      throw engineError(withCallerPath(error, PATHS));
    }
  }

  async check(question: Question, options: AskOptions = {}): Promise<Decision> {
    if (options.minRevision === undefined && this.stalenessMs <= this.#maxStalenessMs) {
      const answer = this.peek(question);
      if (answer !== undefined) return answer;
    }
    const answer = await this.#ask('check', checkFields(question, options), options);
    const { revision, ...said } = answer as Parameters<typeof decisionOf>[0] & { revision: string };
    return decisionOf(said, revision);
  }

  async allowed(question: Question, options?: AskOptions): Promise<boolean> {
    return await orDenied(() => this.check(question, options), question, this.#log);
  }

  async bulkCheck(
    subject: Subject & { readonly permissions: readonly string[]; readonly level?: 'view' | 'edit' | undefined },
    options: AskOptions = {},
  ): Promise<ReadonlyMap<string, Decision>> {
    const fields = { permissions: subject.permissions, accessLevel: askedLevel(subject.level) };
    const answer = await this.#ask('bulkCheck', { ...subjectFields(subject, options), ...fields }, options);
    const { results, revision } = answer as unknown as BulkCheckResponse;
    return new Map(results.map((result) => [result.permission, decisionOf(result, revision)]));
  }

  async batchCheck(questions: readonly Question[], options: AskOptions = {}): Promise<readonly Decision[]> {
    const { minRevision = '' } = options;
    const request = { checks: questions.map((question) => checkFields(question)), minRevision };
    const { results, revision } = (await this.#ask('batchCheck', request, options)) as unknown as BulkCheckResponse;
    return results.map((result) => decisionOf(result, revision));
  }

  async effective(
    subject: Subject,
    options: AskOptions = {},
  ): Promise<{ readonly revision: string; readonly permissions: readonly Held[] }> {
    const answer = await this.#ask('effective', subjectFields(subject, options), options);
    const { permissions, revision } = answer as unknown as EffectiveResponse;
    return { revision, permissions: permissions.map(heldOf) };
  }

  explain(question: Question, options?: AskOptions): Promise<Explanation> {
    return this.#remote.explain(question, options);
  }

  subjects(question: Omit<Question, 'email'>, options?: AskOptions): AsyncIterable<Allowed> {
    return this.#remote.subjects(question, options);
  }

  resources(
    question: Omit<Question, 'resource'> & { readonly resourceType: string },
    options?: AskOptions,
  ): Promise<Reach> {
    return this.#remote.resources(question, options);
  }

  watch(options?: WatchOptions): AsyncIterable<Changes> {
    return this.#remote.watch(options);
  }

  close(): void {
    this.#closed = true;
    this.#remote.close();
    this.#link.close();
    this.#engine.close().catch((error: unknown) => this.#log.warn(`usher: the engine did not close: ${String(error)}`));
  }

  /** By the service's own RPCs, on the engine here. Waits for facts, and for word from the service, within the deadline. */
  async #ask(method: keyof ReturnType<typeof answersOf>, request: object, options: AskOptions) {
    const late = AbortSignal.timeout(options.deadlineMs ?? this.#deadlineMs);
    const signal = options.signal === undefined ? late : AbortSignal.any([late, options.signal]);
    try {
      await untilAborted(this.#ready, signal);
    } catch (error) {
      throw options.signal?.aborted === true ? options.signal.reason : engineError(error);
    }
    for (;;) {
      try {
        if (this.stalenessMs > this.#maxStalenessMs) await untilAborted(this.#engine.tail.sync(), signal);
        this.#checkStaleness();
        const answer = await this.#answers[method](request as never, { naming: PROTO, signal });
        this.#checkStaleness();
        return answer;
      } catch (error) {
        if (options.signal?.aborted === true) throw options.signal.reason;
        const failure = engineError(error);
        if (!(failure instanceof UnavailableError) || signal.aborted) throw failure;
      }
      await pause(RETRY_MS * (0.5 + Math.random() / 2));
    }
  }

  #checkStaleness(): void {
    const age = this.stalenessMs;
    if (age <= this.#maxStalenessMs) return;
    const since = Number.isFinite(age) ? `for ${Math.round(age)} ms` : 'yet';
    throw new UnavailableError(`No word from Usher ${since}: nothing is answered.`, {
      code: 'UNAVAILABLE',
      reason: 'STALE',
    });
  }

  async #start(): Promise<void> {
    while (!this.#closed) {
      try {
        await this.#engine.start();
        return;
      } catch (error) {
        const failure = engineError(error);
        if (!(failure instanceof UnavailableError)) throw failure;
      }
      await new Promise<void>((resolve) => {
        setTimeout(resolve, AGAIN_MS).unref();
      });
    }
  }

  #timed(source: FactsSource): FactsSource {
    return {
      ...source,
      changes: async (...asked) => {
        const offset = wallOffset();
        const window = await source.changes(...asked);
        this.#offset = offset;
        return window;
      },
    };
  }
}

function read({ email, app, permission, resource }: Question): Asked | null {
  const resourceType = resource === undefined ? '' : resource.type;
  const resourceId = resource === undefined ? '' : resource.id;
  return readQuestion({ email, app, permission, resourceType, resourceId }, PROTO_FIELDS);
}

function answerOf(decided: Decided, { level }: Question, revision: string): Decision {
  const allowed = level === undefined ? decided.granted : isAllowed(decided, askedLevel(level));
  return { allowed, level: levelOf(decided.level), source: sourceOf(decided.source), revision };
}

function wallOffset(): number {
  return Date.now() - systemClock.monotonic();
}
