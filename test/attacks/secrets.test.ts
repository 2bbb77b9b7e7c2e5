import { createECDH, createHmac } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import webPush from 'web-push';
import { createLogger } from '../../src/base/telemetry.ts';
import { usher as command } from '../cli/harness.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type SmtpSink, startSmtp } from '../support/smtp.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/**
 * A canary in every secret, and a look for all of them wherever anything comes out: the log at its most talkative, answers with
 * their headers, tables (audit among them), metrics, the document, `usher config`.
 */
const vapid = webPush.generateVAPIDKeys();
const SMTP_KEY = Buffer.from('canary-smtp-key-0123456789abcdef').toString('base64');
const CONFIGURED = {
  INTERNAL_API_KEY: 'backend:check+notify+profile+events+metrics:canary-internal-key-0123456789',
  IDP_WEBHOOK_SECRET: 'canary-webhook-secret-0123456789',
  IDP_NOTIFICATION_SIGNING_KEY: 'canary-signing-key-0123456789',
  IDP_SERVICE_ACCOUNT_TOKEN: 'canary-service-account-token-0123456789',
  IDP_CLIENT_SECRET: 'canary-client-secret-0123456789',
  BRAND_SMTP_KEY: SMTP_KEY,
  USHER_SECRET_KEY: Buffer.from('canary-secret-key-0123456789abcd').toString('base64'),
  PUSH_PRIVATE_KEY: vapid.privateKey,
};
const ENV = {
  ...CONFIGURED,
  PUSH_PUBLIC_KEY: vapid.publicKey,
  PUSH_SUBJECT: 'mailto:ops@example.com',
  IDP_PUBLIC_URL: 'https://idp.example.com',
  IDP_CLIENT_ID: 'usher',
  PUSH_ALLOWED_HOSTS: 'localhost:9',
};
const SMTP_PASSWORD = 'canary-smtp-password';
const CLIENT_SECRET = 'canary-client+secret';
const REFRESH_TOKEN = 'canary-refresh-token';
const CODE = 'CANARYCODE7';
const COOKIE = 'canary-cookie-value';
const PUSH_AUTH = Buffer.from('canary-push-auth').toString('base64url');

/** Nobody's address but this test's: no log line and no metric names people. */
const PERSON = 'canary-person@example.com';

let storage: TestStorage;
let usher: RunningUsher;
let smtp: SmtpSink;
let provider: Parrot;
let log = '';
const answers: string[] = [];

beforeAll(async () => {
  [storage, smtp, provider] = await Promise.all([
    createStorage('postgresql'),
    startSmtp({ login: { user: 'relay', password: SMTP_PASSWORD } }),
    startParrot(),
  ]);
  const destination = {
    write: (line: string) => {
      log += line;
    },
  };
  usher = await startUsher(storage, {
    env: { ...ENV, IDP_API_URL: provider.url },
    parts: { log: createLogger('trace', destination) },
  });
}, 60_000);
afterAll(async () => {
  await usher?.close();
  await Promise.all([smtp?.close(), storage?.remove(), provider?.close()]);
}, 60_000);

interface Parrot {
  readonly url: string;
  /** How it answers: always with all that it was sent, credentials included. */
  manner: 'error' | 'refusal' | 'nonsense' | 'redirect' | 'silence';
  readonly heard: string[];
  close(): Promise<void>;
}

/** An identity provider and list endpoint that repeats what it hears, in every wrong way. */
async function startParrot(): Promise<Parrot> {
  const heard: string[] = [];
  const server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      const said = JSON.stringify({ message: `${request.url} ${JSON.stringify(request.headers)} ${body}` });
      heard.push(said);
      const status = { error: 500, refusal: 403, nonsense: 200, redirect: 302, silence: 0 }[parrot.manner];
      if (status === 0) {
        request.socket.destroy();
        return;
      }
      const location = status === 302 ? { location: `https://example.com/?${encodeURIComponent(said)}` } : {};
      response.writeHead(status, { 'content-type': 'application/json', 'x-said': said, ...location });
      if (request.url === '/token') {
        response.end(
          JSON.stringify({ error: 'invalid_grant', error_description: `${body} ${JSON.stringify(request.headers)}` }),
        );
      } else response.end(parrot.manner === 'nonsense' ? `${said}}` : said);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const parrot: Parrot = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    manner: 'error',
    heard,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return parrot;
}

interface Ask {
  as?: string;
  key?: boolean;
  body?: unknown;
  headers?: Record<string, string>;
}

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape.
async function ask(method: string, path: string, { as, key, body, headers = {} }: Ask = {}): Promise<any> {
  const response = await fetch(usher.rest + path, {
    method,
    redirect: 'manual',
    headers: {
      cookie: `session=${COOKIE}; usher_login=${COOKIE}`,
      ...(as === undefined ? {} : { authorization: `Bearer ${await usher.token(as)}` }),
      ...(key ? { 'x-internal-api-key': CONFIGURED.INTERNAL_API_KEY.split(':').at(-1) ?? '' } : {}),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  answers.push(`${method} ${path} ${response.status} ${JSON.stringify([...response.headers])} ${text}`);
  try {
    return { status: response.status, ...JSON.parse(text) };
  } catch {
    return { status: response.status };
  }
}

const ROOT = 'admin@example.com';

function authMail(orgID: string): { body: string; headers: Record<string, string> } {
  const body = JSON.stringify({
    contextInfo: { eventType: 'user.human.password.code.added', recipientEmailAddress: PERSON },
    templateData: { subject: 'S', title: 'T', text: `Code ${CODE}`, url: `https://idp.example.com/x?code=${CODE}` },
    args: { code: CODE, orgID },
  });
  const t = Math.floor(Date.now() / 1000);
  const v1 = createHmac('sha256', CONFIGURED.IDP_NOTIFICATION_SIGNING_KEY).update(`${t}.${body}`).digest('hex');
  return { body, headers: { 'idp-signature': `t=${t},v1=${v1}` } };
}

/** A day in the life of a service in which a good deal goes wrong. */
async function live(): Promise<void> {
  const relay = { host: '127.0.0.1', port: smtp.port, user: 'relay', password: SMTP_PASSWORD };
  const brand = await ask('POST', '/api/admin/brands', {
    as: ROOT,
    body: { slug: 'atelier', name: 'Atelier', emailFrom: 'a@example.com', idpOrgId: '100', smtp: relay },
  });
  expect(brand.status).toBe(201);
  const path = `/api/admin/brands/${brand.data.id}`;
  expect((await ask('POST', `${path}/test-email`, { as: ROOT, body: { to: 'x@example.com' } })).status).toBe(200);
  expect((await ask('POST', '/api/idp/notifications/email', authMail('100'))).status).toBe(200);
  // A server whose refusal repeats what it was sent.
  smtp.fault = {
    at: 'login',
    words: (user, password) =>
      `no: ${user} ${password} ${Buffer.from(`\0${user}\0${password}`).toString('base64')} ${Buffer.from(password).toString('base64')}`,
  };
  await ask('PUT', path, { as: ROOT, body: { smtp: { ...relay, allowInsecure: true } } });
  await ask('PUT', path, { as: ROOT, body: { smtp: { ...relay, port: 'x' } } });
  expect((await ask('POST', `${path}/test-email`, { as: ROOT, body: { to: 'x@example.com' } })).status).toBe(502);
  expect((await ask('POST', '/api/idp/notifications/email', authMail('100 '))).status).toBe(422);
  expect((await ask('POST', '/api/idp/notifications/email', authMail('nobody'))).status).toBe(422);
  const broken = authMail('100');
  await ask('POST', '/api/idp/notifications/email', { ...broken, body: `${broken.body} ` });
  await ask('POST', '/api/admin/brands', { as: ROOT, body: `{"smtp": {"password": "${SMTP_PASSWORD}"` });

  // A token endpoint that repeats what it was sent, in every way.
  const account = { clientId: 'usher', clientSecret: CLIENT_SECRET, refreshToken: REFRESH_TOKEN };
  const oauth2 = { ...account, tokenUrl: `${provider.url}/token` };
  const signedIn = { smtp: { host: '127.0.0.1', port: smtp.port, user: 'relay', auth: 'oauth2', oauth2 } };
  const other = await ask('POST', '/api/admin/brands', { as: ROOT, body: { slug: 'tokens', name: 'T', ...signedIn } });
  expect(other.status).toBe(201);
  const tested = `/api/admin/brands/${other.data.id}`;
  expect((await ask('PUT', tested, { as: ROOT, body: { smtp: { port: 1 } } })).status).toBe(400);
  for (const manner of ['error', 'refusal', 'nonsense', 'redirect', 'silence'] as const) {
    provider.manner = manner;
    expect((await ask('POST', `${tested}/test-email`, { as: ROOT, body: { to: 'x@example.com' } })).status).toBe(502);
  }
  provider.manner = 'error';
  expect(provider.heard.some((said) => said.includes(REFRESH_TOKEN))).toBe(true);

  for (const secret of [CONFIGURED.IDP_WEBHOOK_SECRET, `${CONFIGURED.IDP_WEBHOOK_SECRET}x`]) {
    const headers = { 'x-webhook-secret': secret };
    await ask('POST', '/api/idp/webhook', {
      headers,
      body: { eventType: 'user.created', user: { email: 'w@example.com' } },
    });
    await ask('POST', '/api/idp/webhook', { headers, body: { eventType: 'user.created', user: { email: secret } } });
  }
  for (const route of ['orgs', 'notification-provider']) await ask('GET', `/api/idp/admin/${route}`, { as: ROOT });
  await ask('POST', '/api/idp/admin/notification-provider/setup', { as: ROOT, body: {} });
  await ask('GET', '/api/idp/login?client_id=usher');
  await ask('GET', `/api/idp/callback?code=${CODE}&state=${COOKIE}`);

  const endpoint = 'https://localhost:9/canary-endpoint';
  const browser = createECDH('prime256v1').generateKeys('base64url');
  const subscription = { endpoint, keys: { p256dh: browser, auth: PUSH_AUTH } };
  const subscribed = await ask('POST', '/api/profile/me/push/subscribe', {
    as: PERSON,
    body: { subscription, deviceLabel: 'Laptop' },
  });
  expect(subscribed.status).toBe(201);
  await ask('GET', '/api/profile/me/push/subscriptions', { as: PERSON });
  await ask('PUT', '/api/profile/me', { as: PERSON, body: { brand: 'atelier' } });
  const sent = await ask('POST', '/api/internal/notifications', {
    key: true,
    body: { appCode: 'auth', recipients: [PERSON], subject: 'S' },
  });
  expect(sent.status).toBe(202);
  await ask('POST', '/api/check', { key: true, body: { email: PERSON, app: 'auth', permission: 'x' } });
  await ask('POST', '/api/check', { headers: { 'x-internal-api-key': 'canary-wrong-key' }, body: {} });
  await ask('GET', '/api/profile/me', { headers: { authorization: 'Bearer eyJcanary.wrong.token' } });
  await ask('GET', '/api/notifications/unsubscribe?token=canary-token');
  for (const path of [
    '/metrics',
    '/api/openapi.json',
    '/api/docs',
    '/readyz',
    '/api/admin/audit?limit=200',
    '/api/admin/brands',
  ]) {
    await ask('GET', path, { as: ROOT, key: true });
  }
  const late = performance.now() + 15_000;
  const tried = async () => {
    const { data } = await ask('GET', '/api/applications/auth/notifications', { as: ROOT });
    const all = data.flatMap(({ deliveries }: { deliveries: { attempts: number }[] }) => deliveries);
    return all.length === 2 && all.every(({ attempts }: { attempts: number }) => attempts > 0);
  };
  while (!(await tried()) && performance.now() < late) await new Promise((resolve) => setTimeout(resolve, 200));
}

/** Everything that the service leans on fails while it holds secrets in its hands. */
async function suffer(): Promise<void> {
  const list = {
    code: 'invoice',
    name: 'Invoice',
    description: 'D',
    idLabel: 'No.',
    listEndpoint: `${provider.url}/list`,
  };
  expect((await ask('POST', '/api/applications/auth/entities', { as: ROOT, body: list })).status).toBe(201);
  for (const manner of ['error', 'refusal', 'nonsense', 'redirect', 'silence'] as const) {
    provider.manner = manner;
    const listed = await ask('GET', '/api/applications/auth/entities/invoice/items', { as: ROOT });
    expect([manner, listed.status]).toEqual([manner, 502]);
    for (const route of ['orgs', 'notification-provider']) await ask('GET', `/api/idp/admin/${route}`, { as: ROOT });
    for (const action of ['setup', 'activate']) {
      const path = `/api/idp/admin/notification-provider/${action}`;
      expect((await ask('POST', path, { as: ROOT, body: {} })).status).toBeGreaterThanOrEqual(404);
    }
    await ask('POST', '/api/idp/admin/orgs', { as: ROOT, body: { name: 'Acme', domain: 'acme.example.com' } });
    expect((await ask('PUT', '/api/profile/me', { as: PERSON, body: { firstName: manner } })).status).toBeGreaterThan(
      400,
    );
    await ask('GET', '/api/idp/login?client_id=usher');
    await ask('GET', '/api/idp/discovery');
  }
  expect(provider.heard.join()).toContain(CONFIGURED.IDP_SERVICE_ACCOUNT_TOKEN);
  // Connections are cut under requests of every kind.
  const cut = () =>
    usher.app.database
      .read((tx) =>
        sql`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()`.execute(tx.kysely),
      )
      .catch(() => undefined);
  for (let round = 0; round < 5; round++) {
    const work = [
      ask('POST', '/api/idp/notifications/email', authMail('100')),
      ask('POST', '/api/internal/notifications', { key: true, body: { appCode: 'auth', recipients: [PERSON] } }),
      ask('PUT', '/api/profile/me', { as: PERSON, body: { theme: 'dark' } }),
      ask('POST', '/api/profile/me/apps/auth/logout', { as: PERSON }),
      ask('POST', '/api/check', { key: true, body: { email: PERSON, app: `a${round}`, permission: 'x' } }),
      ask('GET', `/api/users?q=${PERSON}`, { as: ROOT }),
    ];
    await Promise.all([cut(), ...work, cut()]);
  }
  const back = performance.now() + 10_000;
  while ((await ask('GET', '/readyz')).status !== 200 && performance.now() < back) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await ask('GET', '/metrics', { key: true });
}

/** Every row of every table as JSON, but for what a table is there to hold. */
async function tables(): Promise<Map<string, string>> {
  return await usher.app.database.read(async (tx) => {
    const { rows } = await sql<{ name: string }>`
      select tablename as name from pg_tables where schemaname = 'public'`.execute(tx.kysely);
    const all = new Map<string, string>();
    for (const { name } of rows) {
      const found = await sql<{ text: string }>`
        select coalesce(jsonb_agg(to_jsonb(t))::text, '') as text from ${sql.table(name)} t`.execute(tx.kysely);
      all.set(name, found.rows[0]?.text ?? '');
    }
    return all;
  });
}

describe('secrets', () => {
  test('secrets appear in no output', async () => {
    await live();
    await suffer();
    const token = await usher.token(ROOT);
    const [header = '', , signature = ''] = token.split('.');
    const hidden: [string, string][] = [
      ...Object.entries(CONFIGURED).map(([name, value]): [string, string] => [name, value.split(':').at(-1) ?? '']),
      ['SMTP password', SMTP_PASSWORD],
      ['SMTP password in base64', Buffer.from(SMTP_PASSWORD).toString('base64').replace(/=+$/, '')],
      ['client secret', CLIENT_SECRET],
      ['client secret in a form', 'canary-client%2Bsecret'],
      ['client secret in a header', Buffer.from('usher:canary-client%2Bsecret').toString('base64')],
      ['refresh token', REFRESH_TOKEN],
      ['code', CODE],
      ['cookie', COOKIE],
      ['token', `${header}.`],
      ['signature of a token', signature],
      ['wrong token', 'eyJcanary'],
      ['wrong key', 'canary-wrong-key'],
      ['unsubscribe token', 'canary-token'],
    ];
    const config = await command(['config'], { env: { ...ENV, DATA_DIR: storage.dataDir } });
    expect([config.stderr, config.code]).toEqual(['', 0]);
    const stored = await tables();
    expect(stored.get('audit')).toContain('auth_email.sent');
    expect(log).toContain('rejected the credentials');
    const places: [string, string][] = [
      ['log', log],
      ['usher config', config.stdout],
      ...answers.map((text): [string, string] => [text.slice(0, 80), text.replace(/^\S+ \S+/, '')]),
      ...[...stored].map(([name, text]): [string, string] => [`table ${name}`, text]),
    ];
    const found = places.flatMap(([place, text]) =>
      hidden.filter(([, value]) => text.includes(value)).map(([name]) => `${name} in ${place}`),
    );
    expect(found).toEqual([]);

    // People are named in tables, to themselves and to administrators, and nowhere where operators look.
    const metrics = answers.filter((text) => text.startsWith('GET /metrics 200'));
    expect(metrics.length).toBeGreaterThan(0);
    expect([log, ...metrics].filter((text) => text.includes('canary-person'))).toEqual([]);

    // What a browser's push service is reached by is told to its owner, and stored; no more than that.
    const elsewhere = places.filter(([place]) => !/^table push_subscription$|\/push\//.test(place));
    expect(elsewhere.filter(([, text]) => text.includes('canary-endpoint') || text.includes(PUSH_AUTH))).toEqual([]);
  }, 60_000);
});
