import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer as createTcpServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type RunningService, startService, usher } from './harness.ts';

/** What the command line says of the service that runs, and of a port that is another (docs/reference/command-line.md). */
let service: RunningService;
const closing: { close(): unknown }[] = [];

beforeAll(async () => {
  service = await startService({ SUPERADMINS: 'admin@example.com' });
}, 120_000);
afterAll(async () => {
  for (const one of closing) one.close();
  await service.remove();
}, 30_000);

async function listen(server: Server | ReturnType<typeof createTcpServer>): Promise<string> {
  closing.push(server);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('the service that runs', () => {
  const portOf = () => new URL(service.url).port;

  test('config --url shows what it was started with, not what this shell has', async () => {
    const env = { ...service.env, PUBLIC_URL: 'https://elsewhere.example.com' };
    const { code, stdout } = await usher(['config', '--url', service.url, '--json'], { env });
    expect(code).toBe(0);
    const values = JSON.parse(stdout) as { key: string; value: unknown }[];
    expect(values.find(({ key }) => key === 'publicUrl')?.value).not.toBe('https://elsewhere.example.com');
    expect(values.find(({ key }) => key === 'superadmins')?.value).toEqual(['admin@example.com']);
  });

  test('config and doctor say where it was started with other values', async () => {
    const { USHER_URL: _, ...own } = service.env;
    const env = { ...own, HTTP_PORT: portOf(), SUPERADMINS: 'admin@example.com,ben@example.com' };
    const { code, stderr } = await usher(['config'], { env });
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^The service that runs at http:\/\/127\.0\.0\.1:\d+ was started with other values of .*superadmins.*config --url/,
    );
    const doctor = await usher(['doctor', '--json'], { env });
    const { findings } = JSON.parse(doctor.stdout) as { findings: { check: string; result: string; found: string }[] };
    expect(findings[0]).toMatchObject({ check: 'configuration', result: 'warning' });
    expect(findings[0]?.found).toContain('superadmins');
  }, 60_000);
});

describe('a port that is another', () => {
  const ask = async (url: string) => (await usher(['users', '--url', url], { env: service.env })).stderr;

  test('the gRPC port is recognised', async () => {
    expect(await ask(`http://${service.grpc}`)).toMatch(/: is it the gRPC port/);
  });

  test('so is one that closes the connection, and one without TLS', async () => {
    const closes = await listen(createTcpServer((socket) => socket.destroy()));
    expect(await ask(`http://${closes}`)).toMatch(/closed the connection without an answer: is it the gRPC port/);
    const plain = await listen(createServer((_, res) => res.end('{}')));
    expect(await ask(`https://${plain}`)).toMatch(/does not speak TLS: give its address with http:\/\/ instead\.\n$/);
  });
});
