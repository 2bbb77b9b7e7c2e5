import { isDeepStrictEqual } from 'node:util';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { UsherError } from '../../src/base/errors.ts';
import { keepQuestion } from '../../src/engine/grounds.ts';
import { Level } from '../../src/engine/types.ts';
import {
  AccessLevel,
  BatchCheckRequestSchema,
  BatchCheckResponseSchema,
  CheckRequestSchema,
  CheckResponseSchema,
} from '../../src/gen/usher/permission/v1/permission_pb.ts';
import { createHandles } from '../../src/grpc/answering.ts';
import type { Handle } from '../../src/grpc/bridge.ts';
import { CheckCache, type ParsedCheck, requestText } from '../../src/grpc/request-cache.ts';
import type { PermissionEngine } from '../../src/rpc/call.ts';
import { answersOf } from '../../src/rpc/methods.ts';
import { PROTO } from '../../src/rpc/naming.ts';
import { decodeStrictly } from '../../src/rpc/strict.ts';
import { at, fixture } from '../engine/fakes.ts';
import { answerOf, isAllowedByOracle, refusalOf } from '../oracle/oracle.ts';
import type { Rows } from '../oracle/rows.ts';
import { NAMES, pick, type Random, randomOperation, seeded } from '../oracle/world.ts';
import { messages } from './messages.ts';

/**
 * The door with its memo answers what it answers without: the same bytes, or the same refusal, for requests that were asked
 * before, for such as differ from them in a byte, and for any others, while the data change.
 */
const STEPS = process.env.USHER_LONG ? 2_000_000 : 20_000;
const FORGETFUL = { get: () => undefined, put: () => undefined };
type Store = { get: (text: string) => ParsedCheck | undefined; put: (text: string, check: ParsedCheck) => void };
type Outcome = { answer: Buffer } | { refused: unknown };

async function outcome(check: Handle, request: Buffer): Promise<Outcome> {
  try {
    return { answer: await check(request) };
  } catch (error) {
    if (!(error instanceof UsherError)) throw error;
    return { refused: [error.code, error.reason, error.message, error.details] };
  }
}

/** Beside those of the world some that differ from them by case, or by the order of their letters. */
const PERMISSIONS = [...NAMES.permissions, 'tostring', 'Constructor', 'invoices/dare'];

/** Few enough that most are asked again and again. */
function question(random: Random) {
  const resource = random(2) === 0 ? { resourceType: '', resourceId: '' } : pick(random, NAMES.resources);
  const resourceId = resource.resourceId !== '' && random(4) === 0 ? 'žluťoučký' : resource.resourceId;
  return {
    email: pick(random, NAMES.emails),
    app: pick(random, NAMES.apps),
    permission: pick(random, PERMISSIONS),
    ...resource,
    resourceId,
    accessLevel: pick(random, [AccessLevel.UNSPECIFIED, AccessLevel.VIEW, AccessLevel.EDIT]),
  };
}

/** A byte put in, taken out or changed; a field that is not known, one doubled, or a revision asked for beside. */
function changed(random: Random, bytes: Uint8Array, revision: number): Uint8Array {
  const all = [...bytes];
  const at = random(all.length);
  switch (random(8)) {
    case 0:
      all[at] = (all[at] as number) ^ (1 << random(8));
      break;
    case 1:
      all[at] = random(256);
      break;
    case 2:
      all.splice(at, 0, random(256));
      break;
    case 3:
      all.splice(at, 1);
      break;
    case 4:
      all.length = at;
      break;
    case 5:
      all.push(0x42, 1, 0x61);
      break;
    case 6:
      all.push(...bytes);
      break;
    default: {
      const token = Buffer.from(pick(random, [`${revision}`, `${revision + 1000}`, '', 'x']));
      all.push(0x3a, token.length, ...token);
    }
  }
  return Uint8Array.from(all);
}

/** A batch of checks as above, whose bytes are those of single requests; sometimes with a revision. */
function batchOf(checks: readonly Uint8Array[], random: Random, revision: number): Buffer {
  const parts = checks.map((check) => Buffer.concat([head(0x0a, check.length), check]));
  const token = Buffer.from(pick(random, ['', '', '', `${revision}`, `${revision + 1000}`, '0', 'x']));
  return Buffer.concat(token.length === 0 ? parts : [...parts, head(0x3a, token.length), token]);
}

const head = (tag: number, length: number): Buffer =>
  Buffer.from(length < 0x80 ? [tag, length] : [tag, (length & 0x7f) | 0x80, length >> 7]);

/** BatchCheck by generated code alone, as Connect answers it. */
function generatedBatch(engine: PermissionEngine): Handle {
  const { batchCheck } = answersOf(engine);
  return async (request) => {
    const message = await batchCheck(decodeStrictly(BatchCheckRequestSchema, request) as never, { naming: PROTO });
    return Buffer.from(toBinary(BatchCheckResponseSchema, create(BatchCheckResponseSchema, message)));
  };
}

/** Counts what is found. */
function counting(store: Store, found: () => void): Store {
  return {
    get(text) {
      const value = store.get(text);
      if (value !== undefined) found();
      return value;
    },
    put: (text, check) => store.put(text, check),
  };
}

/** Asks both doors of one engine; throws at the first difference. */
async function compare(
  memo: Store,
  steps: number,
  random: Random,
): Promise<{ repeated: number; inBatches: number; allowed: number }> {
  const { engine, source } = await fixture({
    cache: { megabytes: 64, ttlMs: 30_000, maxEntries: 150, policies: 9, persons: 9, members: 9 },
  });
  const others = fc.sample(messages, { numRuns: Math.min(2000, steps), seed: 7 });
  let repeated = 0;
  let inBatches = 0;
  let allowed = 0;
  const found = { Check: () => repeated++, BatchCheck: () => inBatches++ };
  let asking: keyof typeof found = 'Check';
  const handles = createHandles(
    engine,
    counting(memo, () => found[asking]()),
  );
  const without = {
    Check: createHandles(engine, FORGETFUL).get('Check') as Handle,
    BatchCheck: generatedBatch(engine),
  };
  const same = async (method: 'Check' | 'BatchCheck', request: Buffer): Promise<Outcome> => {
    asking = method;
    const remembering = await outcome(handles.get(method) as Handle, request);
    const other = await outcome(without[method], request);
    if (!isDeepStrictEqual(remembering, other)) expect({ request, ...remembering }).toEqual({ request, ...other });
    return remembering;
  };
  let asked: Uint8Array[] = [];
  const write = () => {
    const operation = randomOperation(random, source.database.newest.rows, { ...NAMES, strict: true });
    return engine.reach(at(source.database.write([operation])));
  };
  for (let i = 0; i < 120; i++) await write();
  for (let step = 0; step < steps; step++) {
    if (random(100) === 0) await write();
    if (random(400) === 0) engine.dropAll();
    const usual = toBinary(CheckRequestSchema, create(CheckRequestSchema, question(random)));
    const kind = random(4);
    const bytes = kind < 2 ? usual : kind === 2 ? changed(random, usual, engine.cursor) : others[step % others.length];
    const request = Buffer.from(bytes as Uint8Array);
    const remembering = await same('Check', request);
    if (kind < 2 && judge(request, remembering, source.database.newest.rows)) allowed++;
    // One in four is no plain question; a batch of three is then plain often enough.
    asked.push(kind === 3 || (kind === 2 && random(4) > 0) ? usual : request);
    if (asked.length < 3) continue;
    await same('BatchCheck', batchOf(asked, random, engine.cursor));
    asked = [];
  }
  await engine.close();
  return { repeated, inBatches, allowed };
}

/** The two doors share an engine, so what it says of a plain question is looked at, too. */
function judge(request: Buffer, got: Outcome, rows: Rows): boolean {
  const { accessLevel, $typeName: _, minRevision: __, ...asked } = fromBinary(CheckRequestSchema, request);
  const level = accessLevel === AccessLevel.VIEW ? 'view' : accessLevel === AccessLevel.EDIT ? 'edit' : null;
  const refusal = refusalOf(rows, asked, [asked.permission]);
  if (refusal !== null) {
    const path = refusal.permission === null ? 'resource_type' : 'permission';
    expect(got).toMatchObject({ refused: ['BAD_REQUEST', 'UNKNOWN_CODE', expect.anything(), { path }] });
    return false;
  }
  if (!('answer' in got)) throw new Error(`a plain question was refused: ${JSON.stringify(got)}`);
  const { allowed } = fromBinary(CheckResponseSchema, got.answer);
  if (allowed !== isAllowedByOracle(rows, asked, level))
    expect({ asked, level, allowed }).toEqual(answerOf(rows, asked));
  return allowed;
}

describe('a listener with a request cache', () => {
  test(
    'a request cache never changes an answer',
    async () => {
      const memo = new CheckCache(160_000);
      const { repeated, inBatches, allowed } = await compare(memo, STEPS, seeded(20_261_121));
      // Neither denials alone nor new requests alone prove anything.
      expect(repeated).toBeGreaterThan(STEPS / 10);
      expect(inBatches).toBeGreaterThan(STEPS / 10);
      expect(allowed).toBeGreaterThan(STEPS / 20);
      expect(memo.size.entries).toBeGreaterThan(100);
    },
    STEPS > 100_000 ? 3_600_000 : 120_000,
  );

  /** Memos that mistake requests for each other, or keep what they must not: the comparison above has to notice each. */
  const wrong: Record<string, (text: string) => string> = {
    'by length': (text) => `${text.length}`,
    'by all but the last byte': (text) => text.slice(0, -1),
    'by its beginning': (text) => text.slice(0, 40),
    'regardless of case': (text) => text.toLowerCase(),
    'regardless of the order of its bytes': (text) => Buffer.from(text, 'latin1').sort().toString('latin1'),
  };
  test.each(Object.entries(wrong))(
    'a request cache that finds requests %s is detected',
    async (_name, mistake) => {
      const store = new CheckCache(1_000_000);
      const memo: Store = {
        get: (text) => store.get(mistake(text)),
        put: (text, check) => store.put(mistake(text), check),
      };
      await expect(compare(memo, 20_000, seeded(5))).rejects.toThrow();
    },
    120_000,
  );
});

describe('the key of the request cache', () => {
  test('two requests have the same key only when they have the same bytes', () => {
    const bytes = fc.oneof(fc.uint8Array({ maxLength: 6 }), fc.uint8Array({ minLength: 1, maxLength: 1024 }));
    fc.assert(
      fc.property(bytes, bytes, (one, other) => {
        const [a, b] = [Buffer.from(one), Buffer.from(other)];
        expect(requestText(a) === requestText(b)).toBe(a.equals(b));
        expect(Buffer.from(requestText(a), 'latin1').equals(a)).toBe(true);
      }),
      { numRuns: 3000 },
    );
    const singles = Array.from({ length: 256 }, (_, byte) => requestText(Buffer.from([byte])));
    expect(new Set(singles).size).toBe(256);
    // Two spellings in Unicode of one letter, and bytes that UTF-8 would read as one replacement character.
    for (const [one, other] of [
      [Buffer.from('é'.normalize('NFC')), Buffer.from('é'.normalize('NFD'))],
      [Buffer.from([0xff]), Buffer.from([0xfe])],
    ]) {
      expect(requestText(one as Buffer)).not.toBe(requestText(other as Buffer));
    }
  });

  test('a request over 1,024 bytes has no key and is never kept', () => {
    const memo = new CheckCache(1_000_000);
    expect(requestText(Buffer.alloc(1024, 1))).toHaveLength(1024);
    expect(requestText(Buffer.alloc(1025, 1))).toBe('');
    memo.put('', parsed('k'));
    expect(memo.get('')).toBeUndefined();
  });
});

const parsed = (email: string): ParsedCheck => ({
  kept: keepQuestion({ email, app: 'shop', permission: 'read', resourceType: '', resourceId: '' }),
  level: Level.NONE,
  used: false,
});

describe('the size of the request cache', () => {
  test('the request cache keeps to its memory, and used entries stay', () => {
    const memo = new CheckCache(1_000_000);
    memo.put('hot', parsed('hot'));
    for (let i = 0; i < 20_000; i++) {
      memo.put(`request ${i}`, parsed(`${i}`));
      if (memo.get('hot')?.kept.question.email !== 'hot') throw new Error('a request in constant use was forgotten');
      if (memo.size.bytes > 1_000_000) throw new Error('more is kept than may be');
    }
    expect(memo.get('request 19999')?.kept.question.email).toBe('19999');
    expect(memo.get('request 0')).toBeUndefined();
    expect(memo.size.entries).toBeGreaterThan(1700);
  });

  test('long requests count by their length', () => {
    const memo = new CheckCache(1_000_000);
    for (let i = 0; i < 6000; i++) memo.put(`${i}`.padEnd(1024), parsed(`${i}`));
    const { entries, bytes } = memo.size;
    expect(bytes).toBeLessThan(1_000_001);
    expect(bytes).toBe(entries * (540 + 1024));
  });

  test('a repeated request counts once', () => {
    const memo = new CheckCache(1_000_000);
    for (let i = 0; i < 3; i++) memo.put('a', parsed('a'));
    expect(memo.size).toEqual({ entries: 1, bytes: 541 });
  });
});
