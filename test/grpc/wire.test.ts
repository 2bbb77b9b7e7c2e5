import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, test } from '@jest/globals';
import { call, closeDoors, encodeCheck, framed, openClient, openDoor, openRaw, QUESTION, SERVICE } from './support.ts';

afterEach(closeDoors);

const CHECK = `/${SERVICE}/Check`;
const ROUNDS = process.env.USHER_LONG ? 20_000 : 100;
const MIB = 1024 * 1024;

/** A CheckRequest of exactly this size: a resource id repeated, of which the last counts. */
function questionOf(size: number): Buffer {
  const question = Buffer.from(encodeCheck({ ...QUESTION, resourceType: 'invoice', resourceId: '1' }));
  const filler = Buffer.concat([Buffer.from([0x2a, 0x7e]), Buffer.alloc(126, 'x')]);
  const parts: Buffer[] = [];
  let left = size - question.length;
  for (; left >= 128 + 2; left -= 128) parts.push(filler);
  const rest = left - 2;
  parts.push(
    Buffer.concat([Buffer.from([0x2a, rest & 0x7f, ...(rest > 127 ? [rest >> 7] : [])]), Buffer.alloc(rest, 'x')]),
  );
  const all = Buffer.concat([...parts, question]);
  return all;
}

describe('unusual bytes on the wire', () => {
  test.each<[string, Buffer | null, Record<string, string | undefined>, number]>([
    ['no message', null, {}, status.UNIMPLEMENTED],
    ['two messages', Buffer.concat([framed(encodeCheck()), framed(encodeCheck())]), {}, status.UNIMPLEMENTED],
    ['compression that nobody knows', framed(encodeCheck(), 1), { 'grpc-encoding': 'br' }, status.UNIMPLEMENTED],
    ['invalid gzip', framed(Buffer.from('not gzip'), 1), { 'grpc-encoding': 'gzip' }, status.INTERNAL],
    ['an invalid deadline', framed(encodeCheck()), { 'grpc-timeout': 'soon' }, status.INTERNAL],
    ['a deadline that has passed', framed(encodeCheck()), { 'grpc-timeout': '0n' }, status.DEADLINE_EXCEEDED],
    ['a message longer than it says', Buffer.concat([framed(encodeCheck()), Buffer.from([1, 2])]), {}, 0],
  ])('the server refuses or ignores %s, and stays alive', async (_, body, headers, expected) => {
    const door = await openDoor();
    const raw = openRaw(door.port);
    // Held back, so that a deadline of nothing passes before the answer.
    door.engine.warm = expected !== status.DEADLINE_EXCEEDED;
    if (!door.engine.warm) door.engine.gate = new Promise(() => {});
    const answer = await raw.request(CHECK, body, headers);
    expect(answer.status).toBe(String(expected));
    door.engine.warm = true;
    expect((await raw.check(encodeCheck())).status).toBe('0');
  });

  test('an unknown method or service is UNIMPLEMENTED, whatever its name', async () => {
    const raw = openRaw((await openDoor()).port);
    for (const path of [
      `/${SERVICE}/check`,
      `/${SERVICE}/Check/`,
      '/',
      '/constructor',
      '/__proto__',
      `/${'x'.repeat(4000)}`,
      '/%00%0d%0a',
      '/\u00e9\u00ff',
      '/a b',
    ]) {
      const answer = await raw.request(path, framed(encodeCheck())).catch(() => ({ status: 'refused' }));
      expect([String(status.UNIMPLEMENTED), 'refused', undefined]).toContain(answer.status);
    }
    expect((await raw.check(encodeCheck())).status).toBe('0');
  });

  test('a content type other than gRPC is 415', async () => {
    const raw = openRaw((await openDoor()).port);
    const answer = await raw.request(CHECK, framed(encodeCheck()), { 'content-type': 'application/json' });
    expect(answer.headers[':status']).toBe(415);
  });

  test('a message cut off by the end of the stream is never a question', async () => {
    const door = await openDoor();
    const raw = openRaw(door.port);
    const whole = framed(encodeCheck());
    for (const length of [1, 4, 5, 6, whole.length - 1]) {
      const answer = await raw.request(CHECK, whole.subarray(0, length));
      expect(answer.status).not.toBe('0');
    }
    expect(door.engine.asked).toEqual([]);
  });

  test('gzip is read, and bounded after decompression', async () => {
    const door = await openDoor();
    const raw = openRaw(door.port);
    const gzip = { 'grpc-encoding': 'gzip' };
    expect((await raw.request(CHECK, framed(gzipSync(encodeCheck()), 1), gzip)).status).toBe('0');
    const bomb = framed(gzipSync(Buffer.alloc(8 * MIB)), 1);
    expect((await raw.request(CHECK, bomb, gzip)).status).toBe(String(status.RESOURCE_EXHAUSTED));
    expect((await raw.check(encodeCheck())).status).toBe('0');
  });

  test('metadata with odd characters is dropped without a line on stderr', async () => {
    const door = await openDoor();
    const answer = await openRaw(door.port).check(encodeCheck(), { 'x-request-id': 'caf\u00e9-1234' });
    expect(answer.status).toBe('0');
  });

  test('metadata by which a proxy routes decides nothing', async () => {
    const door = await openDoor();
    const routed = { 'usher-app': 'another', 'usher-affinity': 'kim@example.com' };
    const raw = openRaw(door.port);
    const answers = [await raw.check(encodeCheck()), await raw.check(encodeCheck(), routed)];
    expect(answers.map(({ status: code }) => code)).toEqual(['0', '0']);
    expect(answers[1]?.body).toEqual(answers[0]?.body);
    const asked = door.engine.asked.flatMap(({ what }) => (what === undefined ? [] : [what]));
    expect(asked.length).toBeGreaterThan(0);
    for (const what of asked) expect(what).toMatchObject({ app: 'billing', email: 'kim@example.com' });
  });

  test('random bytes, framed or not, are refused or answered, and leave the server alive', async () => {
    const door = await openDoor();
    const raw = openRaw(door.port);
    for (let round = 0; round < ROUNDS; round++) {
      const bytes = randomBytes(1 + (round % 70));
      const answers = await Promise.all([
        raw.check(bytes),
        raw.request(`/${SERVICE}/BulkCheck`, framed(bytes)),
        raw.request(`/${SERVICE}/Effective`, framed(bytes)),
        raw.request('/grpc.health.v1.Health/Check', framed(bytes)),
        raw.request(CHECK, bytes),
      ]);
      for (const { status: code } of answers.slice(0, 3)) expect(code).toBe(String(status.INVALID_ARGUMENT));
    }
    expect(door.engine.asked).toEqual([]);
    expect((await raw.check(encodeCheck())).status).toBe('0');
  });
});

describe('limits of size', () => {
  test('a request of 1 MiB is read, and one byte more refused', async () => {
    const door = await openDoor();
    const client = openClient(door.port);
    const raw = openRaw(door.port);
    expect(questionOf(MIB)).toHaveLength(MIB);
    expect((await raw.check(questionOf(MIB))).status).toBe('0');
    expect((await raw.check(questionOf(MIB + 1))).status).toBe(String(status.RESOURCE_EXHAUSTED));
    expect(door.engine.asked).toHaveLength(1);
    expect(door.engine.asked[0]?.what).toMatchObject({ resourceId: '1' });
    await call(client, 'Check', QUESTION);
  });

  test('a length of 4 GiB is refused by its five bytes', async () => {
    const door = await openDoor();
    const answer = await openRaw(door.port).request(CHECK, Buffer.from([0, 0xff, 0xff, 0xff, 0xff]));
    expect(answer.status).toBe(String(status.RESOURCE_EXHAUSTED));
  });

  test('a connection has at most 256 concurrent calls', async () => {
    const door = await openDoor();
    const raw = openRaw(door.port);
    await raw.check(encodeCheck());
    expect(raw.session.remoteSettings.maxConcurrentStreams).toBe(256);
  });

  test('half a million unknown fields in a message cost little', async () => {
    const door = await openDoor();
    const raw = openRaw(door.port);
    const many = Buffer.concat([encodeCheck(), Buffer.alloc(MIB - 100, Buffer.from([0x42, 0x00]))]);
    const before = performance.now();
    expect((await raw.check(many)).status).toBe(String(status.INVALID_ARGUMENT));
    expect(
      (await raw.request(`/${SERVICE}/BulkCheck`, framed(Buffer.alloc(MIB, Buffer.from([0x1a, 0x00]))))).status,
    ).toBe(String(status.INVALID_ARGUMENT));
    expect(performance.now() - before).toBeLessThan(2000);
  });
});
