import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Admin, createAdmin } from '../../clients/typescript/src/admin.ts';
import {
  createNotifier,
  DeniedError,
  InvalidQuestionError,
  UnavailableError,
  UsherError,
} from '../../clients/typescript/src/index.ts';
import { clientDocument } from '../gateway/client-document.ts';
import { pythonAdmin } from '../gateway/write-python-admin.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/** The clients that write: of the administration, made from the OpenAPI document, and of notifications. */

const ADMIN = 'admin@example.com';
const EVA = 'eva@example.com';
const KEY = 'the-key-of-a-backend-that-applies';
const MANIFEST = {
  application: { code: 'desk', name: 'Desk' },
  entities: [{ code: 'ticket', name: 'Ticket' }],
  permissions: [{ code: 'ticket.access', type: 'tiered' as const }],
  roles: [{ code: 'agent', permissions: { 'ticket.access': 'edit' as const } }],
};
const AGENT = { params: { path: { email: EVA, appCode: 'desk' } }, body: { role: 'agent' } };
const REHEARSED = { params: { ...AGENT.params, query: { dryRun: true as const } } };

let storage: TestStorage;
let usher: RunningUsher;
let admin: Admin;

beforeAll(async () => {
  storage = await createStorage('postgresql');
  usher = await startUsher(storage, {
    env: { SUPERADMINS: ADMIN, INTERNAL_API_KEY: `apply:manifest+notify:${KEY}` },
  });
  admin = createAdmin({ url: usher.rest, token: () => usher.token(ADMIN) });
  await createAdmin({ url: `${usher.rest}/`, key: KEY }).POST('/api/manifests/apply', { body: MANIFEST });
});

afterAll(async () => {
  await usher?.close();
  await storage?.remove();
});

test('what the clients of the administration are made of is that of the routes', async () => {
  for (const [name, text] of Object.entries(pythonAdmin(await clientDocument()))) {
    const kept = readFileSync(new URL(`../../clients/python/src/usher_client/admin/${name}`, import.meta.url), 'utf8');
    expect(text === kept ? 'current' : `${name}: run npm run generate`).toBe('current');
  }
  const types = readFileSync(new URL('../../clients/typescript/src/gen/openapi.ts', import.meta.url), 'utf8');
  const { paths } = await clientDocument();
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods).map((one) => one.operationId));
  expect(operations.length).toBeGreaterThan(150);
  for (const operation of operations) expect(types).toMatch(new RegExp(`^    ${operation}: \\{$`, 'm'));
});

describe('the client of the administration', () => {
  test('gives and takes roles, after a dry run, with a reason', async () => {
    const { data: preview } = await admin.POST('/api/users/{email}/apps/{appCode}/roles', {
      ...AGENT,
      ...REHEARSED,
    });
    expect(preview.impact).toMatchObject({ people: 1, gained: 1, lost: 0 });
    expect(preview.result).toMatchObject({ code: 'agent' });
    expect((await admin.GET('/api/users/{email}/apps/{appCode}/roles', { params: AGENT.params })).data).toEqual([]);

    const header = { 'usher-if-revision': preview.impact.revision };
    const params = { ...AGENT.params, header };
    const given = await admin
      .withReason('žádost č. 42')
      .POST('/api/users/{email}/apps/{appCode}/roles', { ...AGENT, params });
    expect(given.data.code).toBe('agent');
    expect(given.revision).toBe(usher.app.engine.revision);
    const stale = admin.DELETE('/api/users/{email}/apps/{appCode}/roles/{roleCode}', {
      params: { path: { ...AGENT.params.path, roleCode: 'agent' }, header },
    });
    await expect(stale).rejects.toMatchObject({ name: 'UsherError', code: 'ABORTED', reason: 'STALE' });

    const records = await admin.GET('/api/admin/audit', { params: { query: { subject: EVA, limit: 1 } } });
    expect(records.data[0]).toMatchObject({ reason: 'žádost č. 42', subject: EVA });
    const taken = await admin.DELETE('/api/users/{email}/apps/{appCode}/roles/{roleCode}', {
      params: { path: { ...AGENT.params.path, roleCode: 'agent' } },
    });
    expect(taken.data).toBeUndefined();
    expect(taken.revision).not.toBe(given.revision);
  });

  test('overrides for one record, and replaces only the state that was read', async () => {
    const path = { email: EVA, appCode: 'desk', resourceType: 'ticket', resourceId: 'a/../b?c' };
    const at = '/api/users/{email}/apps/{appCode}/resources/{resourceType}/{resourceId}/permissions';
    const read = await admin.GET(at, { params: { path } });
    expect(read.etag).toMatch(/^"/);
    const body = { permissions: [{ permission: 'ticket.access', granted: true, accessLevel: 'view' as const }] };
    const header = { 'if-match': read.etag ?? '' };
    await admin.PUT(at, { params: { path, header }, body });
    const again = admin.PUT(at, { params: { path, header }, body: { permissions: [] } });
    await expect(again).rejects.toMatchObject({ reason: 'STALE' });
    const all = await admin.GET('/api/applications/{appCode}/overrides', { params: { path: { appCode: 'desk' } } });
    expect(all.data).toMatchObject([{ email: EVA, resourceId: 'a/../b?c' }]);
  });

  test('lists people over pages, sends, and exports a manifest', async () => {
    for (const name of ['a', 'b', 'c']) {
      const path = { email: `${name}@people.example`, appCode: 'desk' };
      await admin.POST('/api/users/{email}/apps/{appCode}/roles', { params: { path }, body: { role: 'agent' } });
    }
    const found: string[] = [];
    for await (const { email } of admin.list('/api/users', { params: { query: { q: 'people.example', limit: 2 } } })) {
      found.push(email);
    }
    expect(found.sort()).toEqual(['a@people.example', 'b@people.example', 'c@people.example']);
    const { data: sent } = await admin.POST('/api/applications/{appCode}/notifications', {
      params: { path: { appCode: 'desk' } },
      body: { recipients: [EVA], subject: 'Hello', body: 'A line.' },
    });
    expect(sent.notifications).toMatchObject([{ email: EVA }]);
    const exported = await admin.GET('/api/applications/{appCode}/manifest', { params: { path: { appCode: 'desk' } } });
    expect(exported.data).toMatchObject({ application: { code: 'desk' } });
  });

  test('rejects as the questions do', async () => {
    const stranger = createAdmin({ url: usher.rest, token: await usher.token('stranger@example.com') });
    await expect(stranger.GET('/api/users')).rejects.toBeInstanceOf(DeniedError);
    const wrong = admin.POST('/api/applications', { body: { code: 'No Slug', name: '' } });
    const error = await wrong.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidQuestionError);
    expect((error as UsherError).violations.map((one) => one.field)).toEqual(['code', 'name']);
    expect(error).toMatchObject({ reason: 'VALIDATION_FAILED', requestId: expect.any(String) });
    const path = { appCode: 'nowhere' };
    await expect(admin.GET('/api/applications/{appCode}', { params: { path } })).rejects.toMatchObject({
      name: 'UsherError',
      code: 'NOT_FOUND',
    });
    // Only what a write can rehearse takes a dry run; nothing else is written by mistake.
    const asked = {
      params: { query: { dryRun: true } },
      body: { code: 'tlh', name: 'Klingon', nativeName: 'tlhIngan' },
    };
    await expect(admin.POST('/api/languages', asked as never)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect((await admin.GET('/api/languages')).data.map((one) => one.code)).not.toContain('tlh');
  });

  test.each(['', '.', '..'])('never takes %j for a part of a path: it would name another thing', async (roleCode) => {
    const path = { ...AGENT.params.path, roleCode };
    const call = admin.DELETE('/api/users/{email}/apps/{appCode}/roles/{roleCode}', { params: { path } });
    await expect(call).rejects.toMatchObject({ violations: [{ field: 'params.path.roleCode' }] });
  });

  test('refuses input and options that it does not know, by name', async () => {
    const calls: readonly [string, () => Promise<unknown>][] = [
      ['dryRun', () => admin.GET('/api/users', { dryRun: true } as never)],
      ['headers', () => admin.GET('/api/users', { headers: {} } as never)],
      ['querry', () => admin.GET('/api/users', { params: { querry: {} } } as never)],
      ['params.path.appCode', () => admin.GET('/api/applications/{appCode}', {} as never)],
      [
        'params.path.appCode',
        () => admin.GET('/api/applications/{appCode}', { params: { path: { appCode: null } } } as never),
      ],
      ['signal', () => admin.GET('/api/users', { signal: 5 } as never)],
      ['url', async () => createAdmin({ token: 'x' } as never)],
      ['url', async () => createAdmin({ url: 'usher.example.com:8080', token: 'x' })],
      ['url', async () => createAdmin({ url: 'https://example.com/usher', token: 'x' })],
      ['token', async () => createAdmin({ url: 'https://usher.example.com' })],
      ['key', async () => createAdmin({ url: 'https://usher.example.com', key: 'a', token: 'b' })],
      ['token', async () => createAdmin({ url: 'https://usher.example.com', token: 5 as never })],
      ['token', () => createAdmin({ url: usher.rest, token: () => 'two\nlines' }).GET('/api/users')],
      ['reason', async () => admin.withReason('')],
      ['address', async () => createAdmin({ address: 'localhost:50051' } as never)],
    ];
    for (const [field, call] of calls) {
      const error = await call().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(InvalidQuestionError);
      expect((error as UsherError).violations.map((one) => one.field)).toContain(field);
    }
  });
});

test('is typed by the document', () => {
  const typed = [
    // @ts-expect-error: no such path
    () => admin.GET('/api/nowhere'),
    // @ts-expect-error: this path has no such method
    () => admin.DELETE('/api/users'),
    // @ts-expect-error: a part of the path is missing
    () => admin.GET('/api/applications/{appCode}', { params: { path: {} } }),
    // @ts-expect-error: the body is missing
    () => admin.POST('/api/applications', {}),
    // @ts-expect-error: this member is not of the body
    () => admin.POST('/api/applications', { body: { code: 'a', name: 'A', nmae: 'B' } }),
    // @ts-expect-error: no dry run of this write
    () => admin.POST('/api/admin/brands/{id}/test-email', { params: { path: { id: 1 }, query: { dryRun: true } } }),
    // @ts-expect-error: what a dry run answers is no role
    async () => (await admin.POST('/api/users/{email}/apps/{appCode}/roles', { ...AGENT, ...REHEARSED })).data.code,
    // @ts-expect-error: a person has no such member
    async () => (await admin.GET('/api/users')).data[0]?.surname,
  ];
  expect(typed).toHaveLength(8);
});

describe('over a line that fails', () => {
  const answers: { status: number; body: string }[] = [];
  const requests: { method: string | undefined; body: string }[] = [];
  const trouble = { status: 503, body: JSON.stringify({ success: false, code: 'UNAVAILABLE', message: 'Away.' }) };
  let server: Server;
  let url: string;

  beforeAll(async () => {
    server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      requests.push({ method: request.method, body: Buffer.concat(chunks).toString() });
      const { status, body } = answers.shift() ?? trouble;
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  afterAll(() => void server.close());

  const stored = { status: 202, body: '{"success":true,"data":{"notifications":[{"id":1,"email":"a@b.example"}]}}' };
  const notification = {
    app: 'desk',
    to: ['a@b.example'],
    subject: 'Hello',
    icon: '/i.png',
    locale: 'cs',
    templateKey: 'k',
  };

  test('a notification with a key of its own is sent again, as it was', async () => {
    requests.length = 0;
    answers.push(trouble, { status: 502, body: '<html>' }, stored);
    const notifier = createNotifier({ url, key: 'k' });
    expect(await notifier.notify({ ...notification, idempotencyKey: 'x' })).toMatchObject([{ id: 1 }]);
    expect(requests.map((one) => one.body)).toEqual(Array(3).fill(requests[0]?.body));
    expect(JSON.parse(requests[0]?.body ?? '')).toEqual({
      appCode: 'desk',
      recipients: ['a@b.example'],
      subject: 'Hello',
      icon: '/i.png',
      locale: 'cs',
      templateKey: 'k',
      idempotencyKey: 'x',
    });
  });

  test('one without is sent once, and so is every write', async () => {
    requests.length = 0;
    await expect(createNotifier({ url, key: 'k' }).notify(notification)).rejects.toBeInstanceOf(UnavailableError);
    const failing = createAdmin({ url, key: 'k' });
    await expect(failing.POST('/api/languages', { body: {} as never })).rejects.toMatchObject({ message: 'Away.' });
    expect(requests).toHaveLength(2);
    await expect(failing.GET('/api/users')).rejects.toBeInstanceOf(UnavailableError);
    expect(requests).toHaveLength(5);
  });

  test('a refusal is no trouble: nothing is sent again', async () => {
    requests.length = 0;
    answers.push({ status: 413, body: JSON.stringify({ code: 'PAYLOAD_TOO_LARGE', message: 'Too large.' }) });
    const sent = createNotifier({ url, key: 'k' }).notify({ ...notification, idempotencyKey: 'y' });
    await expect(sent).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED', message: 'Too large.' });
    expect(requests).toHaveLength(1);
  });

  test('an address that is not that of REST is said', async () => {
    answers.push({ status: 200, body: 'a page' });
    await expect(createAdmin({ url, key: 'k' }).POST('/api/languages', { body: {} as never })).rejects.toThrow(
      /gateway.*8080.*50051/,
    );
    const grpc = createAdmin({ url: `http://${usher.grpc}`, key: KEY, deadlineMs: 2000 });
    await expect(grpc.GET('/api/users')).rejects.toThrow(/8080/);
    const key = createNotifier({ url: `http://${usher.grpc}`, key: KEY, deadlineMs: 2000 });
    await expect(key.notify(notification)).rejects.toThrow(/8080/);
  });

  test('an answer that does not come ends with the deadline, and with its signal', async () => {
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => void silent.listen(0, '127.0.0.1', resolve));
    const late = createAdmin({
      url: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`,
      key: 'k',
      deadlineMs: 100,
    });
    await expect(late.GET('/api/users')).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    const over = late.GET('/api/users', { signal: AbortSignal.abort() });
    await expect(over).rejects.toBeInstanceOf(UsherError);
    silent.closeAllConnections();
    silent.close();
  });
});
