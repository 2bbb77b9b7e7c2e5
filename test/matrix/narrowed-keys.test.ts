import { create, type DescMessage, type DescMethod, fromBinary, toBinary } from '@bufbuild/protobuf';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Route } from '../../src/gateway/route/route.ts';
import { gatewayRoutes } from '../../src/gateway/routes.ts';
import { ErrorInfoSchema } from '../../src/gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../src/gen/google/rpc/status_pb.ts';
import { FactsService } from '../../src/gen/usher/facts/v1/facts_pb.ts';
import { PermissionService } from '../../src/gen/usher/permission/v1/permission_pb.ts';
import { KEY_SCOPES } from '../../src/identity/api-keys.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { nameOf } from './expectations.ts';

/**
 * Keys that are narrowed to applications (docs/reference/callers.md#internal-keys), at every route and every RPC, made from these: about its
 * own application such a key is treated as any other key; about another application, and about all of them, it gets KEY_SCOPE.
 */
const SCOPES = KEY_SCOPES.join('+');
const NARROWED = 'a-key-for-one-application-alone';
const WIDE = 'a-key-for-every-application-here';
const APPS = ['mine', 'other'] as const;
type App = (typeof APPS)[number];

const routes = gatewayRoutes({ production: false }).filter(({ guard }) => guard.key !== undefined);

/** The example of a route, about that application. */
function about(value: unknown, app: App): unknown {
  if (Array.isArray(value)) return value.map((item) => about(item, app));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      if (name === 'app' || name === 'appCode') return [name, app];
      if (name === 'application') return [name, { code: app, name: app }];
      return [name, about(member, app)];
    }),
  );
}

/** A message with that application wherever its fields name one. */
function messageAbout(input: DescMessage, app: App, isWhole: boolean): Uint8Array {
  const fill = (schema: DescMessage): Record<string, unknown> =>
    Object.fromEntries(
      schema.fields.flatMap((field): [string, unknown][] => {
        if (field.localName === 'app') return [[field.localName, app]];
        if (field.localName === 'apps') return isWhole ? [] : [[field.localName, [app]]];
        if (field.localName === 'permissions') return [[field.localName, ['read']]];
        if (field.fieldKind === 'message') return [[field.localName, fill(field.message)]];
        if (field.fieldKind === 'list' && field.listKind === 'message')
          return [[field.localName, [fill(field.message)]]];
        if (field.localName === 'email') return [[field.localName, 'ann@example.com']];
        if (field.localName === 'permission') return [[field.localName, 'read']];
        return [];
      }),
    );
  return toBinary(input, create(input, fill(input)));
}

describe.each(['true', 'false'])('keys that are narrowed to an application (grpc.front: %s)', (front) => {
  let storage: TestStorage;
  let usher: RunningUsher;
  let client: Client;

  beforeAll(async () => {
    storage = await createStorage('postgresql');
    usher = await startUsher(storage, {
      env: {
        INTERNAL_API_KEY: `narrowed:${SCOPES}@mine:${NARROWED},wide:${SCOPES}:${WIDE}`,
        GRPC_FRONT: front,
      },
    });
    for (const app of APPS) {
      await usher.app.manifests.apply(`application: { code: ${app}, name: ${app} }`, { actor: 'cli' });
    }
    client = new Client(usher.grpc, credentials.createInsecure());
  }, 60_000);
  afterAll(async () => {
    client?.close();
    await usher?.close();
    await storage?.remove();
  }, 60_000);

  async function ask(route: Route, key: string, app: App): Promise<string> {
    const values: Record<string, string> = { appCode: app, email: 'ann@example.com' };
    const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) => values[name] ?? '1');
    const query = route.everyMethod ? '?permission=read' : '';
    const body = route.method === 'get' ? undefined : JSON.stringify(about(route.example.body ?? {}, app));
    const response = await fetch(`${usher.rest}${path}${query}`, {
      method: route.method.toUpperCase(),
      headers: {
        'x-internal-api-key': key,
        'x-auth-request-email': 'ann@example.com',
        ...(body === undefined || route.body === null ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined || route.body === null ? {} : { body }),
    });
    const text = await response.text();
    const reason: string = text.startsWith('{') ? (JSON.parse(text).details?.code ?? '') : '';
    return `${response.status} ${reason}`.trim();
  }

  test('every route that takes a key answers as it must', async () => {
    const wrong: string[] = [];
    expect(routes.length).toBeGreaterThan(15);
    for (const route of routes) {
      const said = [];
      for (const app of APPS) said.push(await ask(route, NARROWED, app));
      const isAboutOne = route.concerns !== null;
      const isRight = isAboutOne
        ? said[0] !== '403 KEY_SCOPE' &&
          !/^(400 VALIDATION_FAILED|401|415)/.test(said[0] ?? '') &&
          said[1] === '403 KEY_SCOPE'
        : said.every((one) => one === '403 KEY_SCOPE');
      if (!isRight) wrong.push(`${nameOf(route)}: ${said.join(', ')}`);
      for (const app of APPS) {
        const wide = await ask(route, WIDE, app);
        if (wide === '403 KEY_SCOPE') wrong.push(`${nameOf(route)}: the wide key is refused`);
      }
    }
    expect(wrong).toEqual([]);
    // What is about all is about all for a reason: a new route must say which it is.
    expect(
      routes
        .filter(({ concerns }) => concerns === null)
        .map(nameOf)
        .toSorted(),
    ).toEqual(
      [
        'POST /api/check/cache/clear',
        'POST /api/users/import',
        'PUT /api/internal/auth/profile-sync',
        'PUT /api/internal/auth/registration-locale',
        'GET /metrics',
      ].toSorted(),
    );
  }, 60_000);

  test('where the path names the application, nothing else about a request is told first', async () => {
    const named = routes.filter(({ path }) => path.includes(':appCode'));
    expect(named.length).toBeGreaterThan(6);
    const wrong: string[] = [];
    for (const route of named) {
      const path = route.path.replace(':appCode', 'other');
      const faults = [
        ['?strange=1', 'application/json', '{}'],
        ['', 'application/json', '{'],
        ['', 'text/plain', 'x'],
        ['', 'application/json', `"${'x'.repeat(70_000)}"`],
      ] as const;
      for (const [query, type, body] of faults) {
        const { method } = route;
        const headers = {
          'x-internal-api-key': NARROWED,
          'x-auth-request-email': 'ann@example.com',
          'content-type': type,
        };
        const sent = method === 'get' ? { method } : { method: method.toUpperCase(), body };
        const { status } = await fetch(usher.rest + path + query, { headers, ...sent });
        if (status !== 403) wrong.push(`${nameOf(route)} ${type} ${body.slice(0, 5)}: ${status}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test('a batch with one question about another application is refused whole', async () => {
    const check = { email: 'ann@example.com', permission: 'read' };
    const response = await fetch(`${usher.rest}/api/check/batch`, {
      method: 'POST',
      headers: { 'x-internal-api-key': NARROWED, 'content-type': 'application/json' },
      body: JSON.stringify({
        checks: [
          { ...check, app: 'mine' },
          { ...check, app: 'other' },
        ],
      }),
    });
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ details: { code: 'KEY_SCOPE', applications: ['mine'] } });
  });

  function metadataOf(key: string): Metadata {
    const metadata = new Metadata();
    metadata.set('x-internal-api-key', key);
    return metadata;
  }
  /** `OK`, or the code with its reason. */
  async function call(service: string, method: DescMethod, message: Uint8Array, key: string): Promise<string> {
    const path = `/${service}/${method.name}`;
    const bytes = (value: Buffer) => value;
    const toText = (error: { code?: number; metadata?: Metadata } | null) => {
      if (error === null) return 'OK';
      const [details] = error.metadata?.get('grpc-status-details-bin') ?? [];
      if (!Buffer.isBuffer(details)) return String(error.code);
      const [info] = fromBinary(StatusSchema, details).details;
      return `${error.code} ${info === undefined ? '' : fromBinary(ErrorInfoSchema, info.value).reason}`;
    };
    if (method.methodKind === 'unary') {
      return await new Promise((resolve) => {
        client.makeUnaryRequest(path, bytes, bytes, Buffer.from(message), metadataOf(key), (error) =>
          resolve(toText(error)),
        );
      });
    }
    return await new Promise((resolve) => {
      const stream = client.makeServerStreamRequest(path, bytes, bytes, Buffer.from(message), metadataOf(key));
      stream.on('data', () => {
        resolve('OK');
        stream.cancel();
      });
      stream.on('error', (error) => resolve(toText(error as never)));
      stream.on('end', () => resolve('OK'));
    });
  }

  test('every RPC answers as it must', async () => {
    const wrong: string[] = [];
    const check = async (name: string, said: Promise<string>, isRefused: boolean) => {
      const is = await said;
      if (isRefused !== (is === '7 KEY_SCOPE')) wrong.push(`${name}: ${is}`);
    };
    for (const method of PermissionService.methods) {
      const { typeName } = PermissionService;
      // Twice: the second is known by its bytes, and its caller by the headers.
      for (let times = 0; times < 2; times++) {
        for (const app of APPS) {
          const message = messageAbout(method.input, app, false);
          await check(`${method.name} ${app}`, call(typeName, method, message, NARROWED), app === 'other');
          await check(`${method.name} ${app} (wide)`, call(typeName, method, message, WIDE), false);
        }
      }
      if (method.input.fields.some(({ localName }) => localName === 'apps')) {
        const all = messageAbout(method.input, 'mine', true);
        await check(`${method.name} of all`, call(typeName, method, all, NARROWED), true);
        await check(`${method.name} of all (wide)`, call(typeName, method, all, WIDE), false);
      }
    }
    for (const method of FactsService.methods) {
      const message = messageAbout(method.input, 'mine', false);
      await check(method.name, call(FactsService.typeName, method, message, NARROWED), true);
    }
    expect(wrong).toEqual([]);
  }, 60_000);

  test('every RPC over Connect answers as it must', async () => {
    const wrong: string[] = [];
    for (const method of PermissionService.methods) {
      for (const app of APPS) {
        const message = messageAbout(method.input, app, false);
        const streams = method.methodKind !== 'unary';
        const framed = Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]);
        const gone = new AbortController();
        const response = await fetch(`${usher.rest}/${PermissionService.typeName}/${method.name}`, {
          method: 'POST',
          headers: {
            'content-type': streams ? 'application/connect+proto' : 'application/proto',
            'connect-protocol-version': '1',
            'x-internal-api-key': NARROWED,
          },
          body: streams ? framed : message,
          signal: gone.signal,
        });
        const reader = response.body?.getReader();
        const { value } = (await reader?.read()) ?? {};
        gone.abort();
        const isRefused = Buffer.from(value ?? [])
          .toString()
          .includes('permission_denied');
        if (isRefused !== (app === 'other')) wrong.push(`${method.name} ${app}: ${response.status}`);
      }
    }
    expect(wrong).toEqual([]);
  }, 60_000);
});
