/**
 * Callers of the cluster in docs/guides/small-cluster.md, for as long as its failovers take:
 *
 *   USHER_TOKEN=$(usher token admin@example.com) bin/node deploy/cluster/callers.ts SECONDS
 *
 * They ask by gRPC, give and take a role and send notifications by REST, everything through the balancer. A change or a send that
 * fails is repeated until it is acknowledged. At the end they print what failed, and whether an answer was wrong or something
 * acknowledged was lost; the exit code is 1 then.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createUsher, UsherError } from '../../clients/typescript/src/index.ts';

const { USHER_URL = '', USHER_GRPC = '', USHER_API_KEY: key = '', USHER_TOKEN = '' } = process.env;
const seconds = Number(process.argv[2]);
if ([USHER_URL, USHER_GRPC, key, USHER_TOKEN].includes('') || !(seconds > 0)) {
  throw new Error('Usage: callers.ts SECONDS, with the variables of cluster.env and USHER_TOKEN');
}
/** Longer than a switch to another primary: what fails then has failed for a caller that waits. */
const DEADLINE_MS = 3000;
const PATIENCE_MS = 60_000;
const APP = 'atelier';
const ROLE = 'accountant';
const PERMISSION = 'invoice.access';
const usher = createUsher({ address: USHER_GRPC, key, deadlineMs: DEADLINE_MS });
const end = performance.now() + seconds * 1000;

/** What came of calls of one kind. */
class Tally {
  readonly name: string;
  good = 0;
  failed = 0;
  slowestMs = 0;
  /** The longest time from one good call to the next. */
  pauseMs = 0;
  readonly reasons = new Map<string, number>();
  #lastGood = performance.now();

  constructor(name: string) {
    this.name = name;
  }

  /** Makes one call; undefined where it failed. */
  async count<T>(call: () => Promise<T>): Promise<T | undefined> {
    const begun = performance.now();
    try {
      const answer = await call();
      this.good++;
      this.pauseMs = Math.max(this.pauseMs, performance.now() - this.#lastGood);
      this.#lastGood = performance.now();
      return answer;
    } catch (error) {
      if (error instanceof Broken) throw error;
      this.failed++;
      const reason = error instanceof UsherError || error instanceof Refused ? error.code : String(error);
      this.reasons.set(reason, (this.reasons.get(reason) ?? 0) + 1);
      return undefined;
    } finally {
      this.slowestMs = Math.max(this.slowestMs, performance.now() - begun);
    }
  }

  /** The same call, again and again until it is good; rejects with Broken a minute after the end. */
  async insist<T>(call: () => Promise<T>): Promise<T> {
    while (performance.now() < end + PATIENCE_MS) {
      const answer = await this.count(call);
      if (answer !== undefined) return answer;
      await sleep(200);
    }
    throw new Broken(`${this.name}: never acknowledged`);
  }
}

/** An answer of the gateway that is not a success. */
class Refused extends Error {
  readonly code: string;
  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** What no repetition mends, such as a demonstration that was never loaded. */
class Broken extends Error {}

interface Answer {
  readonly revision: string | undefined;
  readonly data: { readonly notifications?: readonly { readonly id: string }[] };
}

async function send(method: string, path: string, headers: Record<string, string>, body: unknown): Promise<Answer> {
  const response = await fetch(`${USHER_URL}/api/${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  const text = await response.text();
  // While no instance is ready the answer is the balancer's own page.
  if (!response.headers.get('content-type')?.includes('json')) throw new Refused(`${response.status} of the balancer`);
  const { data, details, code } = JSON.parse(text) as Answer & { code?: string; details?: { code?: string } };
  if (response.status >= 400 && response.status < 500) throw new Broken(`${method} ${path}: ${text}`);
  if (!response.ok) throw new Refused(details?.code ?? code ?? String(response.status));
  return { data, revision: response.headers.get('usher-revision') ?? undefined };
}

const cached = new Tally('checks, cached');
const cold = new Tally('checks, not cached');
const changes = new Tally('changes of a role');
const judged = new Tally('checks after a change');
const sends = new Tally('sends');
const wrong: string[] = [];
const lost: string[] = [];

async function askCached(): Promise<void> {
  const question = { email: 'ada@example.com', app: APP, permission: PERMISSION };
  for (; performance.now() < end; await sleep(10)) {
    const decision = await cached.count(() => usher.check(question));
    if (decision?.allowed === false) wrong.push('ada was denied');
  }
}

async function askCold(): Promise<void> {
  for (let n = 0; performance.now() < end; n++, await sleep(50)) {
    const email = `stranger${n}.${process.pid}@example.com`;
    const decision = await cold.count(() => usher.check({ email, app: APP, permission: PERMISSION }));
    if (decision?.allowed === true) wrong.push(`${email} was allowed`);
  }
}

/** Gives and takes a role; after each acknowledgement another instance, perhaps, is asked at the revision of the change. */
async function change(): Promise<void> {
  const email = 'flip@example.com';
  for (let n = 0; performance.now() < end; n++, await sleep(20)) {
    const roles = n % 2 === 0 ? [ROLE] : [];
    const path = `users/${email}/apps/${APP}/roles`;
    const { revision } = await changes.insist(() =>
      send('PUT', path, { authorization: `Bearer ${USHER_TOKEN}` }, { roles }),
    );
    const question = { email, app: APP, permission: PERMISSION };
    const decision = await judged.count(() => usher.check(question, { minRevision: revision }));
    if (decision !== undefined && decision.allowed !== roles.length > 0) {
      wrong.push(`${email} with the roles [${roles.join()}] at ${revision}: ${decision.allowed}`);
    }
  }
  // A revision that nobody knows is a change that was acknowledged and is gone.
  for (let n = judged.reasons.get('UNKNOWN_REVISION') ?? 0; n > 0; n--) lost.push('a change of a role');
}

/** Sends with keys of their own. The same key again, at the end, answers the first result if that was kept. */
async function notify(): Promise<void> {
  const body = (n: number) => ({
    appCode: APP,
    type: 'project-ready',
    recipients: ['ben@example.com'],
    subject: `Project ${n} is ready`,
    body: 'Have a look.',
    idempotencyKey: `callers-${process.pid}-${n}`,
  });
  const headers = { 'x-internal-api-key': key };
  const idOf = async (tally: Tally, n: number) =>
    (await tally.insist(() => send('POST', 'internal/notifications', headers, body(n)))).data.notifications?.[0]?.id;
  const ids: (string | undefined)[] = [];
  for (; performance.now() < end; await sleep(100)) ids.push(await idOf(sends, ids.length));
  for (const [n, id] of ids.entries()) {
    if (id === undefined || (await idOf(new Tally('again'), n)) !== id) lost.push(`send ${n}`);
  }
}

await Promise.all([askCached(), askCold(), change(), notify()]);
usher.close();
const row = (...cells: readonly (string | number)[]) =>
  console.log(cells.map((cell, i) => (i === 0 ? String(cell).padEnd(22) : String(cell).padStart(9))).join(''));
const time = (ms: number) => `${(ms / 1000).toFixed(2)} s`;
row('', 'good', 'failed', 'slowest', 'pause');
for (const tally of [cached, cold, judged, changes, sends]) {
  const reasons = [...tally.reasons].map(([reason, times]) => `  ${reason} ${times}`);
  row(tally.name, tally.good, tally.failed, time(tally.slowestMs), time(tally.pauseMs), ...reasons);
}
console.log(`wrong answers: ${wrong.length}, acknowledged and lost: ${lost.length}`);
for (const what of [...wrong, ...lost]) console.log(what);
if (wrong.length + lost.length > 0) process.exitCode = 1;
