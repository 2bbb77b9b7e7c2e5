/** Those who use the cluster while it is put through its faults: each of their calls is counted, and each answer kept to be judged. */
import { setTimeout as delay } from 'node:timers/promises';
import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js';
import { call } from '../../test/grpc/support.ts';
import type { Acknowledged, Told } from '../../test/scale/judge.ts';
import { numberOf } from '../../test/support/revisions.ts';
import { KEY } from '../service.ts';
import type { Call, Tally } from './outages.ts';

export const APP = 'shop';
export const PERMISSION = 'read';
export const HOLDER = 'holder@example.com';
export const READERS = 60;
/** Writers are two administrators, so that the log says who gave and who took. */
export const GIVES = 'gives@example.com';
export const TAKES = 'takes@example.com';
const PEOPLE = Array.from({ length: 20 }, (_, at) => `changing${at}@example.com`);
/** So late that a busy machine is not taken for a service that does not answer. */
const DEADLINE_MS = 15_000;
const MOST_TRIES = 120;

export const reader = (number: number): string => `reader${number}@example.com`;

export interface Instance {
  readonly grpcPort: number;
  readonly url: string;
}

interface Sent {
  readonly id: number;
  readonly email: string;
  readonly subject: string;
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: { code?: string; data?: { notifications?: { id: number; email: string }[] } };
}

export class Traffic {
  readonly acknowledged: Acknowledged[] = [];
  readonly told: Told[] = [];
  /** Answers about those whose rights nobody changes that were not what these are. */
  readonly wrong: string[] = [];
  readonly sent: Sent[] = [];
  readonly #instances: readonly Instance[];
  readonly #ca: string;
  readonly #tally: Tally;
  readonly #tokens: Readonly<Record<'gives' | 'takes', string>>;
  readonly #end = new AbortController();
  /** By instance: the newest revision that it has acknowledged. */
  readonly #newest: number[];
  readonly #work: Promise<unknown>;
  readonly #clients: Client[];
  #strangers = 0;
  #sends = 0;

  constructor(
    instances: readonly Instance[],
    given: { ca: string; tally: Tally; tokens: Readonly<Record<'gives' | 'takes', string>> },
  ) {
    this.#instances = instances;
    this.#ca = given.ca;
    this.#tally = given.tally;
    this.#tokens = given.tokens;
    this.#newest = instances.map(() => 0);
    this.#clients = instances.map((_, at) => this.#open(at));
    this.#work = Promise.all(instances.flatMap((_, at) => this.#users(at)));
  }

  /** Ends when all calls under way have; rejects when one of the callers failed by itself. */
  async stop(): Promise<void> {
    this.#end.abort();
    await this.#work;
    for (const client of this.#clients) client.close();
  }

  /** Rejects when a caller fails by itself; does not resolve before `stop`. */
  get working(): Promise<unknown> {
    return this.#work;
  }

  /** About 40 checks, 2.5 writes and a send a second. */
  #users(at: number): Promise<void>[] {
    const people = PEOPLE.filter((_, n) => n % this.#instances.length === at);
    const half = Math.ceil(people.length / 2);
    const client = this.#clients[at] as Client;
    return [
      this.#every(100, () => this.#askWarm(at, client, 'warm check')),
      this.#every(100, () => this.#askWarm(at, client, 'warm check')),
      this.#every(100, (n) => this.#askChanging(at, client, n)),
      this.#every(200, () => this.#askCold(at, client)),
      this.#every(1000, () => this.#askAnew(at)),
      this.#every(800, (n) => this.#write(at, people.slice(0, half), n)),
      this.#every(800, (n) => this.#write(at, people.slice(half), n)),
      this.#every(1000, () => this.#send(at)),
    ];
  }

  async #every(ms: number, work: (round: number) => Promise<void>): Promise<void> {
    for (let round = 0; !this.#end.signal.aborted; round++) {
      const begun = performance.now();
      await work(round);
      await delay(Math.max(0, ms - (performance.now() - begun)));
    }
  }

  #open(at: number): Client {
    const channel = credentials.createSsl(Buffer.from(this.#ca));
    // No retries: what an application would not see counts here.
    const options = {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.enable_retries': 0,
      'grpc.ssl_target_name_override': 'localhost',
    };
    return new Client(`127.0.0.1:${this.#instances[at]?.grpcPort}`, channel, options);
  }

  async #ask(at: number, client: Client, kind: Call, email: string): Promise<Told | null> {
    const begun = performance.now();
    const floor = this.#newest[at] ?? 0;
    try {
      const options = { metadata: { 'x-internal-api-key': KEY }, deadline: Date.now() + DEADLINE_MS };
      const { message } = await call(client, 'Check', { email, app: APP, permission: PERMISSION }, options);
      this.#tally.note(kind, 'answered', { instance: at, begun });
      return { email, allowed: message.allowed, revision: message.revision, floor, at: performance.now() };
    } catch (error) {
      const { code, message } = error as ServiceError;
      const ending = code === status.UNAVAILABLE ? 'refused' : 'failed';
      this.#tally.note(kind, ending, { instance: at, begun, why: message });
      return null;
    }
  }

  async #askWarm(at: number, client: Client, kind: Call): Promise<void> {
    this.#expect(await this.#ask(at, client, kind, HOLDER), true);
  }

  async #askCold(at: number, client: Client): Promise<void> {
    this.#expect(await this.#ask(at, client, 'cold check', `stranger${++this.#strangers}@example.com`), false);
  }

  /** By a connection of its own, which shows the certificate of the moment. */
  async #askAnew(at: number): Promise<void> {
    const client = this.#open(at);
    try {
      await this.#askWarm(at, client, 'new connection');
    } finally {
      client.close();
    }
  }

  #expect(told: Told | null, allowed: boolean): void {
    if (told !== null && told.allowed !== allowed)
      this.wrong.push(`${told.email} at ${told.revision}: ${told.allowed}`);
  }

  async #askChanging(at: number, client: Client, round: number): Promise<void> {
    const told = await this.#ask(at, client, 'changing check', PEOPLE[(round * 7 + at) % PEOPLE.length] ?? '');
    if (told !== null) this.told.push(told);
  }

  async #write(at: number, people: readonly string[], round: number): Promise<void> {
    const email = people[round % people.length] ?? '';
    const granted = Math.floor(round / people.length) % 2 === 0;
    const path = `/api/users/${email}/apps/${APP}/roles`;
    const token = granted ? this.#tokens.gives : this.#tokens.takes;
    const headers = { authorization: `Bearer ${token}` };
    const answer = await this.#request(at, 'write', 'PUT', path, headers, { roles: granted ? ['reader'] : [] });
    const revision = answer?.headers.get('usher-revision');
    if (answer === null || typeof revision !== 'string') return;
    this.acknowledged.push({ email, granted, revision });
    this.#newest[at] = Math.max(this.#newest[at] ?? 0, numberOf(revision));
  }

  /** Repeated until it is acknowledged, as callers with a key for it may. */
  async #send(at: number): Promise<void> {
    const number = ++this.#sends;
    const subject = `send ${number}`;
    const recipients = [reader(1 + (number % READERS)), reader(1 + ((number * 31 + 7) % READERS))];
    const body = {
      appCode: APP,
      recipients: [...new Set(recipients)],
      subject,
      body: `Number ${number}.`,
      idempotencyKey: `soak-${number}`,
    };
    const headers = { 'x-internal-api-key': KEY };
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const answer = await this.#request(at, 'send', 'POST', '/api/internal/notifications', headers, body);
      if (answer !== null) {
        for (const { id, email } of answer.body.data?.notifications ?? []) this.sent.push({ id, email, subject });
        return;
      }
      await delay(500);
    }
    this.#tally.trouble(`${subject} was not acknowledged in ${MOST_TRIES} tries`);
  }

  /** Null where it was refused, which is counted. */
  async #request(
    at: number,
    kind: Call,
    method: string,
    path: string,
    headers: Record<string, string>,
    body: object,
  ): Promise<Answer | null> {
    const begun = performance.now();
    try {
      const response = await fetch(`${this.#instances[at]?.url}${path}`, {
        method,
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(60_000),
      });
      const text = await response.text();
      const parsed = JSON.parse(text) as Answer['body'];
      if (response.ok) {
        this.#tally.note(kind, 'answered', { instance: at, begun });
        return { status: response.status, headers: response.headers, body: parsed };
      }
      const isUnknown = text.includes('OUTCOME_UNKNOWN');
      const ending = response.status !== 503 ? 'failed' : isUnknown ? 'outcome unknown' : 'refused';
      this.#tally.note(kind, ending, { instance: at, begun, why: `${response.status} ${text.slice(0, 300)}` });
    } catch (error) {
      this.#tally.note(kind, 'failed', { instance: at, begun, why: String((error as Error).cause ?? error) });
    }
    return null;
  }
}
