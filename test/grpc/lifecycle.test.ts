import { createServer } from 'node:net';
import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, test } from '@jest/globals';
import { UsherError } from '../../src/base/errors.ts';
import { askHealth, watchHealth } from './health-client.ts';
import { call, closeDoors, failureOf, framed, openClient, openDoor, openRaw, QUESTION, SERVICE } from './support.ts';

afterEach(closeDoors);

const never = new Promise<never>(() => {});

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

describe('health', () => {
  test('health needs no key, treats server and service alike, and answers NOT_FOUND for others', async () => {
    const door = await openDoor({
      authorize: () => {
        throw new UsherError('UNAUTHENTICATED', 'no');
      },
    });
    const client = openClient(door.port);
    for (const service of ['', SERVICE]) {
      expect(await askHealth(client, service)).toEqual({ status: 'SERVING' });
    }
    for (const service of ['other', 'constructor', '__proto__', '\u0000', '漢'.repeat(1000)]) {
      const error = await failureOf(askHealth(client, service));
      expect(error.code).toBe(status.NOT_FOUND);
    }
    expect((await askHealth(client, '', 'List')).statuses).toEqual({
      '': { status: 'SERVING' },
      [SERVICE]: { status: 'SERVING' },
    });
  });

  test('health follows setServing', async () => {
    const door = await openDoor();
    const client = openClient(door.port);
    door.server.setServing(false);
    expect(await askHealth(client, SERVICE)).toEqual({ status: 'NOT_SERVING' });
    door.server.setServing(true);
    expect(await askHealth(client, '')).toEqual({ status: 'SERVING' });
  });

  test('a health watch gets each change once', async () => {
    const door = await openDoor();
    const { said, stream } = watchHealth(openClient(door.port), SERVICE);
    await until(() => said.length === 1);
    door.server.setServing(true);
    door.server.setServing(false);
    door.server.setServing(false);
    door.server.setServing(true);
    await until(() => said.length === 3);
    expect(said).toEqual(['SERVING', 'NOT_SERVING', 'SERVING']);
    stream.cancel();
  });

  test('a watch of an unknown service reports that and stays open', async () => {
    const door = await openDoor();
    const { said } = watchHealth(openClient(door.port), 'other');
    await until(() => said.length === 1);
    door.server.setServing(false);
    expect(said).toEqual(['SERVICE_UNKNOWN']);
  });

  test('a service name that no header can carry is harmless', async () => {
    const door = await openDoor();
    const raw = openRaw(door.port);
    // A lone surrogate in UTF-8, which protobufjs lets through.
    const answer = await raw.request('/grpc.health.v1.Health/Check', framed(Buffer.from([0x0a, 3, 0xed, 0xa0, 0x80])));
    expect(answer.status).toBe(String(status.NOT_FOUND));
  });
});

describe('drain', () => {
  test('a drain first changes health, completes calls, refuses new ones, and frees the port', async () => {
    const door = await openDoor();
    const client = openClient(door.port);
    const { said } = watchHealth(client, '');
    await until(() => said.length === 1);
    let open = () => {};
    door.engine.warm = false;
    door.engine.gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const inFlight = call(client, 'Check', QUESTION);
    await until(() => door.engine.waits === 1);

    door.server.announceEnd();
    await until(() => said.includes('NOT_SERVING'));
    // Still answered while load balancers take notice, but no longer to be called healthy.
    door.server.setServing(true);
    expect(await askHealth(openClient(door.port), '')).toEqual({ status: 'NOT_SERVING' });
    const drained = door.server.drain();
    expect(door.server.drain()).toBe(drained);
    await until(() => said.includes('ended'));

    const refused = await failureOf(call(openClient(door.port), 'Check', QUESTION, { deadline: Date.now() + 5000 }));
    expect(refused.code).toBe(status.UNAVAILABLE);
    open();
    expect((await inFlight).message.allowed).toBe(true);
    await drained;
    const probe = createServer();
    await new Promise<void>((resolve, reject) => {
      probe.once('error', reject);
      probe.listen(door.port, '127.0.0.1', resolve);
    });
    await new Promise((resolve) => probe.close(resolve));
  });

  test('a drain is bounded, and calls that do not end are cut', async () => {
    const door = await openDoor({ times: { drainMs: 50 } });
    door.engine.warm = false;
    door.engine.gate = never;
    const inFlight = call(openClient(door.port), 'Check', QUESTION);
    await until(() => door.engine.waits === 1);
    await door.server.drain();
    expect([status.UNAVAILABLE, status.CANCELLED]).toContain((await failureOf(inFlight)).code);
  });

  test('an idle connection does not delay a drain', async () => {
    const door = await openDoor({ times: { drainMs: 60_000 } });
    const raw = openRaw(door.port);
    await raw.request(`/${SERVICE}/Check`, framed(Buffer.from([0xff])));
    watchHealth(openClient(door.port), 'other');
    await door.server.drain();
  });
});

describe('start', () => {
  test('a taken port fails the start with one sentence and the key', async () => {
    const door = await openDoor();
    const error = await failureOf(openDoor({ port: door.port }));
    expect(error).toBeInstanceOf(UsherError);
    expect(error.message).toBe(
      `gRPC: port ${door.port} on 127.0.0.1 is taken by another process; free it or set grpc.port (GRPC_PORT).`,
    );
  });

  test('a host of another machine fails the start', async () => {
    const error = await failureOf(openDoor({ host: '192.0.2.1' }));
    expect(error).toBeInstanceOf(UsherError);
    expect(error.message).toContain('grpc.host (GRPC_HOST)');
  });

  test('the server listens on IPv6', async () => {
    const door = await openDoor({ host: '::1' }).catch((error: Error) => error);
    // Machines without IPv6 say so in our words.
    if (door instanceof Error) expect(door.message).toContain('grpc.host');
    else expect(door.port).toBeGreaterThan(0);
  });

  test('connections end at their age, and clients reconnect without an error', async () => {
    const door = await openDoor({ times: { connectionAgeMs: 50, connectionGraceMs: 1000 } });
    const raw = openRaw(door.port);
    await raw.request(`/${SERVICE}/Check`, framed(Buffer.from([0xff])));
    const client = openClient(door.port);
    while (!raw.session.closed) await call(client, 'Check', QUESTION);
    await call(client, 'Check', QUESTION);
  });
});
