import { X509Certificate } from 'node:crypto';
import { get } from 'node:https';
import { type DetailedPeerCertificate, type TLSSocket, connect as tlsConnect } from 'node:tls';
import { Client, credentials } from '@grpc/grpc-js';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createAuthority } from '../grpc/certificates.ts';
import { FRONT } from '../grpc/support.ts';
import { outcome, useReloading, withKeys } from '../support/reloading.ts';

const STAYS = 'the-key-of-a-backend-that-stays';
const stays = `stays:check+metrics:${STAYS}`;
const [ours, theirs] = [createAuthority('Usher test authority'), createAuthority('Another authority')];
type File = (name: string, text: string) => string;
interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** The gRPC port asks for certificates of `authority`, the gateway for none. */
function configuration(file: File, pair: Pair, authority: string, ...more: string[]) {
  const at = (name: string) => ({ cert: file(`${name}.crt`, pair.cert), key: file(`${name}.key`, pair.key) });
  return {
    ...withKeys(stays, ...more),
    grpc: { front: FRONT, tls: { ...at('grpc'), clientCa: file('clients.crt', authority) } },
    http: { tls: at('http') },
  };
}

const service = useReloading((file) => configuration(file, ours.issue('first'), ours.cert));
const clients: Client[] = [];

afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

function open({ cert, key }: Pair): Client {
  const channel = credentials.createSsl(Buffer.from(ours.cert), Buffer.from(key), Buffer.from(cert));
  const client = new Client(service().grpc, channel, { 'grpc.use_local_subchannel_pool': 1 });
  clients.push(client);
  return client;
}

const hello = (address: string, options: object = {}): Promise<TLSSocket> =>
  new Promise((resolve, reject) => {
    const url = new URL(address.includes('//') ? address : `https://${address}`);
    const socket = tlsConnect({
      host: url.hostname,
      port: Number(url.port),
      servername: 'localhost',
      rejectUnauthorized: false,
      ...options,
    });
    socket.once('secureConnect', () => resolve(socket));
    socket.once('error', reject);
  });
const serial = async (address: string, options: object = {}): Promise<string> => {
  const socket = await hello(address, options);
  const { serialNumber } = socket.getPeerCertificate() as DetailedPeerCertificate;
  socket.destroy();
  return serialNumber;
};

/** GET, with the key, of a listener whose certificate is of the tests' own authority. */
function ask(url: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { 'x-internal-api-key': STAYS };
    get(new URL(path, url), { ca: ours.cert, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.once('end', () => resolve(text));
    }).once('error', reject);
  });
}

test('new connections get new certificates, open ones go on, and an authority that is gone admits nobody', async () => {
  const [second, backend, stranger] = [ours.issue('second'), ours.issue('backend'), theirs.issue('stranger')];
  const { grpc, url, file, reload } = service();
  expect(url).toMatch(/^https:/);
  const h2 = { ALPNProtocols: ['h2'] };
  const client = open(backend);
  expect(await outcome(client, STAYS)).toBe('answered');
  const before = [await serial(grpc, { ...backend, ...h2 }), await serial(url)];
  // A session that the old authority vouches for must not be resumed.
  const old = await hello(grpc, { ...backend, ...h2, maxVersion: 'TLSv1.2' });
  const session = old.getSession();

  // A key that does not belong to the certificate: a rotation that was caught half-way.
  file('grpc.crt', second.cert);
  expect((await reload()).reason).toMatch(/^grpc\.tls.* the key must belong to the certificate/);
  expect(await serial(grpc, { ...backend, ...h2 })).toBe(before[0]);
  configuration(file, second, theirs.cert);
  expect(await reload()).toMatchObject({ changed: [], certificates: ['grpc', 'gateway'], restart: [] });

  expect(await outcome(client, STAYS)).toBe('answered');
  const after = [await serial(grpc, { ...stranger, ...h2 }), await serial(url)];
  expect([after[1] === after[0], before[1] === before[0], after[0] === before[0]]).toEqual([true, true, false]);
  // The old authority's certificates open no new connection, by a session of before either.
  expect(await outcome(open(backend), STAYS)).toBe('UNAVAILABLE');
  for (const options of [{}, { session }]) {
    const late = hello(grpc, { ...backend, ...h2, ...options, maxVersion: 'TLSv1.2' });
    await expect(late).rejects.toThrow(/alert|ECONNRESET|disconnected/);
  }
  old.destroy();
}, 60_000);

test('to ask clients for certificates no more takes a restart, and the metric has the end of the certificate', async () => {
  const { write, file, reload, url } = service();
  const third = ours.issue('third');
  const { grpc, ...rest } = configuration(file, third, ours.cert);
  const { clientCa, ...pair } = grpc.tls;
  write({ ...rest, grpc: { ...grpc, tls: pair } });
  expect(await reload()).toMatchObject({ certificates: ['grpc', 'gateway'], restart: ['grpc.tls.clientCa'] });
  await expect(hello(service().grpc, { ALPNProtocols: ['h2'], maxVersion: 'TLSv1.2' })).rejects.toThrow();
  expect(clientCa).toMatch(/clients\.crt$/);
  const answer = await ask(url, '/metrics');
  const [, ends] = /^usher_tls_certificate_expiry_timestamp_seconds\{listener="gateway"\} (\d+)$/m.exec(answer) ?? [];
  expect(Number(ends) * 1000).toBe(Date.parse(new X509Certificate(third.cert).validTo));
}, 60_000);

describe('under load', () => {
  test('SIGHUP after SIGHUP loses no call, with keys and certificates that change each time', async () => {
    const { grpc, file, write, reload } = service();
    const backend = ours.issue('backend');
    let isOver = false;
    const counts = new Map<string, number>();
    const count = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
    write(configuration(file, ours.issue('round 0'), ours.cert));
    await reload();
    const lasting = Array.from({ length: 4 }, async () => {
      const client = open(backend);
      while (!isOver) count(await outcome(client, STAYS));
    });
    const coming = (async () => {
      while (!isOver) {
        const client = open(backend);
        count(await outcome(client, STAYS));
        count(await outcome(client, STAYS, 'Explain'));
        client.close();
      }
    })();
    for (let round = 1; round <= 40; round++) {
      write(
        configuration(file, ours.issue(`round ${round}`), ours.cert, `turn-${round}:check:a-key-of-round-${round}`),
      );
      const line = await reload();
      expect([line.msg, line.certificates]).toEqual(['configuration reloaded', ['grpc', 'gateway']]);
    }
    isOver = true;
    await Promise.all([...lasting, coming]);
    expect(grpc).not.toBe('');
    expect([...counts.keys()]).toEqual(['answered']);
    expect(counts.get('answered')).toBeGreaterThan(500);
  }, 120_000);
});
