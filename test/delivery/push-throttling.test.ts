import { Writable } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import webPush from 'web-push';
import { createLogger } from '../../src/base/telemetry.ts';
import { toConfig } from '../../src/config/config.ts';
import { PushPauses } from '../../src/delivery/push-pauses.ts';
import { pushSubjectFaults, subjectProblem } from '../../src/delivery/push-subject.ts';
import { ManualClock } from '../identity/manual-clock.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type PushService, startPushService } from '../support/push-service.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { accept, hurry, insertType, settled, stateOf, until } from './rows.ts';

describe('pauses of pushes', () => {
  const at = (id: number, host = 'push.example.com') => ({ id, endpoint: `https://${host}/${id}` });

  test('a throttled subscription pauses alone, for as long as it was asked to', () => {
    const clock = new ManualClock();
    const pauses = new PushPauses(clock);
    expect(pauses.throttled(at(1), 86_400_000)).toBe(false);
    expect(pauses.throttled(at(2), 30_000)).toBe(false);
    // A shorter wish does not end a longer one.
    expect(pauses.throttled(at(1), 1000)).toBe(false);
    expect([1, 2, 3].map((id) => pauses.remaining(at(id)))).toEqual([86_400_000, 30_000, 0]);
    clock.advance(86_399_999);
    expect([1, 2].map((id) => pauses.remaining(at(id)))).toEqual([1, 0]);
  });

  test('three different ones within a minute pause their service for a minute, and no other', () => {
    const clock = new ManualClock();
    const pauses = new PushPauses(clock);
    pauses.throttled(at(1), 1000);
    pauses.throttled(at(1), 1000);
    pauses.throttled(at(1), 1000);
    clock.advance(30_000);
    pauses.throttled(at(2), 1000);
    pauses.throttled(at(9, 'other.example.com'), 1000);
    // The first was throttled more than a minute ago.
    clock.advance(30_001);
    expect(pauses.throttled(at(3), 1000)).toBe(false);
    expect(pauses.remaining(at(4))).toBe(0);
    expect(pauses.throttled(at(5), 86_400_000)).toBe(true);
    expect(pauses.remaining(at(4))).toBe(60_000);
    expect(pauses.remaining(at(4, 'other.example.com'))).toBe(0);
    clock.advance(60_000);
    expect(pauses.remaining(at(4))).toBe(0);
    // The count begins anew.
    expect(pauses.throttled(at(6), 1000)).toBe(false);
  });
});

describe('the subject of pushes', () => {
  test.each([
    'mailto:ops@example.com',
    'https://example.com/contact',
    'mailto:ops@b%C3%BCcher.example.com',
    'mailto:a@b.cz',
  ])('%s is public', (subject) => {
    expect(subjectProblem(subject)).toBeNull();
  });

  test.each([
    'mailto:ops@localhost',
    'mailto:ops@LOCALHOST.',
    'mailto:ops@mail.local',
    'mailto:ops@usher.invalid',
    'mailto:ops@usher.test',
    'mailto:ops@intranet',
    'mailto:ops@corp.internal',
    'mailto:ops@[192.0.2.1]',
    'mailto:ops@192.0.2.1',
    'mailto:ops@[IPv6:2001:db8::1]',
    'mailto:<ops@example.com>',
    'mailto:ops',
    'https://localhost/contact',
    'https://usher.local',
    'https://127.1/',
    'https://0x7f000001/',
    'https://[2001:db8::1]/',
    'http://example.com',
    'ops@example.com',
  ])('%s is not: production refuses it, elsewhere the start warns', (subject) => {
    expect(subjectProblem(subject)).toEqual(expect.stringMatching(/^must /));
    const config = toConfig({ env: {} });
    const push = { ...config.push, subject };
    expect(pushSubjectFaults({ ...config, push })).toEqual([]);
    expect(pushSubjectFaults({ ...config, push, production: true })).toMatchObject([{ variable: 'PUSH_SUBJECT' }]);
  });
});

describe('a push service that throttles', () => {
  let storage: TestStorage;
  let usher: RunningUsher;
  let push: PushService;
  let type: { app: number; type: number };
  const lines: string[] = [];
  const vapid = webPush.generateVAPIDKeys();

  beforeAll(async () => {
    [storage, push] = await Promise.all([createStorage('pglite'), startPushService()]);
    const into = new Writable({
      write: (chunk, _encoding, done) => {
        lines.push(String(chunk));
        done();
      },
    });
    usher = await startUsher(storage, {
      env: {
        PUSH_ALLOWED_HOSTS: push.host,
        PUSH_PUBLIC_KEY: vapid.publicKey,
        PUSH_PRIVATE_KEY: vapid.privateKey,
        PUSH_SUBJECT: 'mailto:ops@localhost',
      },
      parts: { log: createLogger('info', into) },
    });
    type = await insertType(usher.app.database, 'billing');
  }, 60_000);
  afterEach(() => push.answers.clear());
  afterAll(async () => {
    await usher?.close();
    await Promise.all([push?.close(), storage?.remove()]);
  }, 60_000);

  const subscribe = async (email: string) => {
    const browser = push.browser(email, vapid.publicKey);
    const rest = await Rest.as(usher, email);
    const { status } = await rest.post('/api/profile/me/push/subscribe', { subscription: browser, deviceLabel: 'x' });
    expect(status).toBe(201);
    return new URL(browser.endpoint).pathname;
  };
  const send = async (to: string) => {
    const [id = 0] = await accept(usher.app.database, type, [{ to, push: {} }]);
    usher.app.bell.ring();
    return id;
  };
  const state = (id: number) => stateOf(usher.app.database, id);
  const throttled = (id: number) =>
    until(
      () => state(id),
      ({ deliveries: [one] }) => one?.error === 'push_throttled' && one.status === 'queued',
    );

  test.each([
    [429, { 'retry-after': '86000' }, 80_000],
    [406, {}, 20],
  ])('%d holds up that browser only', async (status, headers, least) => {
    const slow = `slow${status}@example.com`;
    const path = await subscribe(slow);
    push.answers.set(path, { status, headers });
    const waiting = await throttled(await send(slow));
    expect(waiting.deliveries[0]?.dueIn).toBeGreaterThan(least);
    // A second push to it is not even tried, one to a neighbor arrives at once, and that ends no pause.
    push.answers.clear();
    const next = await send(slow);
    const neighbor = `neighbor${status}@example.com`;
    await subscribe(neighbor);
    const there = await send(neighbor);
    expect((await until(() => state(there), settled)).status).toBe('sent');
    await hurry(usher.app.database);
    usher.app.bell.ring();
    await until(
      () => state(next),
      ({ deliveries: [one] }) => one?.status === 'queued' && (one.dueIn ?? 0) > least / 2,
    );
    expect(push.asked.get(path)).toBe(1);
    expect((await state(next)).deliveries).toMatchObject([{ attempts: 0 }]);
  });

  test('what a push service says in a refusal is logged, without the endpoint', async () => {
    const path = await subscribe('refused@example.com');
    const body = `{"reason":"BadJwtToken","endpoint":"${push.origin}${path}",\n"said":"no"}`;
    push.answers.set(path, { status: 403, body });
    const id = await send('refused@example.com');
    expect((await until(() => state(id), settled)).reason).toBe('push_unauthorized');
    const line = lines.find((one) => one.includes('push refused by the push service')) ?? '';
    expect(JSON.parse(line)).toMatchObject({
      status: 403,
      said: '{"reason":"BadJwtToken","endpoint":"***", "said":"no"}',
    });
    expect(lines.join('')).not.toContain(path);
  });

  test('three throttled browsers pause their service for a minute', async () => {
    const paths = [];
    for (const name of ['a', 'b', 'c']) {
      const email = `crowd-${name}@example.com`;
      const path = await subscribe(email);
      paths.push(path);
      push.answers.set(path, { status: 429, headers: { 'retry-after': '5' } });
      const before = await state(await send(email));
      expect(before.deliveries).toHaveLength(1);
      await until(
        () => push.asked.get(path) ?? (lines.some((line) => line.includes('throttles several browsers')) ? 1 : 0),
        (asked) => asked === 1,
      );
    }
    await until(
      () => lines.some((line) => line.includes('push service throttles several browsers')),
      (said) => said,
    );
    const other = await subscribe('crowd-other@example.com');
    const id = await send('crowd-other@example.com');
    await until(
      () => state(id),
      ({ deliveries: [one] }) => one?.status === 'queued' && one.attempts === 0 && (one.dueIn ?? 0) > 5,
    );
    expect(push.asked.get(other)).toBeUndefined();
  });

  test('the start has warned of a subject that no push service can reach', () => {
    expect(lines.some((line) => line.includes('push.subject must name a public host, not localhost'))).toBe(true);
  });
});
