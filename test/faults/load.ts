import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js';
import type { CheckResult, ErrorBody } from '../../src/gen/api.ts';
import { call } from '../grpc/support.ts';
import { Rest } from '../support/rest.ts';
import type { RunningUsher } from '../support/usher.ts';

/** What one caller got. */
export interface Got {
  what: 'check' | 'write';
  /** Performance time when it was asked, and how long it took. */
  at: number;
  ms: number;
  /** `allowed`, `denied`, `made`; else what it was refused with. */
  outcome: string;
  /** Of whom, or the code of the role written. */
  about: string;
}

export const HOLDER = 'holder@example.com';
export const NOBODY = 'nobody@example.com';
/** Loses the role while a fault lasts. */
export const FLIPPED = 'flipped@example.com';
export const ROOT = 'admin@example.com';

/** Answers that trouble may have; all else is a defect. */
const TROUBLE = new Set(['503 UNAVAILABLE', '503 OUTCOME_UNKNOWN', 'gRPC UNAVAILABLE']);

/**
 * Callers of a running service: checks over gRPC and REST, warm and cold ones, about one who holds the permission, one who does
 * not and one who loses it, and writers who make roles. It writes down what each got.
 */
export class Load {
  readonly got: Got[] = [];
  readonly #usher: RunningUsher;
  readonly #client: Client;
  #over = false;
  #serial = 0;
  #running: Promise<unknown> | undefined;

  private constructor(usher: RunningUsher) {
    this.#usher = usher;
    this.#client = new Client(usher.grpc, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  }

  static start(usher: RunningUsher): Load {
    const load = new Load(usher);
    load.#running = Promise.all([
      ...[HOLDER, NOBODY, FLIPPED].flatMap((email) => [
        load.#loop(() => load.check(email, false), 20),
        load.#loop(() => load.check(email, true), 40),
      ]),
      ...[0, 1, 2].map(() => load.#loop(() => load.write(), 30)),
    ]);
    return load;
  }

  async #loop(act: () => Promise<Got>, pauseMs: number): Promise<void> {
    while (!this.#over) {
      this.got.push(await act());
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }

  async stop(): Promise<void> {
    this.#over = true;
    await this.#running;
    this.#client.close();
  }

  /** A cold one is about a resource that nobody has asked about, so it has to be read. Every other one goes over REST. */
  async check(email: string, cold: boolean): Promise<Got> {
    const serial = ++this.#serial;
    const question = {
      email,
      app: 'shop',
      permission: 'read',
      ...(cold ? { resourceType: 'doc', resourceId: `${serial}` } : {}),
    };
    const outcome = serial % 2 === 0 ? () => this.#overGrpc(question) : () => this.#overRest(question);
    return await timed('check', email, outcome);
  }

  async #overGrpc(question: Parameters<typeof call<'Check'>>[2]): Promise<string> {
    try {
      const metadata = { 'x-internal-api-key': this.#usher.app.localKey ?? '' };
      const { message } = await call(this.#client, 'Check', question, { metadata });
      return message.allowed ? 'allowed' : 'denied';
    } catch (error) {
      return `gRPC ${status[(error as ServiceError).code]}`;
    }
  }

  async #overRest(question: object): Promise<string> {
    const response = await fetch(`${this.#usher.rest}/api/check`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-internal-api-key': this.#usher.app.localKey ?? '' },
      body: JSON.stringify(question),
    });
    const body = (await response.json()) as Partial<ErrorBody> & { data?: CheckResult };
    if (response.status === 200) return body.data?.allowed === true ? 'allowed' : 'denied';
    return `${response.status} ${body.code}`;
  }

  async write(): Promise<Got> {
    const code = `w${++this.#serial}`;
    return await timed('write', code, async () => {
      const outcome = await this.#makeRole(code);
      // The clock may have jumped between making a token and showing it; not a second time.
      return outcome === '401 UNAUTHENTICATED' ? await this.#makeRole(code) : outcome;
    });
  }

  async #makeRole(code: string): Promise<string> {
    // A new token each time: what the clock says may be another by now.
    const root = await Rest.as(this.#usher, ROOT);
    const { status: http, body } = await root.post('/api/applications/shop/roles', { code });
    return http === 201 ? 'made' : `${http} ${body?.details?.code ?? body?.code}`;
  }

  /** Milliseconds until a check that has to be read, and a write, go through again. */
  async recovered(): Promise<{ checkMs: number; writeMs: number }> {
    const [checkMs, writeMs] = await Promise.all([
      this.#until('allowed', () => this.check(HOLDER, true)),
      this.#until('made', () => this.write()),
    ]);
    return { checkMs, writeMs };
  }

  async #until(outcome: string, act: () => Promise<Got>): Promise<number> {
    const began = performance.now();
    for (;;) {
      const got = await act();
      this.got.push(got);
      if (got.outcome === outcome) return Math.round(performance.now() - began);
      if (performance.now() - began > 30_000) throw new Error(`no recovery: ${got.outcome}`);
    }
  }
}

async function timed(what: Got['what'], about: string, act: () => Promise<string>): Promise<Got> {
  const at = performance.now();
  const outcome = await act();
  return { what, about, at, ms: performance.now() - at, outcome };
}

export interface Judged {
  checks: number;
  /** Of the checks: refused as trouble. */
  unavailable: number;
  writes: number;
  made: number;
  slowestCheckMs: number;
  slowestWriteMs: number;
  /** Everything that no fault excuses. */
  wrong: string[];
}

/**
 * What callers got who asked between two moments. `revokedAt`: when the flipped one had lost the role, by the database; from
 * `boundMs` later nobody may be told otherwise.
 */
export function judge(got: readonly Got[], from: number, to: number, revokedAt: number, boundMs: number): Judged {
  const asked = got.filter(({ at }) => at >= from && at <= to);
  const checks = asked.filter(({ what }) => what === 'check');
  const writes = asked.filter(({ what }) => what === 'write');
  const wrong = asked.filter((one) => isWrong(one, revokedAt, boundMs));
  return {
    checks: checks.length,
    unavailable: checks.filter(({ outcome }) => TROUBLE.has(outcome)).length,
    writes: writes.length,
    made: writes.filter(({ outcome }) => outcome === 'made').length,
    slowestCheckMs: Math.round(Math.max(0, ...checks.map(({ ms }) => ms))),
    slowestWriteMs: Math.round(Math.max(0, ...writes.map(({ ms }) => ms))),
    wrong: wrong.map(({ about, outcome, at, ms }) => `${about}: ${outcome}, ${at - from} ms in, after ${ms} ms`),
  };
}

function isWrong({ what, about, outcome, at }: Got, revokedAt: number, boundMs: number): boolean {
  if (TROUBLE.has(outcome)) return false;
  if (what === 'write') return outcome !== 'made';
  if (about === HOLDER) return outcome !== 'allowed';
  if (about === NOBODY) return outcome !== 'denied';
  if (outcome === 'denied') return at < revokedAt - boundMs;
  return outcome !== 'allowed' || at > revokedAt + boundMs;
}
