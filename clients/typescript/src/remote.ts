/** Asks a service or an edge over gRPC. */

import { PermissionService } from '../../../src/gen/usher/permission/v1/permission_pb.ts';
import { Batching } from './batching.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import {
  askedLevel,
  checkFields,
  decisionOf,
  explanationOf,
  heldOf,
  isAll,
  levelOf,
  sourceOf,
  subjectFields,
} from './messages.ts';
import { inSpan } from './spans.ts';
import type { Transport } from './transport.ts';
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
import { watch } from './watch.ts';

interface AskerOptions {
  /** Whether checks that are made in one turn of the event loop go in one call; true by default. */
  readonly batch?: boolean | undefined;
  /** Gets the warnings of `allowed`; `console` by default. */
  readonly log?: Log | undefined;
}

/** Over gRPC to an address, or by another transport: `connectTransport` of `@usher-service/client/connect`. */
export type UsherOptions = AskerOptions & (ConnectionOptions | { readonly transport: Transport });

/** The questions of a service or an edge. Make one for the whole process: it holds one connection. */
export function createUsher(options: UsherOptions): Usher {
  return new RemoteUsher('transport' in options ? options.transport : new Connection(options), options);
}

const { method } = PermissionService;

export class RemoteUsher implements Usher {
  readonly #transport: Transport;
  readonly #batching: Batching | null;
  readonly #log: Log;

  constructor(transport: Transport, { batch = true, log = console }: AskerOptions) {
    this.#transport = transport;
    this.#log = log;
    const askers = {
      one: (question: Question) => this.#check(question),
      many: (questions: readonly Question[]) => this.batchCheck(questions),
    };
    this.#batching = batch ? new Batching(askers) : null;
  }

  check(question: Question, options?: AskOptions): Promise<Decision> {
    return this.#batching === null || options !== undefined
      ? this.#check(question, options)
      : this.#batching.check(question);
  }

  async allowed(question: Question, options?: AskOptions): Promise<boolean> {
    return await orDenied(() => this.check(question, options), question, this.#log);
  }

  #check(question: Question, options?: AskOptions): Promise<Decision> {
    return inSpan('check', question.app, async () => {
      const answer = await this.#transport.unary(method.check, checkFields(question, options), options);
      return decisionOf(answer, answer.revision);
    });
  }

  bulkCheck(
    subject: Subject & { readonly permissions: readonly string[]; readonly level?: 'view' | 'edit' | undefined },
    options?: AskOptions,
  ): Promise<ReadonlyMap<string, Decision>> {
    return inSpan('bulkCheck', subject.app, async () => {
      const fields = { permissions: [...subject.permissions], accessLevel: askedLevel(subject.level) };
      const request = { ...subjectFields(subject, options), ...fields };
      const { results, revision } = await this.#transport.unary(method.bulkCheck, request, options);
      return new Map(results.map((result) => [result.permission, decisionOf(result, revision)]));
    });
  }

  batchCheck(questions: readonly Question[], options: AskOptions = {}): Promise<readonly Decision[]> {
    return inSpan('batchCheck', questions[0]?.app ?? '', async () => {
      const { minRevision = '' } = options;
      const request = { checks: questions.map((question) => checkFields(question)), minRevision };
      const { results, revision } = await this.#transport.unary(method.batchCheck, request, options);
      if (results.length !== questions.length) throw new Error('the answers do not match the questions');
      return results.map((result) => decisionOf(result, revision));
    });
  }

  effective(
    subject: Subject,
    options?: AskOptions,
  ): Promise<{ readonly revision: string; readonly permissions: readonly Held[] }> {
    return inSpan('effective', subject.app, async () => {
      const { permissions, revision } = await this.#transport.unary(
        method.effective,
        subjectFields(subject, options),
        options,
      );
      return { revision, permissions: permissions.map(heldOf) };
    });
  }

  explain(question: Question, options?: AskOptions): Promise<Explanation> {
    return inSpan('explain', question.app, async () => {
      const request = { check: checkFields(question, options) };
      return explanationOf(await this.#transport.unary(method.explain, request, options));
    });
  }

  async *subjects(question: Omit<Question, 'email'>, options: AskOptions = {}): AsyncGenerator<Allowed> {
    const { email: _, ...about } = checkFields({ ...question, email: '' }, options);
    for (let pageToken = ''; ; ) {
      const page = await inSpan('listSubjects', question.app, () =>
        this.#transport.unary(method.listSubjects, { ...about, pageToken, pageSize: 1000 }, options),
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
    options: AskOptions = {},
  ): Promise<Reach> {
    const { resourceType, ...asked } = question;
    const { resourceId: _, ...about } = checkFields(asked, options);
    const resourceIds: string[] = [];
    for (let pageToken = ''; ; ) {
      const request = { ...about, resourceType, pageToken, pageSize: 10_000 };
      const page = await inSpan('listResources', question.app, () =>
        this.#transport.unary(method.listResources, request, options),
      );
      resourceIds.push(...page.resourceIds);
      pageToken = page.nextPageToken;
      if (pageToken === '') return { scope: isAll(page.scope) ? 'all' : 'only', resourceIds, revision: page.revision };
    }
  }

  watch(options: WatchOptions = {}): AsyncIterable<Changes> {
    return watch(this.#transport, options);
  }

  close(): void {
    this.#transport.close();
  }
}

/** Whether the answer is yes. Trouble is no, and a line in the log, without the address. */
export async function orDenied(
  ask: () => Promise<Decision>,
  { app, permission }: Question,
  log: Log,
): Promise<boolean> {
  try {
    return (await ask()).allowed;
  } catch (error) {
    log.warn(
      `usher: no answer about ${permission} in ${app}: ${error instanceof Error ? error.message : String(error)} Denied.`,
    );
    return false;
  }
}
