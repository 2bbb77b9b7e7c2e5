/**
 * The service's own engine in this process. It is fed as an edge is: facts are asked for once and kept, and every answer is exactly
 * the database's at the revision that comes with it.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { systemClock } from '../../../src/base/clock.ts';
import { Engine } from '../../../src/engine/engine.ts';
import { PROTO_FIELDS, readQuestion } from '../../../src/engine/question.ts';
import type { FactsSource } from '../../../src/engine/types.ts';
import { untilAborted } from '../../../src/engine/waiting.ts';
import type { BulkCheckResponse, EffectiveResponse } from '../../../src/gen/usher/permission/v1/permission_pb.ts';
import { answersOf } from '../../../src/rpc/methods.ts';
import { PROTO } from '../../../src/rpc/naming.ts';
import { UpstreamLink } from '../../../src/upstream/link.ts';
import { remoteFacts } from '../../../src/upstream/remote-facts.ts';
import { type Connection, type ConnectionOptions, connectionTo } from './connection.ts';
import { UnavailableError } from './errors.ts';
import type { Faults, Members, Shape } from './faults.ts';
import { type KeepOptions, type KeptQuestion, type NothingOf, readKeep } from './kept.ts';
import { engineError, refusalOf } from './local-errors.ts';
import { decidedOf, KeptQuestions } from './local-kept.ts';
import { decisionOf, heldOf } from './messages.ts';
import {
  type CheckFields,
  readBatch,
  readBulk,
  readCheck,
  readCheckForEngine,
  readSubject,
  requireWellFormed,
} from './questions.ts';
import { fresh, orDenied, READY_MS, RemoteUsher } from './remote.ts';
import {
  CONNECTION_MEANT,
  CONNECTION_MEMBERS,
  readAsk,
  readBound,
  readConnection,
  readLog,
  readReady,
  readSettings,
} from './settings.ts';
import { DEADLINE_MS } from './transport.ts';
import type {
  Allowed,
  AskOptions,
  BulkQuestion,
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
import { within } from './within.ts';

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
  /**
   * Resolves once it follows the service. Rejects with UsherError after `deadlineMs`, 10,000 by default, or where the service refuses
   * this process.
   */
  ready(options?: Pick<AskOptions, 'deadlineMs' | 'signal'>): Promise<void>;
  /**
   * The answer if the facts for it are here; undefined otherwise: then `check` asks for them. Throws UsherError, also when the last
   * word from the service is older than `maxStalenessMs`.
   */
  peek(question: Question): Decision | undefined;
  /**
   * Keeps a question to ask it again and again: `const may = usher.keep(question); … if (may())`. Its facts are read at once, and
   * again as soon as they have changed. Throws InvalidQuestionError where the question is wrong.
   */
  keep<Choice extends 'throw' | 'undefined' = 'throw'>(
    question: Question,
    options?: KeepOptions<Choice>,
  ): KeptQuestion<NothingOf<Choice>>;
  /** The revision that answers given now are true of. */
  readonly revision: string;
  /** Milliseconds since what is known here was known to be the newest. */
  readonly stalenessMs: number;
}

const MAX_STALENESS_MS = 5000;
const TOO_LATE = new UnavailableError('The service was not followed in time', {
  code: 'DEADLINE_EXCEEDED',
  reason: 'DEADLINE_EXCEEDED',
});
/** Decisions that are kept for a megabyte of facts. With its key each takes some 900 bytes: about as much again. */
const DECISIONS_A_MEGABYTE = 1250;
/** Before a question is asked again whose facts could not be had. */
const RETRY_MS = 100;
/** Between two attempts to follow the service for the first time. */
const AGAIN_MS = 300;

const BOUNDS = ['maxStalenessMs', 'ttlMs', 'megabytes'] as const;
const SHAPE: Shape = {
  name: 'what a client is made with',
  members: [...CONNECTION_MEMBERS, ...BOUNDS, 'log'],
  meant: { ...CONNECTION_MEANT, transport: 'the engine is fed over gRPC: write address', batch: 'nothing is sent' },
};

/**
 * The engine in this process. It asks for nothing before the first question, but connects at once. Throws InvalidQuestionError for
 * options that it does not know or cannot read.
 */
export function createLocalUsher(options: LocalUsherOptions): LocalUsher {
  return new LocalEngine(readSettings(options, 'options', SHAPE, optionsOf));
}

function optionsOf(members: Members, faults: Faults): LocalUsherOptions {
  const [maxStalenessMs, ttlMs, megabytes] = BOUNDS.map((name) => readBound(members, name, faults));
  return { ...readConnection(members, faults), maxStalenessMs, ttlMs, megabytes, log: readLog(members, faults) };
}

type Method = keyof ReturnType<typeof answersOf>;
class LocalEngine implements LocalUsher {
  readonly #engine: Engine;
  readonly #link: UpstreamLink;
  readonly #remote: RemoteUsher;
  readonly #answers: ReturnType<typeof answersOf>;
  readonly #maxStalenessMs: number;
  /** Undefined: the usual one, without the time to connect. */
  readonly #deadlineMs: number | undefined;
  readonly #connection: Connection;
  #isBegun = false;
  readonly #log: Log;
  readonly #ready: Promise<void>;
  readonly #kept: KeptQuestions;
  /** The wall clock less the monotonic one when the newest log was asked for: a machine that slept has another. */
  #offset = wallOffset();
  #closed = false;

  constructor(options: LocalUsherOptions) {
    const { maxStalenessMs = MAX_STALENESS_MS, deadlineMs, ttlMs = 30_000, megabytes = 16 } = options;
    const { address, key, ca, certificate, plaintext, log = console } = options;
    this.#maxStalenessMs = maxStalenessMs;
    this.#deadlineMs = deadlineMs;
    this.#log = log;
    const clock = systemClock;
    // First: it says what is wrong with an address or a certificate.
    this.#connection = connectionTo(options);
    this.#remote = new RemoteUsher(this.#connection, { batch: false, log });
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
    this.#kept = new KeptQuestions({
      engine: this.#engine,
      clock,
      maxStalenessMs,
      offset: () => this.#offset,
      checkStaleness: () => this.#checkStaleness(),
      errorOf: refusalOf,
    });
    this.#ready = this.#start();
    // Whoever asks is told.
    this.#ready.catch(() => undefined);
  }

  async ready(given?: Pick<AskOptions, 'deadlineMs' | 'signal'>): Promise<void> {
    const { deadlineMs = READY_MS, signal } = readReady(given);
    await within(deadlineMs, signal, (ends) => this.#begun(ends, signal));
  }

  /** Until it follows the service. */
  async #begun(late: AbortSignal, signal: AbortSignal | undefined): Promise<void> {
    try {
      await untilAborted(this.#ready, late);
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason;
      throw this.#connection.failure(late.aborted ? TOO_LATE : engineError(error));
    }
    this.#isBegun = true;
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
    const fields = readCheckForEngine(question);
    this.#checkStaleness(fields);
    return this.#peek(fields);
  }

  /** For whoever has looked at the staleness. */
  #peek(fields: CheckFields): Decision | undefined {
    const { revision } = this.#engine;
    try {
      const asked = readQuestion(fields, PROTO_FIELDS);
      if (asked === null) return { allowed: false, level: null, source: null, revision };
      const decided = this.#engine.peek(asked);
      if (decided === null) return undefined;
      return decidedOf(decided, fields.accessLevel, revision);
    } catch (error) {
      requireWellFormed(fields);
      throw refusalOf(error);
    }
  }

  keep<Choice extends 'throw' | 'undefined' = 'throw'>(
    question: Question,
    options?: KeepOptions<Choice>,
  ): KeptQuestion<NothingOf<Choice>> {
    const fields = readCheck(question);
    const throws = readKeep(options);
    const load = (given?: AskOptions) => this.#ask('check', fresh(fields, given ?? {}), given ?? {});
    const kept = this.#kept.keep({ asked: askedIn(fields), level: fields.accessLevel, throws, load });
    // Without the choice it throws instead.
    return kept as KeptQuestion<NothingOf<Choice>>;
  }

  async check(question: Question, given?: AskOptions): Promise<Decision> {
    const fields = readCheckForEngine(question);
    const options = readAsk(given);
    if (options.minRevision === undefined && this.stalenessMs <= this.#maxStalenessMs) {
      const answer = this.#peek(fields);
      if (answer !== undefined) return answer;
    }
    requireWellFormed(fields);
    const answer = await this.#ask('check', fresh(fields, options), options);
    const { revision, ...said } = answer as Parameters<typeof decisionOf>[0] & { revision: string };
    return decisionOf(said, revision);
  }

  async allowed(question: Question, options?: AskOptions): Promise<boolean> {
    return await orDenied(() => this.check(question, options), question, this.#log);
  }

  async bulkCheck(subject: BulkQuestion, given?: AskOptions): Promise<ReadonlyMap<string, Decision>> {
    const fields = readBulk(subject);
    const options = readAsk(given);
    const answer = await this.#ask('bulkCheck', fresh(fields, options), options);
    const { results, revision } = answer as unknown as BulkCheckResponse;
    return new Map(results.map((result) => [result.permission, decisionOf(result, revision)]));
  }

  async batchCheck(questions: readonly Question[], given?: AskOptions): Promise<readonly Decision[]> {
    const checks = readBatch(questions);
    const options = readAsk(given);
    const request = { checks, minRevision: options.minRevision ?? '' };
    const { results, revision } = (await this.#ask('batchCheck', request, options)) as unknown as BulkCheckResponse;
    return results.map((result) => decisionOf(result, revision));
  }

  async effective(
    subject: Subject,
    given?: AskOptions,
  ): Promise<{ readonly revision: string; readonly permissions: readonly Held[] }> {
    const fields = readSubject(subject);
    const options = readAsk(given);
    const answer = await this.#ask('effective', fresh(fields, options), options);
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
    this.#kept.close();
    this.#remote.close();
    this.#link.close();
    this.#engine.close().catch((error: unknown) => this.#log.warn(`usher: the engine did not close: ${String(error)}`));
  }

  /** By the service's own RPCs, on the engine here. Waits for facts, and for word from the service, within the deadline. */
  async #ask(method: Method, request: object, options: AskOptions) {
    const given = options.deadlineMs ?? this.#deadlineMs;
    const usual = this.#isBegun ? DEADLINE_MS : null;
    const ms = given ?? usual ?? Math.ceil(await this.#connection.firstDeadline(options.signal));
    return await within(ms, options.signal, (signal) => this.#askWithin(signal, method, request, options));
  }

  async #askWithin(signal: AbortSignal, method: Method, request: object, options: AskOptions) {
    await this.#begun(signal, options.signal);
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

  /** A question that is wrong is so at any time. */
  #checkStaleness(asked?: CheckFields): void {
    const age = this.stalenessMs;
    if (age <= this.#maxStalenessMs) return;
    if (asked !== undefined) requireWellFormed(asked);
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

/** Null for a question that is denied without data. Throws InvalidQuestionError. */
function askedIn(fields: CheckFields) {
  try {
    return readQuestion(fields, PROTO_FIELDS);
  } catch (error) {
    throw refusalOf(error);
  }
}

function wallOffset(): number {
  return Date.now() - systemClock.monotonic();
}
