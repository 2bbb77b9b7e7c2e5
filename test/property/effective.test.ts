import { isDeepStrictEqual } from 'node:util';
import { create, toBinary } from '@bufbuild/protobuf';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { UsherError } from '../../src/base/errors.ts';
import { EffectiveRequestSchema, EffectiveResponseSchema } from '../../src/gen/usher/permission/v1/permission_pb.ts';
import { createHandles } from '../../src/grpc/answering.ts';
import type { Handle } from '../../src/grpc/bridge.ts';
import type { PermissionEngine } from '../../src/rpc/call.ts';
import { RPCS } from '../../src/rpc/methods.ts';
import { PROTO } from '../../src/rpc/naming.ts';
import { decodeStrictly } from '../../src/rpc/strict.ts';
import { at, fixture } from '../engine/fakes.ts';
import { NAMES, pick, type Random, randomOperation, seeded } from '../oracle/world.ts';
import { messages } from './messages.ts';

/**
 * Effective as the port answers it, at once where it can, beside generated code and an engine that has nothing at hand: the same
 * bytes or the same refusal, while the data change. What is right of them is compared with the oracle elsewhere.
 */
const STEPS = process.env.USHER_LONG ? 500_000 : 6000;

type Outcome = { answer: Buffer } | { refused: unknown };

async function outcome(handle: Handle, request: Buffer): Promise<Outcome> {
  try {
    return { answer: await handle(request) };
  } catch (error) {
    if (!(error instanceof UsherError)) throw error;
    return { refused: [error.code, error.reason, error.message, error.details] };
  }
}

function generated(engine: PermissionEngine): Handle {
  const waiting = new Proxy(engine, {
    get: (target, name) => {
      if (name === 'peekEffective') return () => null;
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return async (request) => {
    const answer = await RPCS.effective.ask(waiting, decodeStrictly(EffectiveRequestSchema, request), {
      naming: PROTO,
    });
    const message = create(EffectiveResponseSchema, RPCS.effective.toMessage(answer));
    return Buffer.from(toBinary(EffectiveResponseSchema, message));
  };
}

function asked(random: Random, revision: number): Buffer {
  const { resourceType, resourceId } =
    random(2) === 0 ? { resourceType: '', resourceId: '' } : pick(random, NAMES.resources);
  const odd = () => random(9) === 0;
  const bytes = toBinary(
    EffectiveRequestSchema,
    create(EffectiveRequestSchema, {
      email: pick(random, odd() ? ['no address', 'ž@example.com', 'ADA@Example.com'] : NAMES.emails),
      app: pick(random, odd() ? ['nowhere', 'No'] : NAMES.apps),
      resourceType: odd() ? 'odrer' : resourceType,
      resourceId: odd() ? 'žluťoučký' : resourceId,
      minRevision: odd() ? pick(random, [`${revision}`, `${revision + 1000}`, 'x']) : '',
    }),
  );
  const changed = [...bytes];
  if (random(4) === 0) changed[random(changed.length)] = random(256);
  return Buffer.from(changed);
}

test('Effective answers what generated code and a waiting engine answer, byte for byte', async () => {
  const random = seeded(20_261_125);
  const { engine, source } = await fixture({
    cache: { megabytes: 64, ttlMs: 30_000, maxEntries: 150, policies: 9, persons: 9, members: 9 },
  });
  let peeked = 0;
  const counting = new Proxy(engine, {
    get: (target, name) => {
      const value = Reflect.get(target, name, target) as unknown;
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => {
        const answer = value.apply(target, given) as unknown;
        if (name === 'peekEffective' && answer !== null) peeked++;
        return answer;
      };
    },
  });
  const byHand = createHandles(counting, { get: () => undefined, put: () => undefined }).get('Effective') as Handle;
  const others = fc.sample(messages, { numRuns: Math.min(2000, STEPS), seed: 7 });
  const other = generated(engine);
  let refused = 0;
  for (let step = 0; step < STEPS; step++) {
    if (step < 120 || random(60) === 0) {
      const operation = randomOperation(random, source.database.newest.rows, { ...NAMES, strict: true });
      await engine.reach(at(source.database.write([operation])));
    }
    if (random(400) === 0) engine.dropAll();
    const request =
      random(5) === 0 ? Buffer.from(others[step % others.length] as Uint8Array) : asked(random, engine.cursor);
    const got = await outcome(byHand, request);
    const wanted = await outcome(other, request);
    if (!isDeepStrictEqual(got, wanted)) expect({ request, ...got }).toEqual({ request, ...wanted });
    if ('refused' in got) refused++;
  }
  await engine.close();
  // Neither refusals alone nor answers that waited prove anything.
  expect(peeked).toBeGreaterThan(STEPS / 10);
  expect(refused).toBeGreaterThan(STEPS / 10);
});
