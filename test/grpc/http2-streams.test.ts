import { connect, createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { freeClosedStreams, PendingStreams, replaceTables, StreamTable } from '../../src/grpc/http2-streams.ts';

/** The tables stand where node:http2 expects a Map and a Set: whatever is asked of them, they must be these. */
const RUNS = { numRuns: 300 };
const byNumber = (a: number, b: number): number => a - b;
/** Odd numbers, of which several share a slot. */
const ids = fc.integer({ min: 0, max: 1600 }).map((n) => 2 * n + 1);
const calls = fc.array(fc.tuple(fc.constantFrom('set', 'set', 'set', 'delete', 'delete', 'clear'), ids), {
  maxLength: 400,
});

describe('tables of a session', () => {
  test('the stream table behaves like a Map with another order', () => {
    fc.assert(
      fc.property(calls, (all) => {
        const [map, table] = [new Map<number, object>(), new StreamTable<object>()];
        const inOrder = (one: Iterable<[number, object]>) => [...one].sort(([a], [b]) => a - b);
        for (const [call, id] of all) {
          if (call === 'clear') {
            if (id % 97 === 0) for (const one of [map, table]) one.clear();
          } else if (call === 'set') {
            const stream = {};
            for (const one of [map, table]) one.set(id, stream);
          } else expect(table.delete(id)).toBe(map.delete(id));
          expect([table.size, table.has(id), table.get(id)]).toEqual([map.size, map.has(id), map.get(id)]);
        }
        expect(inOrder(table)).toEqual(inOrder(map));
        expect([...table.keys()].sort(byNumber)).toEqual([...map.keys()].sort(byNumber));
        const visited = new Map<number, object>();
        // As a session does that ends: each is taken out while all are visited.
        table.forEach((stream, id) => {
          visited.set(id, stream);
          table.delete(id);
        });
        expect(inOrder(visited)).toEqual(inOrder(map));
        expect([table.size, [...table.values()]]).toEqual([0, []]);
      }),
      RUNS,
    );
  });

  test('the table of streams without a number behaves like a Set', () => {
    const few = fc.array(fc.tuple(fc.constantFrom('add', 'add', 'delete'), fc.integer({ min: 0, max: 4 })));
    fc.assert(
      fc.property(few, (all) => {
        const [set, pending] = [new Set<number>(), new PendingStreams<number>()];
        for (const [call, one] of all) {
          if (call === 'add') for (const each of [set, pending]) each.add(one);
          else expect(pending.delete(one)).toBe(set.delete(one));
          expect([pending.size, pending.has(one), [...pending].sort(byNumber)]).toEqual([
            set.size,
            set.has(one),
            [...set].sort(byNumber),
          ]);
        }
        pending.clear();
        expect([...pending.keys()]).toEqual([]);
      }),
      RUNS,
    );
  });

  // Fails with the version of Node.js or grpc-js that keeps them elsewhere: then the gain is lost, and nothing else.
  test('the tables are found in this Node.js, and sessions with streams and other objects stay unchanged', async () => {
    const server = createServer();
    const found: boolean[] = [];
    server.on('session', (session) => found.push(replaceTables(session)));
    server.on('stream', (stream) => {
      found.push(replaceTables(stream.session as object));
      stream.respond({ ':status': 204 }, { endStream: true });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    for (let n = 0; n < 3; n++) {
      const status = await new Promise((resolve) => {
        client.request().on('response', (headers) => resolve(headers[':status']));
      });
      expect(status).toBe(204);
    }
    expect(found).toEqual([true, false, false, false]);
    expect(replaceTables({})).toBe(false);
    await new Promise<void>((resolve) => client.close(resolve));
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });

  test('the sessions of this grpc-js are found', async () => {
    const server = new Server();
    expect(freeClosedStreams(server)).toBe(false);
    await new Promise<void>((resolve, reject) =>
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error) =>
        error === null ? resolve() : reject(error),
      ),
    );
    expect(freeClosedStreams(server)).toBe(true);
    server.forceShutdown();
  });
});
