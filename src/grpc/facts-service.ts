/** FactsService at the gRPC port: facts for edges and for clients that decide themselves (docs/reference/facts.md). */

import { create, type DescMethodUnary, toBinary } from '@bufbuild/protobuf';
import type { FrontMethod } from '#http2-front/service';
import { waiting } from '../base/tracing.ts';
import type { FactServer } from '../engine/fact-server.ts';
import type { Watch, WatchBatch } from '../engine/watch.ts';
import { FactsService, FollowRequestSchema, FollowResponseSchema } from '../gen/usher/facts/v1/facts_pb.ts';
import { answerFacts, FACTS_METHODS, openFollow } from '../rpc/facts.ts';
import { toFollowResponse } from '../rpc/facts-messages.ts';
import { decodeStrictly } from '../rpc/strict.ts';
import { type Authorize, type Handle, unary } from './bridge.ts';
import { METHODS } from './metrics.ts';
import type { ServedMethod } from './served-methods.ts';
import { type OpenStream, serverStreaming } from './streaming.ts';
import type { WaitingCalls } from './waiting.ts';

export interface ServedFacts {
  readonly facts: FactServer;
  readonly watch: Watch;
  readonly authorize: Authorize;
}

/** The methods with their handlers, as grpc-js takes them. */
export function servedFacts({ facts, watch, authorize }: ServedFacts, calls: WaitingCalls): ServedMethod[] {
  const { name } = FactsService.method.follow;
  const follow = serverStreaming(name, followHandle(watch), authorize, calls.options);
  return [
    ...FACTS_METHODS.map((method) => ({
      name: method.name,
      streams: false,
      authorize,
      handler: unary(method.name, factsHandle(facts, method as DescMethodUnary), authorize, calls),
    })),
    { name, streams: true, authorize, handler: follow },
  ];
}

/** The unary methods by their paths, for the front. */
export function factsMethods({ facts, authorize }: ServedFacts): [string, FrontMethod][] {
  return FACTS_METHODS.map((method) => [
    `/${FactsService.typeName}/${method.name}`,
    {
      index: METHODS.indexOf(method.name),
      handle: factsHandle(facts, method as DescMethodUnary),
      authorize,
      many: false,
    },
  ]);
}

function factsHandle(facts: FactServer, { localName, input }: DescMethodUnary): Handle {
  const answer = async (request: Buffer): Promise<Buffer> => {
    const { buffer, byteOffset, byteLength } = await answerFacts(facts, localName, decodeStrictly(input, request));
    return Buffer.from(buffer, byteOffset, byteLength);
  };
  return (request) => waiting(() => answer(request));
}

/** Followers at the same revision get the same message: it is encoded once. */
function followHandle(watch: Watch): OpenStream {
  const known = new WeakMap<WatchBatch, Buffer>();
  const encode = (batch: WatchBatch): Buffer => {
    const bytes =
      known.get(batch) ??
      Buffer.from(toBinary(FollowResponseSchema, create(FollowResponseSchema, toFollowResponse(batch))));
    known.set(batch, bytes);
    return bytes;
  };
  return (request, admission) => {
    const stream = openFollow(watch, decodeStrictly(FollowRequestSchema, request), admission);
    return {
      ended: stream.ended,
      end: () => stream.end(),
      async *[Symbol.asyncIterator]() {
        for await (const batch of stream) yield encode(batch);
      },
    };
  };
}
