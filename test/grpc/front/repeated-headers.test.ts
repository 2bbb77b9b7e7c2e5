import { once } from 'node:events';
import { createServer, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { encodeHeaders, type HeaderList, HpackDecoder } from '#http2-front/hpack';
import { RepeatedHeaders } from '#http2-front/repeated-headers';
import { Flag, Frame, FrameReader, frame, PREFACE, settings } from '../../wire/frames.ts';

type Fields = readonly (readonly [string, string])[];

const listOf = (fields: Fields, repeated = true): HeaderList => ({
  names: fields.map(([name]) => name),
  values: fields.map(([, value]) => value),
  tooLong: false,
  repeated,
});

const server = createServer();
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  server.close();
});

/** What a request must begin with; nghttp2 reads no other. */
const PSEUDO: Fields = [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/'],
  [':authority', 'localhost'],
];

/** Decodes each block as it comes, by the front's decoder; `confirm` asks nghttp2, which reads them behind the front. */
class Reader {
  readonly #ours = new HpackDecoder();
  readonly #blocks: Buffer[] = [];
  readonly #expected: Fields[] = [];

  read(block: Buffer): Fields {
    const { names, values } = this.#ours.decode(block, 0, block.length);
    const fields = names.map((name, index) => [name, values[index] as string] as const);
    // In front of it, as literals that no table remembers.
    const missing = PSEUDO.filter(([name]) => !names.includes(name));
    const added = encodeHeaders(
      missing.map(([name]) => name),
      missing.map(([, value]) => value),
    );
    this.#blocks.push(Buffer.concat([added, block]));
    this.#expected.push([...missing, ...fields]);
    return fields;
  }

  async confirm(): Promise<void> {
    const again: Fields[] = [];
    const all = Promise.withResolvers<void>();
    const onStream = (stream: ServerHttp2Stream, _headers: unknown, _flags: number, raw: string[]): void => {
      const names = raw.filter((_, at) => at % 2 === 0);
      again.push(names.map((name, at) => [name, raw[2 * at + 1] as string]));
      stream.respond({ ':status': 204 }, { endStream: true });
      if (again.length === this.#blocks.length) all.resolve();
    };
    server.on('stream', onStream);
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', all.reject);
    const frames = new FrameReader();
    client.on('data', (chunk: Buffer) =>
      frames.read(chunk, ({ type, stream, payload }) => {
        if (type === Frame.RST_STREAM) all.reject(new Error(`stream ${stream} refused: ${payload.toString('hex')}`));
      }),
    );
    client.write(Buffer.concat([PREFACE, settings()]));
    const flags = Flag.END_HEADERS | Flag.END_STREAM;
    for (const [at, block] of this.#blocks.entries()) client.write(frame(Frame.HEADERS, flags, 2 * at + 1, block));
    if (this.#blocks.length > 0) await all.promise;
    client.destroy();
    server.off('stream', onStream);
    expect(again).toEqual(this.#expected);
  }
}

const USUAL: Fields = [
  [':method', 'POST'],
  [':path', '/grpc.health.v1.Health/Check'],
  ['x-internal-api-key', 'one'],
];

describe('headers for grpc-js', () => {
  test('repeated ones take a byte each, whatever was added since', async () => {
    const [headers, reader] = [new RepeatedHeaders(), new Reader()];
    const one = listOf(USUAL);
    const two = listOf([...USUAL.slice(0, 2), ['x-internal-api-key', 'two']]);
    expect(reader.read(headers.encode(one))).toEqual(USUAL);
    const first = headers.encode(one);
    expect(first).toHaveLength(3);
    expect(reader.read(first)).toEqual(USUAL);
    expect(headers.encode(one)).toBe(first);
    reader.read(headers.encode(two));
    expect(reader.read(headers.encode(one))).toEqual(USUAL);
    expect(reader.read(headers.encode(two))[2]).toEqual(['x-internal-api-key', 'two']);
    expect(headers.encode(one)).toHaveLength(3);
    await reader.confirm();
  });

  test('what is not repeated, or has no room, is written out and remembered by nobody', async () => {
    const [headers, reader] = [new RepeatedHeaders(), new Reader()];
    const once = listOf(USUAL, false);
    for (let i = 0; i < 3; i++) expect(headers.encode(once).length).toBeGreaterThan(30);
    const large = listOf([['x-large', 'l'.repeat(4096)]]);
    for (let i = 0; i < 3; i++) expect(headers.encode(large).length).toBeGreaterThan(4096);
    // Within the size of a table, but of more fields than have a short place.
    const many = listOf(Array.from({ length: 61 }, (_, i) => [`x-${i}`, ''] as const));
    for (let i = 0; i < 3; i++) expect(reader.read(headers.encode(many))).toHaveLength(61);
    await reader.confirm();
  });

  test('any lists in any order are read as what they are', async () => {
    const text = fc.string({ unit: fc.constantFrom(...'abc-0'.split('')), maxLength: 12 });
    const value = fc.oneof({ weight: 6, arbitrary: text }, { weight: 1, arbitrary: fc.constant('v'.repeat(900)) });
    const fields = fc.array(
      fc.tuple(
        text.map((name) => `x${name}`),
        value,
      ),
      { minLength: 1, maxLength: 14 },
    );
    const lists = fc.array(fc.tuple(fields, fc.boolean()), { minLength: 1, maxLength: 8 });
    let short = 0;
    await fc.assert(
      fc.asyncProperty(lists, fc.array(fc.nat(7), { maxLength: 30 }), async (some, order) => {
        const [headers, reader] = [new RepeatedHeaders(), new Reader()];
        const all = some.map(([of, repeated]) => listOf(of, repeated));
        for (const at of order) {
          const list = all[at % all.length] as HeaderList;
          const block = headers.encode(list);
          if (block.length === list.names.length) short++;
          expect(reader.read(block)).toEqual(some[at % all.length]?.[0]);
        }
        await reader.confirm();
      }),
      { numRuns: 1000 },
    );
    expect(short).toBeGreaterThan(1000);
  });
});
