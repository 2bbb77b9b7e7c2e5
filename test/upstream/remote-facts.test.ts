import { Readable } from 'node:stream';
import { fromBinary } from '@bufbuild/protobuf';
import { describe, expect, test } from '@jest/globals';
import { FactsService } from '../../src/gen/usher/facts/v1/facts_pb.ts';
import { answerFacts } from '../../src/rpc/facts.ts';
import type { UpstreamLink } from '../../src/upstream/link.ts';
import { remoteFacts } from '../../src/upstream/remote-facts.ts';
import { ask, CACHE, type Fixture, fixture } from '../engine/fakes.ts';

const TTL = 10_000;
/** As long as a fact is used, for which nothing is subtracted at random: the TTL less one tick. */
const LIFE = TTL - 100;
const cache = { ...CACHE, ttlMs: TTL };

interface Edge extends Pick<Fixture, 'engine' | 'clock'> {
  readonly upstream: Fixture;
  /** From now on the upstream answers nothing. */
  readonly cut: () => void;
}

/** An edge and its upstream, with the messages between them and no wire. */
async function edge(): Promise<Edge> {
  const upstream = await fixture({ cache });
  const { clock } = upstream;
  let isCut = false;
  const link: Pick<UpstreamLink, 'unary' | 'stream'> = {
    unary: async (path, message) => {
      if (isCut) throw new Error('cut off');
      const method = FactsService.methods.find(({ name }) => path.endsWith(`/${name}`));
      if (method === undefined) throw new Error(`no method of facts: ${path}`);
      return Buffer.from(
        await answerFacts(upstream.engine.served, method.localName, fromBinary(method.input, message)),
      );
    },
    // Nothing is told: the edge asks for the log.
    stream: () =>
      Object.assign(new Readable({ read: () => undefined }), {
        cancel: () => undefined,
        getPeer: () => '',
        getAuthContext: () => null,
        deserialize: (bytes: Buffer) => bytes,
      }),
  };
  const log = { debug: () => undefined, info: () => undefined, warn: () => undefined };
  const head = () => ({ number: 0, nonce: null });
  const { engine } = await fixture({ source: remoteFacts({ link, ttlMs: TTL, clock, log, head }), clock, cache });
  return {
    engine,
    clock,
    upstream,
    cut: () => {
      isCut = true;
    },
  };
}

/** Asks every 100 ms for a while; how often the cache alone did not answer. */
async function asking({ engine, clock }: Edge, ms: number): Promise<number> {
  let refused = 0;
  for (let passed = 0; passed < ms; passed += 100) {
    if (engine.peek(ask()) === null) refused++;
    await clock.advance(100);
  }
  return refused;
}

describe('facts of an edge', () => {
  test('live for the TTL from when the database was asked, whoever asked it', async () => {
    const made = await edge();
    const { engine, clock, upstream, cut } = made;
    await upstream.engine.check(ask());
    const readAt = clock.time;
    await clock.advance(TTL / 2 - 100);
    await engine.check(ask());
    expect(upstream.source.of('members')).toHaveLength(1);
    cut();
    await clock.advance(readAt + LIFE - 100 - clock.time);
    expect(engine.peek(ask())).not.toBeNull();
    await clock.advance(100);
    expect(engine.peek(ask())).toBeNull();
  });

  test('that are used are read ahead, by a statement of the upstream in half a TTL', async () => {
    const made = await edge();
    await made.engine.check(ask());
    expect(await asking(made, 5 * TTL)).toBe(0);
    const { source } = made.upstream;
    for (const kind of ['members', 'policy'] as const) {
      expect(source.of(kind).length).toBeGreaterThan(5);
      expect(source.of(kind).length).toBeLessThan(13);
    }
  });

  test('have a third of their life left when the upstream goes away, at any moment', async () => {
    for (let after = 0; after <= 2 * TTL; after += 700) {
      const made = await edge();
      // Others ask the upstream, so that it has facts of every age.
      await made.upstream.engine.check(ask());
      await made.clock.advance(after % TTL);
      await made.engine.check(ask());
      await asking(made, after);
      made.cut();
      expect([after, await asking(made, LIFE / 3)]).toEqual([after, 0]);
    }
  });
});
