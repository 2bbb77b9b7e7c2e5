/**
 * What the scenarios of notifications share: a service on a PostgreSQL of its own, an application that sends, users with
 * profiles, and sinks for what leaves. Users are written past the service; the rest is set up as an administrator would.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { systemClock } from '../src/base/clock.ts';
import { type LocalIssuer, openLocalIssuer } from '../src/identity/local-issuer.ts';
import type { Lab } from './lab.ts';
import { KEY, Service } from './service.ts';
import { type Counts, Sinks } from './sinks-client.ts';

export const APP = 'news';
export const SIGNING_KEY = 'k'.repeat(36);
export const ORGANIZATION = '100';

/** A point on P-256 and a secret, as browsers make them: every subscription has the same. */
const KEYS = {
  p256dh: 'BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM',
  auth: 'tBHItJI5svbpez7KI4CCXg',
};

const HTML = `<h1>Dear {{ user.firstName }},</h1>
<p>your invoice <b>{{ number }}</b> of {{ amount }} is due on {{ due }}. You find it at
<a href="https://example.com/invoices/{{ number }}">example.com</a>.</p>
<ul>{% for line in lines %}<li>{{ line.what }}: {{ line.price }}</li>{% endfor %}</ul>
<p>Kind regards, {{ brand.name }}</p>`;

export const PAYLOAD = {
  number: '2026-0017',
  amount: '1,200.00 EUR',
  due: '2026-12-01',
  lines: Array.from({ length: 5 }, (_, at) => ({ what: `Line ${at}`, price: 240 })),
};

export interface NewsroomOptions {
  /** Addresses `reader1@example.com` and on, each with a profile. */
  readers: number;
  /** Of how many of those a browser takes pushes: the first ones. */
  subscribed?: number;
  /** Roles of the process. */
  roles?: string;
  /** A migrated database, where it shall not be a new one. */
  databaseUrl?: string;
  env?: Record<string, string>;
  nodeFlags?: readonly string[];
}

export class Newsroom {
  readonly service: Service;
  readonly sinks: Sinks;
  readonly databaseUrl: string;
  readonly sql: pg.Client;
  /** Makes tokens of anybody. */
  readonly issuer: LocalIssuer;
  readonly #token: string;
  readonly #dataDir: string;

  private constructor(
    parts: Pick<Newsroom, 'service' | 'sinks' | 'databaseUrl' | 'sql' | 'issuer'> & { token: string; dataDir: string },
  ) {
    this.service = parts.service;
    this.sinks = parts.sinks;
    this.databaseUrl = parts.databaseUrl;
    this.sql = parts.sql;
    this.issuer = parts.issuer;
    this.#token = parts.token;
    this.#dataDir = parts.dataDir;
  }

  static async open(lab: Lab, options: NewsroomOptions): Promise<Newsroom> {
    const { readers, subscribed = 0, roles, env, nodeFlags } = options;
    const sinks = await Sinks.start();
    const databaseUrl = options.databaseUrl ?? (await lab.emptyDatabase());
    const dataDir = mkdtempSync(join(tmpdir(), 'usher-bench-'));
    const service = await Service.start({
      databaseUrl,
      dataDir,
      core: null,
      env: {
        INTERNAL_API_KEY: `bench:check+notify+metrics:${KEY}`,
        PUSH_ALLOWED_HOSTS: `localhost:${sinks.pushPort}`,
        IDP_NOTIFICATION_SIGNING_KEY: SIGNING_KEY,
        ...(roles === undefined ? {} : { USHER_ROLES: roles }),
        ...env,
      },
      ...(nodeFlags === undefined ? {} : { nodeFlags }),
    });
    const sql = new pg.Client({ connectionString: databaseUrl });
    await sql.connect();
    const issuer = await openLocalIssuer({ dataDir, clock: systemClock });
    const token = await issuer.sign('admin@example.com');
    const room = new Newsroom({ service, sinks, databaseUrl, sql, issuer, token, dataDir });
    await room.#setUp();
    await room.#fill(readers, subscribed);
    return room;
  }

  /** A request as a SuperAdmin; rejects when it is refused. */
  async admin<T>(method: string, path: string, body?: unknown): Promise<T> {
    const headers = { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' };
    return await request<T>(this.service.url + path, method, headers, body);
  }

  async applyManifest(yaml: string): Promise<void> {
    const headers = { authorization: `Bearer ${this.#token}`, 'content-type': 'application/yaml' };
    await request(`${this.service.url}/api/manifests/apply`, 'POST', headers, yaml);
  }

  /** A send by a backend; rejects when it is refused. */
  async send(recipients: readonly string[], order: Record<string, unknown> = { type: 'invoice', payload: PAYLOAD }) {
    const path = `${this.service.url}/api/internal/notifications`;
    const headers = { 'x-internal-api-key': KEY, 'content-type': 'application/json' };
    await request(path, 'POST', headers, { appCode: APP, recipients, ...order });
  }

  counts(): Promise<Counts> {
    return this.sinks.counts();
  }

  async close(): Promise<void> {
    await this.sql.end();
    await this.service.stop();
    await this.sinks.stop();
    rmSync(this.#dataDir, { recursive: true, force: true });
  }

  async #setUp(): Promise<void> {
    await this.admin('POST', '/api/applications', { code: APP, name: 'News' });
    const { data: types } = await this.admin<{ data: { id: number } }>(
      'POST',
      `/api/applications/${APP}/notification-types`,
      { code: 'invoice', name: 'Invoice' },
    );
    for (const [locale, subject] of [
      ['en', 'Invoice {{ number }} is due'],
      ['cs', 'Faktura {{ number }} je splatná'],
    ]) {
      const template = { notificationTypeId: types.id, locale, subject, html: HTML, requiredVariables: ['number'] };
      await this.admin('POST', `/api/applications/${APP}/templates`, template);
    }
    const { data: brands } = await this.admin<{ data: { id: number; isDefault: boolean }[] }>(
      'GET',
      '/api/admin/brands',
    );
    await this.admin('PUT', `/api/admin/brands/${brands.find(({ isDefault }) => isDefault)?.id}`, {
      emailFrom: 'news@example.com',
      emailFromName: 'News',
      idpOrgId: ORGANIZATION,
      smtp: { host: '127.0.0.1', port: this.sinks.smtpPort, secure: false, user: null },
    });
  }

  async #fill(readers: number, subscribed: number): Promise<void> {
    await this.sql.query(
      `with made as (
         insert into person (email, registered_at)
         select 'reader' || n || '@example.com', now() from generate_series(1, $1::int) n returning id)
       insert into profile (person_id, first_name, last_name, locale)
       select id, 'Given' || id, 'Family' || id, case when id % 2 = 0 then 'cs' end from made`,
      [readers],
    );
    if (subscribed > 0) {
      const { data } = await this.admin<{ data: { vapidPublicKey: string } }>('GET', '/api/profile/me/push/vapid-key');
      await this.sql.query(
        `insert into push_subscription (person_id, endpoint, p256dh, auth, device_label, vapid_key)
         select p.id, $2 || n, $3, $4, 'bench', $5
         from generate_series(1, $1::int) n join person p on p.email = 'reader' || n || '@example.com'`,
        [subscribed, `http://localhost:${this.sinks.pushPort}/push/`, KEYS.p256dh, KEYS.auth, data.vapidPublicKey],
      );
    }
    await this.sql.query('vacuum analyze');
  }
}

export function reader(number: number): string {
  return `reader${number}@example.com`;
}

async function request<T>(url: string, method: string, headers: Record<string, string>, body: unknown): Promise<T> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(url, { method, headers, ...(text === undefined ? {} : { body: text }) });
  const answer = await response.text();
  if (!response.ok) throw new Error(`${method} ${url} answered ${response.status}: ${answer.slice(0, 500)}`);
  return (answer === '' ? undefined : JSON.parse(answer)) as T;
}
