import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, expect } from '@jest/globals';
import { Readiness } from '../../src/app/readiness.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { UsherError } from '../../src/base/errors.ts';
import { createLogger, createRegistry } from '../../src/base/telemetry.ts';
import type { Config } from '../../src/config/config.ts';
import { Engine } from '../../src/engine/engine.ts';
import { createGateway, type Gateway, type GatewayOptions } from '../../src/gateway/app.ts';
import type { Refusal, Services } from '../../src/gateway/services.ts';
import { createApiKeys } from '../../src/identity/api-keys.ts';
import { type LocalIssuer, openLocalIssuer } from '../../src/identity/local-issuer.ts';
import { createTokens } from '../../src/identity/tokens.ts';
import { createOutbound } from '../../src/outbound/outbound.ts';
import { AUTH } from '../support/auth.ts';
import { MemoryFacts } from './memory-facts.ts';

/** A gateway over the real engine, tokens and keys; only the storage is of maps. */
export interface World {
  readonly url: string;
  readonly port: number;
  readonly opsUrl: string;
  /** The URLs of further listeners, or `unix:/path`. */
  readonly further: readonly string[];
  readonly facts: MemoryFacts;
  readonly engine: Engine;
  readonly gateway: Gateway;
  readonly refusals: Refusal[];
  /** The lines logged so far. */
  readonly lines: Record<string, unknown>[];
  readonly services: Services;
  /** Resolves to `Bearer <token>`. */
  bearer(email: string, claims?: Record<string, unknown>): Promise<string>;
  /** What a question to the database rejects with. */
  pingFault: Error | null;
  close(): Promise<void>;
}

export const CHECK_KEY = 'a-key-of-the-shop-backend-1';
export const NOTIFY_KEY = 'a-key-of-the-mailer-backend';
export const METRICS_KEY = 'a-key-of-the-prometheus-one';
export const KEYS = [`shop:check:${CHECK_KEY}`, `mailer:notify:${NOTIFY_KEY}`, `prometheus:metrics:${METRICS_KEY}`];

export interface WorldOptions {
  keys?: readonly string[];
  config?: Partial<GatewayOptions['config']> & Partial<Pick<Config, 'gateway'>>;
  routes?: GatewayOptions['routes'];
  logLevel?: string;
  limits?: GatewayOptions['limits'];
  unproven?: GatewayOptions['unproven'];
  further?: GatewayOptions['further'];
  /** For parts outside the fixture's world: as much as a test needs. */
  services?: Record<string, unknown>;
  fill?(facts: MemoryFacts): void;
}

export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const facts = new MemoryFacts();
  options.fill?.(facts);
  const dataDir = mkdtempSync(join(tmpdir(), 'usher-gateway-'));
  const lines: Record<string, unknown>[] = [];
  const log = createLogger(options.logLevel ?? 'debug', into(lines));
  const registry = createRegistry();
  const engine = new Engine({
    source: facts,
    clock: systemClock,
    cache: { megabytes: 64, ttlMs: 30_000, maxEntries: 5000, policies: 100, persons: 1000, members: 1000 },
    log,
  });
  await engine.start();
  const issuer: LocalIssuer = await openLocalIssuer({ dataDir, clock: systemClock });
  const auth = { ...AUTH, algorithms: ['EdDSA'], requireVerifiedEmail: false };
  const tokens = createTokens({
    auth,
    local: issuer,
    outbound: createOutbound({ clock: systemClock, proxy: { proxy: null, noProxy: [] } }),
    clock: systemClock,
    log,
  });
  const refusals: Refusal[] = [];
  const world = { pingFault: null as Error | null };
  // What reads and writes the database has tests of its own, on databases; nothing of it is in this world.
  const services = {
    engine,
    tokens,
    keys: createApiKeys({ production: false, internal: { apiKeys: options.keys ?? KEYS } }),
    administrators: { isAppAdmin: async (email: string) => facts.isAppAdmin(email) },
    subjects: {
      admit: () => undefined,
      noteOwner: () => undefined,
      binding: false,
      isSettled: () => true,
      noteSettled: () => undefined,
      refuseOther: () => undefined,
    },
    clearEverywhere: async () => {
      await engine.reach({ number: facts.announce('*'), nonce: null });
      return engine.revision;
    },
    readiness: new Readiness({
      engine,
      database: async () => {
        if (world.pingFault) throw world.pingFault;
      },
    }),
    suggestions: { forApplication: async (error: UsherError) => error },
    recordRefusal: async (refusal: Refusal) => {
      refusals.push(refusal);
    },
    registry,
    metrics: () => registry.metrics(),
    mailbox: null,
    developmentSignIn: null,
    panelFiles: async () => null,
    ...options.services,
  } as object as Services;
  const gateway = createGateway({
    config: {
      production: false,
      http: { host: '127.0.0.1', port: 0, trustProxy: false, rateLimit: null },
      ops: { host: '127.0.0.1', port: 0 },
      cors: { origins: ['https://app.example.com'] },
      publicUrl: null,
      auth: { issuer: null },
      panel: { enabled: true, clientId: null, scope: 'openid', authorizeParams: {} },
      ...options.config,
    },
    services,
    clock: systemClock,
    log,
    version: '1.2.3',
    checkAnswers: true,
    ...(options.routes === undefined ? {} : { routes: options.routes }),
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    ...(options.unproven === undefined ? {} : { unproven: options.unproven }),
    ...(options.further === undefined ? {} : { further: options.further }),
  });
  const { port, opsPort, further } = await gateway.start();
  if (port === null) throw new Error('this gateway has no listener');
  return Object.assign(world, {
    url: `http://127.0.0.1:${port}`,
    port,
    opsUrl: `http://127.0.0.1:${opsPort}`,
    further,
    facts,
    engine,
    gateway,
    refusals,
    lines,
    services,
    bearer: async (email: string, claims?: Record<string, unknown>) => `Bearer ${await issuer.sign(email, claims)}`,
    close: async () => {
      await gateway.close();
      await engine.close();
      tokens.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  });
}

/** One world for all tests of a describe; valid in tests and hooks. */
export function useWorld(options: WorldOptions = {}): World {
  let world: World | undefined;
  beforeAll(async () => {
    world = await startWorld(options);
  });
  afterAll(async () => {
    await world?.close();
  });
  return new Proxy({} as World, {
    get: (_target, name) => Reflect.get(present(world), name),
    set: (_target, name, value) => Reflect.set(present(world), name, value),
  });
}

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the world exists only in tests and hooks');
  return value;
}

function into(lines: Record<string, unknown>[]): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      for (const line of chunk.toString().split('\n')) if (line !== '') lines.push(JSON.parse(line));
      done();
    },
  });
}

export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: bodies are compared whole with what the contract prints.
  json: any;
}

/** One request by fetch. A body other than a string is sent as JSON. */
export async function ask(
  url: string,
  options: { method?: string; headers?: Record<string, string>; body?: unknown } = {},
): Promise<Reply> {
  const { body } = options;
  const raw = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
  const response = await fetch(url, {
    method: options.method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    },
    redirect: 'manual',
    ...(body === undefined ? {} : { body: raw ? (body as string | Uint8Array<ArrayBuffer>) : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson && text !== '' ? JSON.parse(text) : null,
  };
}

/** What an error answer looks like, whole: the one shape of docs/reference/http.md#error-bodies. */
export function errorShape(status: number, code: string, reason?: string): Record<string, unknown> {
  const details = reason === undefined ? {} : { details: expect.objectContaining({ code: reason }) };
  const json = { success: false, code, message: expect.any(String), requestId: expect.any(String), ...details };
  return { status, json };
}

/** Sends bytes as they are and answers everything that comes back until the other side ends or `until` fits. */
export function rawRequest(port: number, bytes: string | Buffer, until?: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1', () => socket.write(bytes));
    let received = '';
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      received += text;
      if (until?.test(received)) {
        socket.destroy();
        resolve(received);
      }
    });
    socket.on('end', () => resolve(received));
    socket.on('close', () => resolve(received));
    socket.on('error', reject);
  });
}

/** Status line, headers and body of a raw answer. */
export function parseRaw(text: string): { status: number; headers: Record<string, string>; body: string } {
  const [head = '', body = ''] = text.split('\r\n\r\n', 2);
  const [line = '', ...rest] = head.split('\r\n');
  const headers = Object.fromEntries(
    rest.map((header) => [
      header.slice(0, header.indexOf(':')).toLowerCase(),
      header.slice(header.indexOf(':') + 1).trim(),
    ]),
  );
  return { status: Number(line.split(' ')[1]), headers, body };
}
