import { createECDH, type ECDH, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { importJWK, type JWTPayload, jwtVerify } from 'jose';

/** The one function that is used; the package has no types. */
const { decrypt } = createRequire(import.meta.url)('http_ece') as {
  decrypt: (body: Buffer, params: { version: 'aes128gcm'; privateKey: ECDH; authSecret: string }) => Buffer;
};

/** A push as the browser behind it would see it, with what the service saw. */
export interface ReceivedPush {
  /** The subscription's path. */
  path: string;
  at: number;
  ttl: string;
  urgency: string;
  encoding: string;
  /** Bytes of the plaintext. */
  size: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it.
  payload: any;
  /** Claims of the VAPID token, once its signature was good. */
  claims: JWTPayload;
}

/** What the service answers. */
export interface PushAnswer {
  status: number;
  headers?: Record<string, string>;
  body?: string;
  /** The delay before it answers. */
  delayMs?: number;
  /** Called when it has the push; then it says nothing more. */
  hit?: () => void;
}

/** A subscription as a browser makes it. */
export interface BrowserSubscription {
  endpoint: string;
  keys: { p256dh: string; auth: string };
}

export interface PushService {
  /** `http://localhost:PORT` */
  readonly origin: string;
  /** As `push.allowedHosts` takes it. */
  readonly host: string;
  /** Good pushes that were answered 2xx. */
  readonly pushes: ReceivedPush[];
  /** Requests of any kind, answered in any way, by path. */
  readonly asked: Map<string, number>;
  /** What the next requests get, by path or for all (`*`), until told otherwise. */
  readonly answers: Map<string, PushAnswer>;
  /** What was wrong with requests: bad signatures, what does not decrypt. */
  readonly faults: string[];
  /** Subscribes a new browser; its endpoint ends in `name`. */
  browser(name: string, vapidPublicKey: string): BrowserSubscription;
  close(): Promise<void>;
}

/** A real push service and the browsers behind it: verifies, decrypts, answers as it is told. */
export async function startPushService(): Promise<PushService> {
  const browsers = new Map<string, { ecdh: ECDH; auth: string; vapid: string }>();
  const server = createServer((request, response) => void receive(request, response));
  server.listen(0, 'localhost');
  await once(server, 'listening');
  const host = `localhost:${(server.address() as AddressInfo).port}`;
  const service: PushService = {
    origin: `http://${host}`,
    host,
    pushes: [],
    asked: new Map(),
    answers: new Map(),
    faults: [],
    browser(name, vapidPublicKey) {
      const ecdh = createECDH('prime256v1');
      const p256dh = ecdh.generateKeys('base64url');
      const auth = randomBytes(16).toString('base64url');
      const path = `/push/${randomBytes(6).toString('hex')}/${name}`;
      browsers.set(path, { ecdh, auth, vapid: vapidPublicKey });
      return { endpoint: `http://${host}${path}`, keys: { p256dh, auth } };
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return service;

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    service.asked.set(path, (service.asked.get(path) ?? 0) + 1);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const answer = service.answers.get(path) ?? service.answers.get('*') ?? { status: 201 };
    if (answer.delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, answer.delayMs).unref());
    if (answer.status < 300) {
      try {
        service.pushes.push(await read(request, path, Buffer.concat(chunks)));
      } catch (error) {
        service.faults.push(`${path}: ${(error as Error).message}`);
        response.writeHead(400).end();
        return;
      }
    }
    if (answer.hit === undefined) response.writeHead(answer.status, answer.headers).end(answer.body);
    else answer.hit();
  }

  async function read({ method, headers }: IncomingMessage, path: string, body: Buffer): Promise<ReceivedPush> {
    const browser = browsers.get(path);
    if (method !== 'POST' || browser === undefined) throw new Error(`nobody subscribed at ${method} ${path}`);
    const [, token = '', key = ''] = /^vapid t=([^,]+), ?k=(.+)$/.exec(headers.authorization ?? '') ?? [];
    if (key !== browser.vapid) throw new Error('signed with another key than subscribed with');
    const point = Buffer.from(key, 'base64url');
    const part = (from: number) => point.subarray(from, from + 32).toString('base64url');
    const jwk = await importJWK({ kty: 'EC', crv: 'P-256', x: part(1), y: part(33) }, 'ES256');
    const { payload: claims } = await jwtVerify(token, jwk, { audience: `http://${host}` });
    const { ecdh: privateKey, auth: authSecret } = browser;
    const plain = decrypt(body, { version: 'aes128gcm', privateKey, authSecret });
    return {
      path,
      at: Date.now(),
      ttl: String(headers.ttl),
      urgency: String(headers.urgency),
      encoding: String(headers['content-encoding']),
      size: plain.length,
      payload: JSON.parse(plain.toString()),
      claims,
    };
  }
}
