/** Asks a service or an edge over gRPC. */

import { setTimeout as pause } from 'node:timers/promises';
import { create, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import {
  BatchCheckRequestSchema,
  type BatchCheckResponse,
  CheckRequestSchema,
  PermissionService,
} from '../../../src/gen/usher/permission/v1/permission_pb.ts';
import { Batching, type Written } from './batching.ts';
import { type ConnectionOptions, connectionTo } from './connection.ts';
import { InvalidQuestionError, UnavailableError } from './errors.ts';
import type { Faults, Members, Shape } from './faults.ts';
import { type KeepOptions, type KeptCall, keptCall, type NothingOf } from './kept.ts';
import { decisionOf, explanationOf, heldOf, isAll, levelOf, sourceOf } from './messages.ts';
import {
  type CheckFields,
  readAboutEverybody,
  readAboutRecords,
  readBatch,
  readBulk,
  readCheck,
  readSubject,
} from './questions.ts';
import {
  CONNECTION_MEANT,
  CONNECTION_MEMBERS,
  hasMethod,
  readAsk,
  readBoolean,
  readConnection,
  readLog,
  readReady,
  readSettings,
} from './settings.ts';
import { inSpan } from './spans.ts';
import type { Transport } from './transport.ts';
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
import { watch } from './watch.ts';

interface AskerOptions {
  /** Whether checks that are made in one turn of the event loop go in one call; true by default. */
  readonly batch?: boolean | undefined;
  /** Gets the warnings of `allowed`; `console` by default. */
  readonly log?: Log | undefined;
}

/** Over gRPC to an address, or by another transport: `connectTransport` of `@usher-service/client/connect`. */
export type UsherOptions = AskerOptions & (ConnectionOptions | { readonly transport: Transport });

/** The questions of a service or an edge. */
export interface KeepingUsher extends Usher {
  /**
   * Keeps a question to ask it again and again: `const may = usher.keep(question); … if (await may())`. What is sent is written once;
   * each answer is the service's own. Throws InvalidQuestionError where the question is wrong.
   */
  keep<Choice extends 'throw' | 'undefined' = 'throw'>(
    question: Question,
    options?: KeepOptions<Choice>,
  ): KeptCall<NothingOf<Choice>>;
}

const SHAPE: Shape = {
  name: 'what a client is made with',
  members: [...CONNECTION_MEMBERS, 'transport', 'batch', 'log'],
  meant: CONNECTION_MEANT,
};

/**
 * The questions of a service or an edge. Make one for the whole process: it holds one connection. Throws InvalidQuestionError for
 * options that it does not know or cannot read.
 */
export function createUsher(options: UsherOptions): KeepingUsher {
  return readSettings(options, 'options', SHAPE, (members, faults) => {
    const settings = { batch: readBoolean(members, 'batch', faults), log: readLog(members, faults) };
    return new RemoteUsher(transportOf(members, faults), settings);
  });
}

function transportOf(members: Members, faults: Faults): Transport {
  if (!members.has('transport')) {
    const connection = readConnection(members, faults);
    faults.throwIfAny();
    return connectionTo(connection);
  }
  const transport = members.get('transport');
  if (!hasMethod(transport, 'unary')) faults.add('transport', `must be one that a function of this package has made`);
  for (const name of CONNECTION_MEMBERS) {
    if (members.has(name)) faults.add(name, 'is an option of the transport: give it where that is made');
  }
  faults.throwIfAny();
  return transport as Transport;
}

const { method } = PermissionService;

export class RemoteUsher implements KeepingUsher {
  readonly #transport: Transport;
  readonly #batching: Batching | null;
  readonly #log: Log;

  constructor(transport: Transport, { batch = true, log = console }: AskerOptions) {
    this.#transport = transport;
    this.#log = log;
    const askers = {
      one: ({ question, bytes }: Written) => this.#checkWritten(question, bytes),
      many: (written: readonly Written[]) => this.#batchWritten(written),
    };
    this.#batching = batch ? new Batching(askers) : null;
  }

  async check(question: Question, options?: AskOptions): Promise<Decision> {
    const fields = readCheck(question);
    if (this.#batching !== null && options === undefined) return await this.#batching.check(fields);
    return await this.#check(fields, readAsk(options));
  }

  async allowed(question: Question, options?: AskOptions): Promise<boolean> {
    return await orDenied(() => this.check(question, options), question, this.#log);
  }

  keep<Choice extends 'throw' | 'undefined' = 'throw'>(
    question: Question,
    options?: KeepOptions<Choice>,
  ): KeptCall<NothingOf<Choice>> {
    const fields = readCheck(question);
    const bytes = messageOf(fields);
    const ask = () => this.#batching?.check(fields, bytes) ?? this.#checkWritten(fields, bytes);
    return keptCall(ask, (given) => this.ready(given), options);
  }

  /** `bytes` is the message of the question, where that was written before. */
  #checkWritten(fields: CheckFields, bytes: Uint8Array | null): Promise<Decision> {
    if (bytes === null) return this.#check(fields, NO_OPTIONS);
    return inSpan('check', fields.app, async () => {
      const answer = await this.#transport.written(method.check, bytes);
      return decisionOf(answer, answer.revision);
    });
  }

  #check(fields: CheckFields, options: AskOptions): Promise<Decision> {
    return inSpan('check', fields.app, async () => {
      const answer = await this.#transport.unary(method.check, fresh(fields, options), options);
      return decisionOf(answer, answer.revision);
    });
  }

  async bulkCheck(subject: BulkQuestion, given?: AskOptions): Promise<ReadonlyMap<string, Decision>> {
    const fields = readBulk(subject);
    const options = readAsk(given);
    return await inSpan('bulkCheck', fields.app, async () => {
      const answer = await this.#transport.unary(method.bulkCheck, fresh(fields, options), options);
      const { results, revision } = answer;
      return new Map(results.map((result) => [result.permission, decisionOf(result, revision)]));
    });
  }

  async batchCheck(questions: readonly Question[], options?: AskOptions): Promise<readonly Decision[]> {
    return await this.#batchCheck(readBatch(questions), readAsk(options));
  }

  #batchCheck(checks: readonly CheckFields[], options: AskOptions): Promise<readonly Decision[]> {
    return inSpan('batchCheck', checks[0]?.app ?? '', async () => {
      const request = { checks: [...checks], minRevision: options.minRevision ?? '' };
      return decisionsOf(await this.#transport.unary(method.batchCheck, request, options), checks.length);
    });
  }

  /** The same as `#batchCheck`, with what was written before as it is. */
  #batchWritten(written: readonly Written[]): Promise<readonly Decision[]> {
    const questions = written.map(({ question }) => question);
    if (written.every(({ bytes }) => bytes === null)) return this.#batchCheck(questions, NO_OPTIONS);
    return inSpan('batchCheck', questions[0]?.app ?? '', async () => {
      const writer = new BinaryWriter();
      const { number } = BatchCheckRequestSchema.field.checks;
      for (const { question, bytes } of written) {
        writer.tag(number, WireType.LengthDelimited).bytes(bytes ?? messageOf(question));
      }
      return decisionsOf(await this.#transport.written(method.batchCheck, writer.finish()), written.length);
    });
  }

  async effective(
    subject: Subject,
    given?: AskOptions,
  ): Promise<{ readonly revision: string; readonly permissions: readonly Held[] }> {
    const fields = readSubject(subject);
    const options = readAsk(given);
    return await inSpan('effective', fields.app, async () => {
      const answer = await this.#transport.unary(method.effective, fresh(fields, options), options);
      return { revision: answer.revision, permissions: answer.permissions.map(heldOf) };
    });
  }

  async explain(question: Question, given?: AskOptions): Promise<Explanation> {
    const fields = readCheck(question);
    const options = readAsk(given);
    return await inSpan('explain', fields.app, async () => {
      const request = { check: fresh(fields, options) };
      return explanationOf(await this.#transport.unary(method.explain, request, options));
    });
  }

  async *subjects(question: Omit<Question, 'email'>, given?: AskOptions): AsyncGenerator<Allowed> {
    const fields = readAboutEverybody(question);
    const options = readAsk(given);
    for (let pageToken = ''; ; ) {
      const page = await inSpan('listSubjects', fields.app, () =>
        this.#transport.unary(method.listSubjects, { ...fresh(fields, options), pageToken, pageSize: 1000 }, options),
      );
      for (const { email, accessLevel, source } of page.subjects) {
        yield { email, level: levelOf(accessLevel), source: sourceOf(source) };
      }
      pageToken = page.nextPageToken;
      if (pageToken === '') return;
    }
  }

  async resources(
    question: Omit<Question, 'resource'> & { readonly resourceType: string },
    given?: AskOptions,
  ): Promise<Reach> {
    const fields = readAboutRecords(question);
    const options = readAsk(given);
    const resourceIds: string[] = [];
    for (let pageToken = ''; ; ) {
      const request = { ...fresh(fields, options), pageToken, pageSize: 10_000 };
      const page = await inSpan('listResources', fields.app, () =>
        this.#transport.unary(method.listResources, request, options),
      );
      resourceIds.push(...page.resourceIds);
      pageToken = page.nextPageToken;
      if (pageToken === '') return { scope: isAll(page.scope) ? 'all' : 'only', resourceIds, revision: page.revision };
    }
  }

  watch(options?: WatchOptions): AsyncIterable<Changes> {
    return watch(this.#transport, options);
  }

  async ready(given?: Pick<AskOptions, 'deadlineMs' | 'signal'>): Promise<void> {
    const { deadlineMs = READY_MS, signal } = readReady(given);
    const until = performance.now() + deadlineMs;
    for (;;) {
      const left = Math.max(0, until - performance.now());
      try {
        await this.#transport.unary(method.check, NOBODY, { deadlineMs: left, signal });
        return;
      } catch (error) {
        if (error instanceof InvalidQuestionError) return;
        const isOver = !(error instanceof UnavailableError) || performance.now() + READY_PAUSE_MS >= until;
        if (isOver) throw error;
      }
      await pause(READY_PAUSE_MS, undefined, { signal });
    }
  }

  close(): void {
    this.#transport.close();
  }
}

function messageOf(fields: CheckFields): Uint8Array {
  return toBinary(CheckRequestSchema, create(CheckRequestSchema, fields));
}

/** In the order of the questions. */
function decisionsOf({ results, revision }: BatchCheckResponse, asked: number): readonly Decision[] {
  if (results.length !== asked) throw new Error('the answers do not match the questions');
  return results.map((result) => decisionOf(result, revision));
}

const NO_OPTIONS: AskOptions = {};
/** For `ready`, by default. */
export const READY_MS = 10_000;
const READY_PAUSE_MS = 100;
/** A question about nobody: the answer is no. */
const NOBODY = { email: 'nobody@usher.invalid', app: 'usher', permission: 'ready' };

/** The same question, answered as fresh as the options say. */
export function fresh<T extends { minRevision: string }>(fields: T, { minRevision }: AskOptions): T {
  return minRevision === undefined ? fields : { ...fields, minRevision };
}

/**
 * Whether the answer is yes. Trouble is no, and a line in the log, without the address. A question that is wrong is thrown: it is a
 * mistake of the program, and would be one at the next try, too.
 */
export async function orDenied(ask: () => Promise<Decision>, question: Question, log: Log): Promise<boolean> {
  try {
    return (await ask()).allowed;
  } catch (error) {
    // A revision that the service does not know is one of a database that was restored.
    if (error instanceof InvalidQuestionError && error.reason !== 'UNKNOWN_REVISION') throw error;
    const { app, permission } = question;
    log.warn(
      `usher: no answer about ${permission} in ${app}: ${error instanceof Error ? error.message : String(error)} Denied.`,
    );
    return false;
  }
}
