import { runInNewContext } from 'node:vm';
import { afterAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { connectTransport } from '../../clients/typescript/src/connect.ts';
import { requirePermission as express } from '../../clients/typescript/src/guards/express.ts';
import { requirePermission as fastify } from '../../clients/typescript/src/guards/fastify.ts';
import { requirePermission as hono } from '../../clients/typescript/src/guards/hono.ts';
import { permissionGuard } from '../../clients/typescript/src/guards/nestjs.ts';
import {
  createNotifier,
  createUsher,
  InvalidQuestionError,
  type Usher,
  UsherError,
} from '../../clients/typescript/src/index.ts';
import { createLocalUsher } from '../../clients/typescript/src/local.ts';
import { createFakeUsher } from '../../clients/typescript/src/testing.ts';
import { BROKEN, GOOD, NO_RECORD } from './broken-questions.ts';

/**
 * Questions as programs without types write them. None is answered as a wider one: every client refuses it with the same words, before
 * anything is sent. (docs/reference/decisions.md#client-packages.)
 */

/** What was sent. The answer is always yes: whatever gets this far is let in. */
const sent: unknown[] = [];
const transport = {
  unary: async (_: unknown, request: { checks?: unknown[]; permissions?: unknown[] }) => {
    sent.push(request);
    const yes = { allowed: true, accessLevel: 3, source: 1, revision: '1' };
    const results = (request.checks ?? request.permissions ?? []).map(() => yes);
    return { ...yes, results, permissions: [], rules: [], subjects: [], resourceIds: [], nextPageToken: '', scope: 1 };
  },
  stream: async function* (_: unknown, request: unknown) {
    sent.push(request);
    yield { revision: '1', changes: [], reset: false };
  },
  close: () => undefined,
};
const quiet = { warn: () => undefined };
const remote = createUsher({ transport: transport as never, log: quiet });
const unbatched = createUsher({ transport: transport as never, batch: false, log: quiet });
/** Follows nothing: a question that it would ask is never answered. */
const local = createLocalUsher({ address: '127.0.0.1:1', deadlineMs: 1, log: quiet });
const fake = createFakeUsher();

afterAll(() => local.close());

const CLIENTS: Readonly<Record<string, Usher>> = { remote, unbatched, local, fake };

/** Every door of a client, from a question of a check. */
const DOORS: Readonly<Record<string, (client: Usher, asked: never, options?: never) => Promise<unknown>>> = {
  check: (client, asked, options) => client.check(asked, options),
  allowed: (client, asked, options) => client.allowed(asked, options),
  explain: (client, asked, options) => client.explain(asked, options),
};

/** What a client says to it; null where it answers. */
async function refusal(ask: () => Promise<unknown>) {
  try {
    await ask();
    return null;
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidQuestionError);
    expect(error).toBeInstanceOf(UsherError);
    const { code, reason, message, violations } = error as UsherError;
    expect(code).toBe('INVALID_ARGUMENT');
    expect(violations.length).toBeGreaterThan(0);
    return { reason, message, violations };
  }
}

test('a malformed question is refused by every client with the same words, and nothing is sent', async () => {
  await fc.assert(
    fc.asyncProperty(BROKEN, async (asked) => {
      const said = await refusal(() => remote.check(asked as never));
      expect(said).not.toBeNull();
      for (const client of Object.values(CLIENTS)) {
        for (const ask of Object.values(DOORS)) {
          expect(await refusal(() => ask(client, asked as never))).toEqual(said);
        }
        const inBatch = await refusal(() =>
          client.batchCheck([{ email: 'a', app: 'b', permission: 'c' }, asked as never]),
        );
        expect(inBatch?.reason).toBe(said?.reason);
        expect(inBatch?.violations[0]?.field).toContain('questions[1]');
      }
      expect(await refusal(async () => local.peek(asked as never))).toEqual(said);
      expect(sent).toEqual([]);
    }),
    { numRuns: 600 },
  );
});

test('what a getter or a Proxy throws is a fault of the question', async () => {
  const throwing = {
    email: 'ben@example.com',
    app: 'atelier',
    get permission(): string {
      throw new Error('not loaded');
    },
  };
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  for (const asked of [throwing, proxy]) {
    for (const client of Object.values(CLIENTS)) {
      for (const ask of Object.values(DOORS)) {
        const said = await refusal(() => ask(client, asked as never));
        expect(said?.message).toBe('question: cannot be read');
      }
    }
  }
  expect(sent).toEqual([]);
});

test('a question whose members say two things is read once', async () => {
  const said = ['ticket', ''];
  const asked = {
    email: 'ben@example.com',
    app: 'atelier',
    permission: 'read',
    resource: {
      get type() {
        return said.shift();
      },
      id: '42',
    },
  };
  await unbatched.check(asked as never);
  expect(sent.splice(0)).toMatchObject([{ resourceType: 'ticket', resourceId: '42' }]);
});

test('the other questions refuse what they do not ask about', async () => {
  const who = { email: 'ben@example.com', app: 'atelier' };
  const about = { ...who, permission: 'read' };
  const { email: _, ...everybody } = about;
  const record = { type: 'ticket', id: '42' };
  const wrong: readonly [string, (client: Usher) => unknown][] = [
    ['permission', (client) => client.effective(about as never)],
    ['level', (client) => client.effective({ ...who, level: 'view' } as never)],
    ['resource.id', (client) => client.effective({ ...who, resource: { type: 'ticket' } } as never)],
    ['permission', (client) => client.bulkCheck(about as never)],
    ['permissions', (client) => client.bulkCheck({ ...who, permissions: 'read' } as never)],
    ['permissions', (client) => client.bulkCheck({ ...who, permissions: [] })],
    ['permissions', (client) => client.bulkCheck({ ...who, permissions: Array(1001).fill('read') })],
    ['permissions', (client) => client.bulkCheck({ ...who, permissions: new Set(['read']) } as never)],
    ['permissions[1]', (client) => client.bulkCheck({ ...who, permissions: ['read', 7] } as never)],
    ['permissions[0]', (client) => client.bulkCheck({ ...who, permissions: Array(2) } as never)],
    ['resourceId', (client) => client.bulkCheck({ ...who, permissions: ['read'], resourceId: '42' } as never)],
    ['questions', (client) => client.batchCheck(about as never)],
    ['questions', (client) => client.batchCheck([])],
    ['questions[0]', (client) => client.batchCheck(Array(1) as never)],
    ['email', (client) => drained(client.subjects(about))],
    ['resource.type', (client) => drained(client.subjects({ ...everybody, resource: { id: '42' } } as never))],
    ['resource', (client) => client.resources({ ...about, resourceType: 'ticket', resource: record } as never)],
    ['resourceType', (client) => client.resources(about as never)],
    ['resourceId', (client) => client.resources({ ...about, resourceType: 'ticket', resourceId: '42' } as never)],
    ['apps', (client) => drained(client.watch({ apps: 'atelier' } as never))],
    ['apps[0]', (client) => drained(client.watch({ apps: [''] }))],
    ['app', (client) => drained(client.watch({ app: 'atelier' } as never))],
    ['since', (client) => drained(client.watch({ since: 7 } as never))],
    ['options', (client) => client.check(about, null as never)],
    ['options', (client) => client.check(about, '5' as never)],
    ['minRevison', (client) => client.check(about, { minRevison: '5' } as never)],
    ['minRevision', (client) => client.allowed(about, { minRevision: '' })],
    ['minRevision', (client) => client.allowed(about, { minRevision: null } as never)],
    ['minRevision', (client) => client.batchCheck([about], { minRevision: 5 } as never)],
    ['deadlineMs', (client) => client.effective(who, { deadlineMs: '500' } as never)],
    ['deadlineMs', (client) => client.explain(about, { deadlineMs: Number.NaN })],
    ['signal', (client) => client.check(about, { signal: new AbortController() } as never)],
    ['level', (client) => client.resources({ ...about, resourceType: 'ticket' }, { level: 'edit' } as never)],
  ];
  for (const [field, ask] of wrong) {
    const [first, ...others] = await Promise.all(
      Object.values(CLIENTS).map((client) => refusal(async () => await ask(client))),
    );
    expect(first?.violations.map((one) => one.field)).toContain(field);
    for (const other of others) expect(other).toEqual(first);
  }
  expect(sent).toEqual([]);
});

test('the member that was probably meant is named', async () => {
  const asked = { email: 'ben@example.com', app: 'atelier', permission: 'read' };
  const message = async (more: object) => (await refusal(() => remote.check({ ...asked, ...more } as never)))?.message;
  const record = 'write resource: {type, id}';
  expect(await message({ resourceType: 'ticket', resourceId: '42' })).toBe(
    `resourceType: unknown member; ${record}. resourceId: unknown member; ${record}`,
  );
  expect(await message({ ressource: {} })).toBe('ressource: unknown member; did you mean resource?');
  expect(await message({ tenant: 'x' })).toBe(
    'tenant: unknown member; a question has email, app, permission, resource, level',
  );
  expect(await message({ accessLevel: 'edit' })).toBe("accessLevel: unknown member; write level: 'view' or 'edit'");
  expect(await message({ level: 'write' })).toBe("level: must be 'view' or 'edit', not 'write'");
  expect(await message({ resource: 'ticket:42' })).toBe('resource: must be a plain object {type, id}, not a string');
  expect(await message({ resource: {} })).toBe('resource.type: is required. resource.id: is required');
  expect(await message({ resource: { type: 'ticket', id: 42 } })).toBe('resource.id: must be a string, not a number');
});

test('well-formed questions are sent as they always were', async () => {
  await fc.assert(
    fc.asyncProperty(
      GOOD,
      fc.constantFrom('as is', 'undefined', 'null prototype', 'realm', 'turned'),
      async (q, form) => {
        const { email, app, permission, resource, level } = q;
        const asked = {
          'as is': q,
          undefined: { email, app, permission, resource, level },
          'null prototype': Object.assign(Object.create(null), q),
          realm: runInNewContext(`(${JSON.stringify(q)})`),
          turned: Object.fromEntries(Object.entries(q).toReversed()),
        }[form] as never;
        const expected = {
          email,
          app,
          permission,
          resourceType: resource?.type ?? '',
          resourceId: resource?.id ?? '',
          accessLevel: level === undefined ? 0 : level === 'view' ? 2 : 3,
          minRevision: '',
        };
        for (const client of [remote, unbatched]) {
          expect(await client.allowed(asked)).toBe(true);
          await client.explain(asked);
          await client.batchCheck([asked], { minRevision: '7' });
        }
        const each = [expected, { check: expected }, { checks: [expected], minRevision: '7' }];
        expect(sent.splice(0)).toEqual([...each, ...each]);
        const stranger = createFakeUsher();
        expect(await stranger.allowed(asked)).toBe(false);
        expect(await stranger.allow(withoutLevel(q) as never, level as never).allowed(asked)).toBe(true);
      },
    ),
    { numRuns: 300 },
  );
});

test('guards refuse a malformed question, and are not made of what they do not know', async () => {
  const options = { app: 'atelier', permission: 'read', email: () => 'ben@example.com' };
  const wrong: readonly [string, object][] = [
    ['resourceType', { resourceType: 'ticket', resourceId: '42' }],
    ['ressource', { ressource: () => ({ type: 'ticket', id: '42' }) }],
    ['resource', { resource: { type: 'ticket', id: '42' } }],
    ['resource', { resource: null }],
    ['level', { level: 'write' }],
    ['accessLevel', { accessLevel: 'edit' }],
    ['app', { app: '' }],
    ['permission', { permission: undefined }],
    ['email', { email: 'ben@example.com' }],
    ['unavailable', { unavailable: 'yes' }],
  ];
  const makers = [express, fastify, hono, permissionGuard] as unknown as ((
    usher: unknown,
    options: object,
  ) => unknown)[];
  for (const make of makers) {
    for (const [field, more] of wrong) {
      const said = await refusal(async () => make(remote, { ...options, ...more }));
      expect(said?.violations.map((one) => one.field)).toContain(field);
    }
    expect(await refusal(async () => make(options, options))).toMatchObject({ violations: [{ field: 'usher' }] });
  }

  await fc.assert(
    fc.asyncProperty(fc.oneof(NO_RECORD, fc.constant(undefined)), async (record) => {
      for (const [name, status] of Object.entries(await answers({ ...options, resource: () => record as never }))) {
        expect([name, status]).toEqual([name, name === 'nestjs' ? false : 500]);
      }
    }),
  );
  const notAnAddress = await answers({ ...options, email: () => Promise.resolve('ben@example.com') as never });
  expect(notAnAddress).toEqual({ express: 500, fastify: 500, hono: 500, nestjs: false });
  expect(sent).toEqual([]);
  expect(await answers(options)).toEqual({ express: 'in', fastify: 'in', hono: 'in', nestjs: true });
  expect(sent.splice(0)).toHaveLength(4);
});

/** What each framework's guard makes of a request. */
async function answers(options: Parameters<typeof express>[1]) {
  const guarded = { ...options, log: quiet };
  const said: Record<string, unknown> = { fastify: 'in' };
  const say = (framework: string) => (answer: unknown) => {
    said[framework] = answer;
  };
  const status = (code: number) => ({ json: () => say('express')(code) });
  await express(unbatched, guarded)({}, { status }, () => say('express')('in'));
  await fastify(unbatched, guarded)({}, { code: (code) => ({ send: () => say('fastify')(code) }) });
  const json = (_: unknown, code: number) => say('hono')(code);
  await hono(unbatched, guarded as never)({ json } as never, async () => say('hono')('in'));
  const guard = permissionGuard(unbatched, guarded);
  said.nestjs = await guard.canActivate({ switchToHttp: () => ({ getRequest: () => ({}) }) });
  return said;
}

test('clients are not made of what they do not know', async () => {
  const address = '127.0.0.1:1';
  const wrong: readonly [string, unknown][] = [
    ['address', {}],
    ['options', undefined],
    ['options', '127.0.0.1:1'],
    ['address', { address: 'http://127.0.0.1:8080' }],
    ['address', { address: '' }],
    ['url', { url: 'https://usher.example.com' }],
    ['key', { address, key: 7 }],
    ['key', { address, key: 'from-a-file\n' }],
    ['plaintext', { address, plaintext: 'no' }],
    ['certificate.key', { address, certificate: { cert: 'x' } }],
    ['deadlineMs', { address, deadlineMs: '500' }],
    ['timeout', { address, timeout: 500 }],
    ['log', { address, log: {} }],
  ];
  for (const make of [createUsher, createLocalUsher]) {
    for (const [field, options] of wrong) {
      const said = await refusal(async () => make(options as never));
      expect([options, said?.violations.map((one) => one.field)]).toEqual([options, expect.arrayContaining([field])]);
    }
  }
  for (const [field, options] of [
    ['batch', { address, batch: 'no' }],
    ['transport', { transport: {} }],
    ['deadlineMs', { transport, deadlineMs: 5 }],
  ] as const) {
    const said = await refusal(async () => createUsher(options as never));
    expect(said).toMatchObject({ violations: [{ field }] });
  }
  for (const [field, options] of [
    ['url', {}],
    ['url', { url: 'usher.example.com:50051', key: 'k' }],
    ['key', { url: 'https://usher.example.com' }],
    ['address', { address, key: 'k' }],
  ] as const) {
    const said = await refusal(async () => createNotifier(options as never));
    expect(said?.violations.map((one) => one.field)).toContain(field);
  }
  for (const [field, options] of [
    ['url', {}],
    ['url', { url: 'usher.example.com' }],
    ['plaintext', { url: 'http://127.0.0.1:1', plaintext: true }],
  ] as const) {
    const said = await refusal(async () => connectTransport(options as never));
    expect(said?.violations.map((one) => one.field)).toContain(field);
  }
  const notifier = createNotifier({ url: 'http://127.0.0.1:1', key: 'k' });
  const recipients = { app: 'atelier', to: ['a@b.example'], recipients: ['a@b.example'] };
  expect(await refusal(() => notifier.notify(recipients as never))).toMatchObject({
    violations: [{ field: 'recipients' }],
  });
  for (const maxStalenessMs of ['5000', 0, Number.NaN, Number.POSITIVE_INFINITY]) {
    const said = await refusal(async () => createLocalUsher({ address, maxStalenessMs } as never));
    expect(said).toMatchObject({ violations: [{ field: 'maxStalenessMs' }] });
  }
  for (const given of [{ email: 'a', app: 'b', permission: 'c', level: 'edit' }, { email: 'a' }, null]) {
    expect(await refusal(async () => createFakeUsher().allow(given as never))).not.toBeNull();
  }
});

async function drained(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items);
}

function withoutLevel(question: object): object {
  return Object.fromEntries(Object.entries(question).filter(([name]) => name !== 'level'));
}
