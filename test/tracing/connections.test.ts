import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { context, trace } from '@opentelemetry/api';
import type { ClientPool as Pool } from '../../src/persistence/driver/postgresql.ts';
import { FakeClock } from '../engine/fake-clock.ts';
import type { TestStorage } from '../support/databases.ts';
import { type Ended, ended, sdk } from '../support/kept-spans.ts';

// Loaded behind the SDK, as the service is.
const { createLogger } = await import('../../src/base/telemetry.ts');
const { ClientPool } = await import('../../src/persistence/driver/postgresql.ts');
const { Embedded } = await import('../../src/persistence/driver/pglite.ts');
const { createStorage } = await import('../support/databases.ts');

const WAIT = 'wait for a connection';
let storage: TestStorage;
let pool: Pool;
const clock = new FakeClock();

beforeAll(async () => {
  storage = await createStorage('postgresql');
  const log = createLogger('silent');
  const limits = { max: 1, statementTimeoutMs: 0, lockTimeoutMs: 0 };
  pool = new ClientPool({ name: 'facts', url: storage.url ?? '', clock, log, ...limits });
}, 60_000);
afterAll(async () => {
  await pool?.close();
  await storage?.remove();
  await sdk.shutdown();
}, 60_000);
beforeEach(() => {
  ended.length = 0;
});

const waits = (): Ended[] => ended.filter(({ name }) => name === WAIT);
const msOf = ({ duration: [seconds, nanoseconds] }: Ended): number => seconds * 1e3 + nanoseconds / 1e6;

/** Does `work` as part of a call that is recorded. Returns its span's id. */
async function recorded(work: () => Promise<unknown>): Promise<string> {
  const call = trace.getTracer('test').startSpan('call');
  await context.with(trace.setSpan(context.active(), call), work);
  call.end();
  return call.spanContext().spanId;
}

test('a recorded call that waits for a connection has the wait as a part, which ends before its statement begins', async () => {
  const held = await pool.acquire();
  const call = recorded(() => pool.query({ text: 'select 1' }));
  await clock.advance(40);
  held.release();
  const parent = await call;
  expect(ended.map(({ name }) => name)).toEqual([WAIT, 'select', 'call']);
  const [wait] = waits() as [Ended];
  expect(wait.attributes).toEqual({ 'db.system.name': 'postgresql', 'db.client.connection.pool.name': 'facts' });
  expect([wait.parentSpanContext?.spanId, wait.kind, wait.status.code]).toEqual([parent, 0, 0]);
  expect(msOf(wait)).toBeCloseTo(40, 3);
});

test('a connection that is there has no span, and neither has a wait of work that nobody records', async () => {
  await recorded(() => pool.query({ text: 'select 1' }));
  const held = await pool.acquire();
  const short = recorded(() => pool.query({ text: 'select 1' }));
  await clock.advance(1);
  held.release();
  await short;
  const again = await pool.acquire();
  const unrecorded = pool.query({ text: 'select 1' });
  await clock.advance(40);
  again.release();
  await unrecorded;
  expect(ended.map(({ name }) => name)).toEqual(['select', 'call', 'select', 'call']);
});

test('a wait that was in vain says so, without a message', async () => {
  const held = await pool.acquire();
  const call = recorded(() => expect(pool.query({ text: 'select 1' })).rejects.toMatchObject({ code: 'UNAVAILABLE' }));
  await clock.advance(1000);
  await call;
  held.release();
  const [wait] = waits() as [Ended];
  expect([wait.status, wait.attributes['error.type'], msOf(wait)]).toEqual([{ code: 2 }, 'UNAVAILABLE', 1000]);
  expect(wait.events).toEqual([]);
});

test('the one session of the embedded database is waited for in the same way', async () => {
  const directory = await createStorage('pglite');
  const embedded = await Embedded.open(`${directory.dataDir}/database`, clock);
  await embedded.gate.enter();
  const call = recorded(() => embedded.query('select 1', []));
  await clock.advance(5);
  embedded.gate.leave();
  await call;
  await embedded.close();
  await directory.remove();
  expect(waits().map((wait) => [wait.attributes['db.client.connection.pool.name'], msOf(wait)])).toEqual([
    ['embedded', 5],
  ]);
}, 60_000);
