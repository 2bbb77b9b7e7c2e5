import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { credentials, status } from '@grpc/grpc-js';
import { afterEach, describe, expect, test } from '@jest/globals';
import { buildApp } from '../../src/app/app.ts';
import { UsherError } from '../../src/base/errors.ts';
import type { Certificates } from '../../src/base/tls.ts';
import { toConfig } from '../../src/config/config.ts';
import { createAuthority } from './certificates.ts';
import { call, closeDoors, failureOf, openClient, openDoor, QUESTION } from './support.ts';

afterEach(closeDoors);

const ours = createAuthority('Usher test authority');
const theirs = createAuthority('Another authority');
const server = ours.issue('usher');
const client = ours.issue('billing');
const stranger = theirs.issue('billing');

const trusting = (authority: string, own?: { cert: string; key: string }) =>
  credentials.createSsl(Buffer.from(authority), own ? Buffer.from(own.key) : null, own ? Buffer.from(own.cert) : null);

/** A call that gives up soon: a client of grpc-js tries again and again to connect. */
const ask = (port: number, channel: Parameters<typeof openClient>[1]) =>
  call(openClient(port, channel, { 'grpc.ssl_target_name_override': 'localhost' }), 'Check', QUESTION, {
    deadline: Date.now() + 5000,
  });

describe('TLS', () => {
  test('a client that trusts the authority is answered', async () => {
    const door = await openDoor({ tls: server });
    const { message } = await ask(door.port, trusting(ours.cert));
    expect(message.allowed).toBe(true);
  });

  test.each([
    ['in cleartext', credentials.createInsecure()],
    ['that trusts another authority', trusting(theirs.cert)],
  ])('a client %s is refused', async (_, channel) => {
    const door = await openDoor({ tls: server });
    expect((await failureOf(ask(door.port, channel))).code).toBe(status.UNAVAILABLE);
    expect(door.engine.asked).toEqual([]);
  });

  test('TLS clients need keys, too', async () => {
    const door = await openDoor({
      tls: server,
      authorize: (key) => {
        if (key === undefined) throw new UsherError('UNAUTHENTICATED', 'no key');
      },
    });
    expect((await failureOf(ask(door.port, trusting(ours.cert)))).code).toBe(status.UNAUTHENTICATED);
  });

  test('unreadable TLS files are faults of their keys, all at once, before a database is created', async () => {
    const dataDir = join(tmpdir(), `usher-tls-${process.pid}`);
    const env = { GRPC_TLS_CERT: '/nowhere/x.crt', GRPC_TLS_KEY: '/nowhere/x.key', DATA_DIR: dataDir };
    const outcome = buildApp(toConfig({ env }));
    await expect(outcome).rejects.toThrow(/grpc\.tls\.cert \(GRPC_TLS_CERT\): .*\n.*grpc\.tls\.key \(GRPC_TLS_KEY\): /);
    const noPem = { ...env, GRPC_TLS_CERT: 'README.md', GRPC_TLS_KEY: 'README.md' };
    await expect(buildApp(toConfig({ env: noPem }))).rejects.toThrow(/^grpc\.tls\.cert, .* must be PEM/);
    expect(existsSync(dataDir)).toBe(false);
  });

  test('old versions of the protocol are refused', async () => {
    const door = await openDoor({ tls: server });
    const outcome = await new Promise<string>((resolve) => {
      const socket = connect({
        port: door.port,
        host: '127.0.0.1',
        ca: ours.cert,
        maxVersion: 'TLSv1.1',
        minVersion: 'TLSv1',
        ciphers: 'DEFAULT@SECLEVEL=0',
      });
      socket.on('secureConnect', () => resolve('connected'));
      socket.on('error', () => resolve('refused'));
    });
    expect(outcome).toBe('refused');
  });
});

describe('mutual TLS', () => {
  const tls: Certificates = { ...server, clientCa: ours.cert };

  test('a client with a certificate of the authority is answered', async () => {
    const door = await openDoor({ tls });
    expect((await ask(door.port, trusting(ours.cert, client))).message.allowed).toBe(true);
  });

  test.each([
    ['without a certificate', trusting(ours.cert)],
    ['with one of another authority', trusting(ours.cert, stranger)],
  ])('a client %s is refused, by health too', async (_, channel) => {
    const door = await openDoor({ tls });
    expect((await failureOf(ask(door.port, channel))).code).toBe(status.UNAVAILABLE);
    expect(door.engine.asked).toEqual([]);
  });
});

describe('invalid certificates', () => {
  test.each<[string, Certificates]>([
    ['no PEM', { cert: 'certificate', key: server.key }],
    ['the key of another certificate', { cert: server.cert, key: client.key }],
    ['an invalid authority', { ...server, clientCa: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n' }],
  ])('an invalid certificate stops the start with one sentence: %s', async (_, tls) => {
    const error = await failureOf(openDoor({ tls }));
    expect(error).toBeInstanceOf(UsherError);
    expect(error.message).toMatch(/^grpc\.tls\.cert, grpc\.tls\.key and grpc\.tls\.clientCa must be PEM/);
    expect(error.message).not.toContain('AAAA');
  });
});
