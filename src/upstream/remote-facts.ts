/** Facts from another Usher, as an engine reads them (docs/freshness.md#edges). */

import {
  create,
  type DescMessage,
  type DescMethod,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { type ServiceError, status } from '@grpc/grpc-js';
import type { Clock } from '../base/clock.ts';
import { type UsherError, unavailable } from '../base/errors.ts';
import type { EngineLog } from '../engine/follower-options.ts';
import type { FactsSource, LogNews, RevisionToken } from '../engine/types.ts';
import { FactsService } from '../gen/usher/facts/v1/facts_pb.ts';
import { fromFollowResponse, fromLog, fromMembers, fromPolicy, RULES_VERSION } from '../rpc/facts-messages.ts';
import { decodeStrictly } from '../rpc/strict.ts';
import { isTrouble, type UpstreamLink } from './link.ts';

export interface RemoteFactsOptions {
  readonly link: Pick<UpstreamLink, 'unary' | 'stream'>;
  /** How long facts may be used here, in ms. */
  readonly ttlMs: number;
  readonly clock: Clock;
  readonly log: EngineLog;
  /** The revision up to which changes are known here. */
  readonly head: () => RevisionToken;
  readonly counters?: UpstreamCounters;
}

/** Calls to the upstream, for metrics. */
export class UpstreamCounters {
  calls = 0;
  failures = 0;
  /** Streams of changes that were opened. */
  follows = 0;
}

/** How long an answer may take, in ms: facts that the upstream must read first; the log; the log as of now. */
const FACTS_MS = 3000;
const LOG_MS = 1000;
const FRESH_MS = 2500;
/** Calls at once. Each carries up to 256 needs. */
const PARALLELISM = 4;
/** Changes are told as they happen; this bounds how long one may stay unnoticed, and what a thousand edges cost their upstream. */
const POLL_MS = 500;
/** Between attempts to follow, in ms, doubled with each. */
const AGAIN_MS = 100;
const MOST_AGAIN_MS = 1000;
/** A stream without a message for this long is opened anew: one comes at least every 2 s. */
const SILENT_MS = 4000;

type Methods = typeof FactsService.method;

export function remoteFacts(options: RemoteFactsOptions): FactsSource {
  const { link, ttlMs, counters = new UpstreamCounters() } = options;
  // What is left of the life of a fact must be worth asking for it.
  const oldest = Math.floor(ttlMs / 2);
  const ask = async <K extends keyof Methods, T>(
    method: Methods[K],
    request: MessageInitShape<Methods[K]['input']>,
    deadlineMs: number,
    read: (answer: MessageShape<Methods[K]['output']>) => T,
  ): Promise<T> => {
    counters.calls++;
    try {
      const message = encoded(method.input, {
        rulesVersion: RULES_VERSION,
        ...request,
      } as MessageInitShape<DescMessage>);
      const bytes = await link.unary(pathOf(method), message, { deadlineMs });
      return read(
        decodeStrictly<DescMessage>(method.output, bytes, Number.POSITIVE_INFINITY) as MessageShape<
          Methods[K]['output']
        >,
      );
    } catch (error) {
      counters.failures++;
      throw toTrouble(error);
    }
  };
  const { members, policy, changes } = FactsService.method;
  return {
    parallelism: PARALLELISM,
    pollMs: POLL_MS,
    members: (since, needs, maxAgeMs = oldest) =>
      ask<'members', ReturnType<typeof fromMembers>>(
        members,
        { since: BigInt(since), maxAgeMs, needs: needs.map((need) => ({ ...need })) },
        FACTS_MS,
        (answer) => fromMembers(answer, needs),
      ),
    policy: (since, app, maxAgeMs = oldest) =>
      ask<'policy', ReturnType<typeof fromPolicy>>(
        policy,
        { since: BigInt(since), maxAgeMs, app },
        FACTS_MS,
        (answer) => fromPolicy(answer, app),
      ),
    changes: (since, fresh = false) =>
      ask<'changes', ReturnType<typeof fromLog>>(
        changes,
        { since: BigInt(since), fresh },
        fresh ? FRESH_MS : LOG_MS,
        ({ log }) => fromLog(log),
      ),
    // Explanations are passed on.
    grounds: () => Promise.reject(unavailable('This process does not explain.')),
    listen: async (hear) => {
      const follow = new Follow(options, counters, hear);
      return async () => follow.end();
    },
  };
}

/** Keeps a stream of changes open. */
class Follow {
  readonly #options: RemoteFactsOptions;
  readonly #counters: UpstreamCounters;
  readonly #hear: (news?: LogNews) => void;
  #failures = 0;
  #cancelStream: () => void = () => undefined;
  #cancelTimer: () => void = () => undefined;
  #ended = false;

  constructor(options: RemoteFactsOptions, counters: UpstreamCounters, hear: (news?: LogNews) => void) {
    this.#options = options;
    this.#counters = counters;
    this.#hear = hear;
    this.#open();
  }

  end(): void {
    this.#ended = true;
    this.#cancelTimer();
    this.#cancelStream();
  }

  #open(): void {
    const { link, head } = this.#options;
    const { number, nonce } = head();
    const { method } = FactsService;
    const request = { rulesVersion: RULES_VERSION, since: BigInt(number), sinceNonce: nonce ?? '' };
    this.#counters.follows++;
    const stream = link.stream(pathOf(method.follow), encoded(method.follow.input, request));
    let isOver = false;
    const over = (error: unknown): void => {
      if (isOver) return;
      isOver = true;
      stream.cancel();
      this.#again(error);
    };
    this.#cancelStream = () => {
      isOver = true;
      stream.cancel();
    };
    stream.on('data', (bytes: Buffer) => {
      if (isOver) return;
      try {
        this.#tell(bytes);
        this.#watchFor(over);
      } catch (error) {
        over(error);
      }
    });
    stream.on('error', over);
    stream.on('end', () => over(undefined));
    this.#watchFor(over);
  }

  #tell(bytes: Buffer): void {
    const message = decodeStrictly(FactsService.method.follow.output, bytes, Number.POSITIVE_INFINITY);
    this.#failures = 0;
    const news = fromFollowResponse(message);
    // A message without changes says that the stream is alive.
    if (news === undefined || news.changes.length > 0) this.#hear(news);
  }

  #watchFor(over: (error: unknown) => void): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#options.clock.after(SILENT_MS, () => over(new Error('no message for too long')));
  }

  /** Meanwhile the log is asked for, as always. */
  #again(error: unknown): void {
    const { clock, log } = this.#options;
    this.#cancelTimer();
    if (this.#ended) return;
    log.debug({ err: error }, 'stream of changes ended; opening another');
    // Not all who were cut off at once come back at once.
    const pause = Math.min(MOST_AGAIN_MS, AGAIN_MS * 2 ** this.#failures++) * (0.5 + clock.random() / 2);
    this.#cancelTimer = clock.after(pause, () => this.#open());
  }
}

function pathOf({ parent, name }: DescMethod): string {
  return `/${parent.typeName}/${name}`;
}

function encoded<D extends DescMessage>(schema: D, message: MessageInitShape<D>): Buffer {
  return Buffer.from(toBinary(schema, create(schema, message)));
}

/** Whatever goes wrong with the upstream is trouble, never an answer. */
export function toTrouble(error: unknown): UsherError {
  const { code, details = '' } = error as Partial<ServiceError>;
  if (isTrouble(error)) return unavailable('The upstream does not answer; try again shortly.', error);
  if (code === status.UNAUTHENTICATED || code === status.PERMISSION_DENIED) {
    return unavailable('The upstream does not accept the key of this process.', error);
  }
  return unavailable(`The upstream does not serve this process: ${details}`, error);
}
