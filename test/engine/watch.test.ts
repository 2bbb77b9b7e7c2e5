import { describe, expect, test } from '@jest/globals';
import { unavailable } from '../../src/base/errors.ts';
import { formatRevision, type RevisionToken } from '../../src/engine/types.ts';
import { Watch, type WatchBatch, type WatchRequest, type WatchStream } from '../../src/engine/watch.ts';
import { type Fixture, fixture, REVOKE, settled } from './fakes.ts';

interface Watching extends Fixture {
  readonly watch: Watch;
  /** Reads of the log for streams that missed more than is remembered. */
  readonly reads: number[];
  /** A commit with that scope, told to the follower. Answers its revision. */
  readonly write: (...scopes: string[]) => Promise<string>;
  readonly open: (request?: Partial<WatchRequest>) => Reader;
}

/** Takes every message as soon as it comes. */
class Reader {
  readonly told: WatchBatch[] = [];
  readonly stream: WatchStream;
  error: unknown;
  over = false;

  constructor(stream: WatchStream) {
    this.stream = stream;
    void this.#read();
  }

  async #read(): Promise<void> {
    try {
      for await (const batch of this.stream) this.told.push(batch);
    } catch (error) {
      this.error = error;
    }
    this.over = true;
  }

  get scopes(): string[] {
    return this.told.flatMap(({ scopes }) => scopes);
  }

  get revision(): string {
    return formatRevision((this.told.at(-1) as WatchBatch).end);
  }
}

async function watching({ recent = true }: { recent?: boolean } = {}): Promise<Watching> {
  const fixed = await fixture();
  const { engine, source, clock } = fixed;
  const reads: number[] = [];
  const log = { debug: () => undefined, info: () => undefined, warn: () => undefined };
  const history = async (mark: RevisionToken, upTo: number, limit: number) => {
    reads.push(mark.number);
    if (source.failing !== undefined) throw source.failing;
    const { sinceNonce, changes, tooMany } = source.database.window(mark.number, Number.POSITIVE_INFINITY);
    const isKnown = mark.number === 0 || (mark.nonce !== null && mark.nonce === sinceNonce);
    return isKnown && !tooMany ? changes.filter(({ revision }) => revision <= upTo).slice(0, limit) : null;
  };
  const watch = new Watch({ tail: engine.tail, history, clock, log });
  const head = () => formatRevision({ number: source.database.head, nonce: source.database.newest.nonce });
  return {
    ...fixed,
    watch,
    reads,
    write: async (...scopes) => {
      source.database.write([], scopes);
      if (!recent) engine.dropAll();
      source.wake();
      await settled();
      // The log is read at most every 20 ms for this, and streams are told no more often than their number allows.
      await clock.advance(20);
      return head();
    },
    open: (request = {}) => new Reader(watch.open({ apps: null, since: null, ...request })),
  };
}

const token = (text: string): RevisionToken => {
  const [number, nonce = null] = text.split('.');
  return { number: Number(number), nonce };
};

describe('streams of changes', () => {
  test('the first message names the newest revision, and each change is told once, at once', async () => {
    const { write, open, reads } = await watching();
    const before = await write('p:shop');
    const reader = open();
    await settled();
    expect(reader.told).toMatchObject([{ scopes: [], reset: false }]);
    expect(reader.revision).toBe(before);
    const after = await write('m:shop:ada@example.com', 'u:bob@example.com');
    expect(reader.scopes).toEqual(['m:shop:ada@example.com', 'u:bob@example.com']);
    expect(reader.revision).toBe(after);
    expect(reads).toEqual([]);
  });

  test('the first message is as new as the database, whatever this instance has read', async () => {
    const { source, open } = await watching();
    source.database.write([], ['p:shop']);
    const reader = open();
    await settled();
    expect(reader.told).toHaveLength(1);
    expect(reader.revision).toBe(`1.${source.database.newest.nonce}`);
  });

  test('what came after a revision is told first, from memory or from the log', async () => {
    for (const recent of [true, false]) {
      const { write, open, reads } = await watching({ recent });
      const first = await write('p:shop');
      await write('p:desk');
      const last = await write('u:ada@example.com');
      const reader = open({ since: token(first) });
      const beginning = open({ since: { number: 0, nonce: null } });
      await settled();
      expect(reader.scopes).toEqual(['p:desk', 'u:ada@example.com']);
      expect(beginning.scopes).toEqual(['p:shop', 'p:desk', 'u:ada@example.com']);
      expect([reader.revision, beginning.revision]).toEqual([last, last]);
      expect(reads.length > 0).toBe(!recent);
      await write('a:shop');
      expect(reader.scopes).toEqual(['p:desk', 'u:ada@example.com', 'a:shop']);
    }
  });

  test('a revision that is not kept, of another history, ahead of the log, or without its nonce resets the reader', async () => {
    const { write, open, source, engine } = await watching();
    await write('p:shop');
    const last = await write('p:desk');
    const { newest } = source.database;
    const unknown = [
      { number: 1, nonce: '1234567' },
      { number: 2, nonce: null },
      { number: 9, nonce: newest.nonce },
    ];
    for (const since of unknown) {
      const reader = open({ since });
      await settled();
      expect(reader.told).toMatchObject([{ scopes: [], reset: true }]);
      expect(reader.revision).toBe(last);
    }
    engine.dropAll();
    source.database.prune(1);
    const reader = open({ since: { number: 0, nonce: null } });
    await settled();
    expect(reader.told).toMatchObject([{ reset: true }]);
  });

  test('a stream is reset when the database turns out to have another history', async () => {
    const { write, open, source } = await watching();
    await write('p:shop');
    await write('p:desk');
    const reader = open();
    await settled();
    source.database.restore(1, 0);
    const now = await write('u:ada@example.com');
    expect(reader.told.at(-1)).toMatchObject({ scopes: [], reset: true });
    expect(reader.revision).toBe(now);
    await write('p:shop');
    expect(reader.told.at(-1)).toMatchObject({ scopes: ['p:shop'], reset: false });
  });

  test('only changes of the named applications are told, and those of people everywhere and of everything', async () => {
    const { write, open, clock } = await watching();
    const reader = open({ apps: new Set(['shop']) });
    await settled();
    const mine = ['p:shop', 'a:shop', 'm:shop:ada@example.com', 'u:ada@example.com', '*', 'x:from a newer version'];
    for (const scope of [...mine, 'p:desk', 'a:desk', 'm:desk:ada@example.com']) await write(scope);
    expect(reader.scopes).toEqual(mine);
    await clock.advance(1500);
    expect(reader.revision).toMatch(/^9\./);
  });

  test('a reader for whom nothing changed is told the newest revision all the same, and at once', async () => {
    const { write, open } = await watching();
    const first = await write('p:shop');
    const last = await write('p:desk');
    const reader = open({ since: token(first), apps: new Set(['shop']) });
    await settled();
    expect(reader.told).toMatchObject([{ scopes: [], reset: false }]);
    expect(reader.revision).toBe(last);
  });

  test('without changes a message comes at least every 2 s', async () => {
    const { open, clock, watch } = await watching();
    const readers = [open(), open({ apps: new Set(['shop']) })];
    await settled();
    for (let s = 0; s < 10; s++) {
      const before = readers.map(({ told }) => told.length);
      await clock.advance(2000);
      expect(readers.every(({ told }, index) => told.length > (before[index] as number))).toBe(true);
    }
    for (const { stream } of readers) stream.end();
    expect(watch.size).toBe(0);
    await clock.advance(2000);
    expect(readers.every(({ over }) => over)).toBe(true);
  });

  test('while the log cannot be read no message says what is newest, and the streams end with UNAVAILABLE', async () => {
    const { open, clock, source, watch } = await watching();
    const reader = open();
    await clock.advance(3000);
    source.failing = unavailable('away');
    await clock.advance(1500);
    const { length } = reader.told;
    await clock.advance(8000);
    expect(reader.told).toHaveLength(length);
    expect(reader.over).toBe(false);
    await clock.advance(3000);
    expect(reader.error).toMatchObject({ code: 'UNAVAILABLE' });
    const late = open();
    await settled();
    expect(late.error).toMatchObject({ code: 'UNAVAILABLE' });
    expect(watch.size).toBe(0);
  });

  test('a reader that does not read is ended, keeps nothing, and others are told meanwhile', async () => {
    const { open, write, clock, watch } = await watching();
    const slow = watch.open({ apps: null, since: null });
    const good = open();
    await slow.next();
    for (let n = 0; n < 20; n++) {
      await write('p:shop');
      await clock.advance(200);
    }
    expect(slow.isOver).toBe(false);
    await clock.advance(2000);
    expect(slow.isOver).toBe(true);
    await expect(slow.next()).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    expect((await slow.next()).done).toBe(true);
    expect(good.scopes).toHaveLength(20);
    expect(watch.size).toBe(1);
  });

  test('a reader that reads late is told everything that it missed', async () => {
    const { write, clock, watch } = await watching();
    const stream = watch.open({ apps: null, since: null });
    await stream.next();
    await write('p:shop');
    await write('p:desk');
    const next = stream.next();
    await clock.advance(10);
    expect((await next).value).toMatchObject({ scopes: ['p:shop', 'p:desk'], end: { number: 2 } });
  });

  test('a stream ends when its key is no longer accepted', async () => {
    let admitted = true;
    const { open, clock } = await watching();
    const reader = open({ admitted: () => admitted });
    await clock.advance(1000);
    expect(reader.over).toBe(false);
    admitted = false;
    await clock.advance(300);
    expect(reader.error).toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  test('many streams are told of many changes in fewer messages, and of every change', async () => {
    const { open, source, clock } = await watching();
    const readers = Array.from({ length: 500 }, () => open());
    await settled();
    const sent: string[] = [];
    for (let n = 0; n < 100; n++) {
      const scope = `m:shop:u${n}@example.com`;
      sent.push(scope);
      source.database.write([], [scope]);
      source.wake();
      await settled();
      await clock.advance(6);
    }
    // Streams are told in pieces of a millisecond of real time.
    for (let left = 4; left > 0; left--) {
      await clock.advance(100);
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
    for (const reader of readers) expect(reader.scopes).toEqual(sent);
    expect(readers[0]?.told.length).toBeLessThan(30);
  });

  test('a message made for another stream does not hide what changed meanwhile', async () => {
    // More streams than are told in one turn: changes arrive between those that share a message.
    const { open, source, engine, clock } = await watching();
    const readers = Array.from({ length: 200 }, () => open());
    await settled();
    for (let n = 0; n < 40; n++) {
      source.database.write([REVOKE], [`p:a${n}`]);
      source.wake();
      if (n % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
      if (n % 7 === 0) await clock.advance(30);
    }
    await engine.reach({ number: 40, nonce: null });
    for (let n = 0; n < 20; n++) {
      await clock.advance(50);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const all = Array.from({ length: 40 }, (_, n) => `p:a${n}`);
    for (const reader of readers) expect(reader.scopes).toEqual(all);
  });

  test('thousands of missed changes come in messages of a bounded size', async () => {
    const { source, engine, open, clock } = await watching();
    for (let n = 0; n < 3000; n++) {
      source.database.write(
        [],
        Array.from({ length: n % 5 }, (_, m) => `m:shop:u${n}-${m}@example.com`),
      );
    }
    await engine.reach({ number: 3000, nonce: null });
    const reader = open({ since: { number: 0, nonce: null } });
    for (let n = 0; n < 40; n++) await clock.advance(20);
    expect(new Set(reader.scopes).size).toBe(6000);
    expect(reader.scopes).toHaveLength(6000);
    expect(Math.max(...reader.told.map(({ scopes }) => scopes.length))).toBeLessThan(1001);
    expect(reader.told.every(({ reset }) => !reset)).toBe(true);
    expect(reader.revision).toMatch(/^3000\./);
  });

  test('after the end of the service streams end with UNAVAILABLE, also new ones', async () => {
    const { open, watch } = await watching();
    const reader = open();
    await settled();
    await watch.close();
    const late = open();
    await settled();
    for (const { error } of [reader, late]) expect(error).toMatchObject({ code: 'UNAVAILABLE' });
  });
});
