import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Writable } from 'node:stream';
import { afterAll, afterEach, beforeAll, expect } from '@jest/globals';
import { createLogger } from '../../../src/base/telemetry.ts';
import type { NotificationType } from '../../../src/gen/api.ts';
import type { Tx } from '../../../src/persistence/database.ts';
import { createStorage, type Kind, type TestStorage } from '../../support/databases.ts';
import { Rest } from '../../support/rest.ts';
import { type SmtpSink, startSmtp } from '../../support/smtp.ts';
import { type RunningUsher, startUsher } from '../../support/usher.ts';
import { IDP, type MailAnswer, type MailOf, mailBody, post, type Sign, signature } from './provider-mails.ts';

export const BRAND_KEY = randomBytes(32).toString('base64');
export const ENV = {
  BRAND_SMTP_KEY: BRAND_KEY,
  IDP_NOTIFICATION_SIGNING_KEY: 'k'.repeat(36),
  IDP_PUBLIC_URL: IDP,
  PUBLIC_URL: 'https://usher.example.com',
  USHER_SECRET_KEY: 'a secret key of this installation',
};

/** A service with a brand for organization 100 that sends into `sink`. */
export class MailWorld {
  readonly kind: Kind;
  /** What the service logged. */
  readonly lines: string[] = [];
  storage!: TestStorage;
  usher!: RunningUsher;
  sink!: SmtpSink;

  /** What an operator sets beside ENV; undefined takes a value away. */
  readonly env: Readonly<Record<string, string | undefined>>;

  constructor(kind: Kind, env: Readonly<Record<string, string | undefined>> = {}) {
    this.kind = kind;
    this.env = env;
  }

  async open(): Promise<void> {
    this.sink = await startSmtp();
    this.storage = await createStorage(this.kind);
    const into = new Writable({
      write: (chunk, _encoding, done) => {
        this.lines.push(String(chunk));
        done();
      },
    });
    this.usher = await startUsher(this.storage, { env: this.#settings(), parts: { log: createLogger('debug', into) } });
    const root = await Rest.as(this.usher, 'admin@example.com');
    const made = await root.post('/api/admin/brands', {
      slug: 'atelier',
      name: 'Atelier',
      emailFrom: 'hello@atelier.example.com',
      footerText: 'Atelier, Brno',
      idpOrgId: '100',
      smtp: { host: '127.0.0.1', port: this.sink.port },
    });
    expect(made.status).toBe(201);
    // The seed is in Czech; the example's English is what these tests read.
    const types = (await root.get('/api/applications/auth/notification-types')).body.data as NotificationType[];
    const notificationTypeId = types.find(({ code }) => code === 'auth_idp')?.id;
    for (const variant of JSON.parse(readFileSync('examples/auth-emails-en.json', 'utf8')) as object[]) {
      const added = await root.post('/api/applications/auth/templates', { notificationTypeId, ...variant });
      expect(added.status).toBe(201);
    }
  }

  #settings(): Record<string, string> {
    const all = Object.entries({ ...ENV, ...this.env });
    return Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== undefined));
  }

  async close(): Promise<void> {
    await this.usher?.close();
    await this.storage?.remove();
    await this.sink?.close();
  }

  /** A call of the provider with a code of its own. */
  readonly send = async (of: MailOf = {}, sign: Sign = {}): Promise<MailAnswer & { code: string }> => {
    const { body, code } = mailBody(of);
    return { ...(await post(this.usher.rest, body, signature(body, sign))), code };
  };

  readonly write = async (statement: (tx: Tx) => Promise<unknown>): Promise<void> => {
    await this.usher.app.database.change(async (tx) => {
      await statement(tx);
      return { result: null, scopes: ['*'] };
    });
  };

  /** Records of sent mails, newest first. */
  readonly audits = async () =>
    await this.usher.app.database.read(
      async (tx) =>
        await tx.kysely
          .selectFrom('audit')
          .selectAll()
          .where('action', '=', 'auth_email.sent')
          .orderBy('id', 'desc')
          .execute(),
    );

  /** Changes the templates of a key past their administration. */
  readonly template = (key: string, change: Record<string, unknown>): Promise<void> =>
    this.write((tx) => tx.kysely.updateTable('template').set(change).where('key', '=', key).execute());
}

/** Called in a describe; what it answers is ready in tests and hooks. */
export function useMailWorld(kind: Kind, env: Readonly<Record<string, string | undefined>> = {}): MailWorld {
  const world = new MailWorld(kind, env);
  beforeAll(() => world.open(), 60_000);
  afterEach(() => {
    world.sink.fault = null;
  });
  afterAll(() => world.close(), 60_000);
  return world;
}
