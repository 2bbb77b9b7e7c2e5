import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createAuthority } from '../grpc/certificates.ts';
import { Double, refusal } from './double.ts';
import { newFolder, type RunningService, startService, usher } from './harness.ts';

/** `usher health`: the probe of images and units, which have no other client. */

describe('usher health beside a service', () => {
  let service: RunningService;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.remove());

  test.each(['ready', 'checks', 'live'])('says that it is well: %s', async (probe) => {
    const { port } = new URL(service.url);
    expect(await usher(['health', probe], { env: { HTTP_PORT: port } })).toEqual({
      code: 0,
      stdout: `${probe}: yes\n`,
      stderr: '',
    });
  });

  test('says no once the service has ended', async () => {
    const { port } = new URL(service.url);
    await service.stop();
    const { code, stderr } = await usher(['health'], { env: { HTTP_PORT: port } });
    expect({ code, stderr }).toEqual({ code: 1, stderr: `http://127.0.0.1:${port}/readyz cannot be reached.\n` });
  });
});

describe('usher health beside a gateway with TLS', () => {
  const { folder, file } = newFolder();
  const authority = createAuthority('Usher test authority');
  const pair = authority.issue('gateway.example.com');
  const tls = { HTTP_TLS_CERT: file('tls.crt', pair.cert), HTTP_TLS_KEY: file('tls.key', pair.key), DATA_DIR: folder };
  let service: RunningService;
  beforeAll(async () => {
    service = await startService(tls);
  });
  afterAll(() => service.remove());

  test('asks over TLS, and does not judge the certificate', async () => {
    const env = { ...tls, HTTP_PORT: new URL(service.url).port };
    expect(await usher(['health'], { env })).toEqual({ code: 0, stdout: 'ready: yes\n', stderr: '' });
  });

  test('says what is missing where clients need a certificate', async () => {
    const env = { ...tls, HTTP_PORT: '1', HTTP_TLS_CLIENT_CA: file('ca.crt', authority.cert) };
    expect(await usher(['health'], { env })).toEqual({
      code: 1,
      stdout: '',
      stderr: 'The gateway asks clients for certificates: set OPS_PORT.\n',
    });
  });
});

describe('usher health', () => {
  const double = new Double();
  beforeAll(() => double.start());
  afterAll(() => double.stop());
  const port = (): string => new URL(double.url).port;

  test('asks the port of operators where there is one, and repeats what it says', async () => {
    double.answer = () => refusal(503, 'UNAVAILABLE');
    const env = { OPS_PORT: port(), HTTP_PORT: '1', OPS_HOST: '127.0.0.1' };
    const { code, stderr } = await usher(['health', 'live'], { env });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/healthz answers 503: .*UNAVAILABLE/);
    expect(double.received.at(-1)?.url).toBe('/healthz');
  });

  test('asks a wildcard address at loopback', async () => {
    double.answer = () => ({ status: 200, body: { status: 'ready' } });
    const env = {
      NODE_ENV: 'production',
      OPS_PORT: port(),
      DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/nowhere',
      AUTH_ISSUER: 'https://idp.example.com',
      AUTH_AUDIENCE: 'usher',
      PUBLIC_URL: 'https://usher.example.com',
      INTERNAL_API_KEY: 'billing:check:0123456789abcdef01234567',
    };
    expect(await usher(['health'], { env })).toMatchObject({ code: 0, stdout: 'ready: yes\n' });
  });

  test('gives up on a service that says nothing, before the probe of its container does', async () => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const env = { OPS_PORT: String((silent.address() as AddressInfo).port) };
    const { code, stderr } = await usher(['health', 'live'], { env });
    silent.closeAllConnections();
    silent.close();
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/does not answer within 4 s\.\n$/) });
  });

  test.each([
    ['a process without a port of probes', { USHER_ROLES: 'rpc' }, /set OPS_PORT/],
    ['a port that is not known', { HTTP_PORT: '0' }, /set OPS_PORT/],
  ])('names the key that is missing for %s', async (_, env, words) => {
    const { code, stderr } = await usher(['health'], { env });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(words) });
  });
});
