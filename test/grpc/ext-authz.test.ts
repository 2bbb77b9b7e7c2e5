import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { AttributeContextSchema } from '../../src/gen/envoy/service/auth/v3/attribute_context_pb.ts';
import {
  Authorization,
  CheckRequestSchema,
  type CheckResponse,
  CheckResponseSchema,
} from '../../src/gen/envoy/service/auth/v3/external_auth_pb.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { failureOf, readDetails } from './support.ts';

/** Envoy's own question (docs/reference/decisions.md#envoy). Real Envoy asks it in test/proxies. */

const KEY = 'a-key-that-may-ask-checks';
const OTHER_KEY = 'a-key-that-may-only-notify';
const ADA = 'ada@example.com';
const MANIFEST = `
application: { code: shop, name: Shop }
permissions: [{ code: pages, type: tiered }, { code: pay, type: binary }]
roles: [{ code: reader, permissions: { pages: view } }]
assignments: [{ email: ada@example.com, roles: [reader] }, { email: gone@example.com, roles: [reader] }]
overrides:
  - { email: ada@example.com, resourceType: page, resourceId: "7", permission: pages, granted: false }
`;
const ROUTE = { app: 'shop', permission: 'pages' };
const PATH = `/${Authorization.typeName}/Check`;

type Attributes = MessageInitShape<typeof AttributeContextSchema>;

function ask(client: Client, attributes: Attributes, key: string | null = KEY): Promise<CheckResponse> {
  const metadata = new Metadata();
  if (key !== null) metadata.set('x-internal-api-key', key);
  const bytes = Buffer.from(toBinary(CheckRequestSchema, create(CheckRequestSchema, { attributes })));
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      PATH,
      (message: Buffer) => message,
      (message: Buffer) => fromBinary(CheckResponseSchema, message),
      bytes,
      metadata,
      (error, answer) => (error ? reject(error) : resolve(answer as CheckResponse)),
    );
  });
}

const attributes = (contextExtensions: Record<string, string>, headers: Record<string, string> = {}): Attributes => ({
  contextExtensions,
  request: { http: { method: 'DELETE', headers } },
});

/** The status that a proxy answers with, and the headers of its upstream. */
function outcome({
  status: said,
  httpResponse,
}: CheckResponse): [code: number | undefined, http: number, headers: object] {
  const headers = Object.fromEntries(
    (httpResponse.value?.headers ?? []).map((one) => [one.header?.key, one.header?.value]),
  );
  const http = httpResponse.case === 'deniedResponse' ? (httpResponse.value.status?.code ?? 0) : 200;
  return [said?.code, http, headers];
}

describe('ext_authz', () => {
  let storage: TestStorage;
  let usher: RunningUsher;
  let client: Client;
  let bearer: (email: string) => Promise<Record<string, string>>;

  beforeAll(async () => {
    storage = await createStorage('postgresql');
    const env = {
      GRPC_EXT_AUTHZ: 'true',
      INTERNAL_API_KEY: `envoy:check:${KEY},mailer:notify:${OTHER_KEY}`,
      SUPERADMINS: 'root@example.com',
    };
    usher = await startUsher(storage, { env });
    await usher.app.manifests.apply(MANIFEST, { actor: 'cli' });
    await usher.app.database.change(async (tx) => {
      await tx.kysely.updateTable('person').set({ blocked: true }).where('email', '=', 'gone@example.com').execute();
      return { result: null, scopes: ['u:gone@example.com'] };
    });
    client = new Client(usher.grpc, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
    bearer = async (email) => ({ authorization: `Bearer ${await usher.token(email)}` });
  }, 60_000);
  afterAll(async () => {
    client?.close();
    await usher?.close();
    await storage?.remove();
  }, 60_000);

  test.each<[string, string, Record<string, string>, boolean, string | null]>([
    ['a role', ADA, {}, true, 'role'],
    ['at the level held', ADA, { accessLevel: 'view' }, true, 'role'],
    ['above it', ADA, { accessLevel: 'edit' }, false, null],
    ['a denying override', ADA, { resourceType: 'page', resourceId: '7' }, false, null],
    ['another record', ADA, { resourceType: 'page', resourceId: '8' }, true, 'role'],
    ['a permission that is not held', ADA, { permission: 'pay' }, false, null],
    ['an unknown permission', ADA, { permission: 'nothing' }, false, null],
    ['an unknown application', ADA, { app: 'nowhere' }, false, null],
    ['an inactive person', 'gone@example.com', {}, false, null],
    ['a SuperAdmin', 'root@example.com', { permission: 'nothing' }, true, 'superadmin'],
  ])('answers as a check does: %s', async (_, email, more, isAllowed, source) => {
    const [code, http, headers] = outcome(await ask(client, attributes({ ...ROUTE, ...more }, await bearer(email))));
    expect([code, http]).toEqual(isAllowed ? [0, 200] : [status.PERMISSION_DENIED, 403]);
    if (isAllowed) expect(headers).toMatchObject({ 'x-usher-email': email, 'x-usher-source': source });
    else expect(headers).not.toHaveProperty('x-usher-email');
  });

  test('reads headers that are sent as bytes', async () => {
    const { authorization = '' } = await bearer(ADA);
    const headers = [{ key: 'authorization', rawValue: Buffer.from(authorization) }];
    const said = await ask(client, { contextExtensions: ROUTE, request: { http: { headerMap: { headers } } } });
    expect(outcome(said).slice(0, 2)).toEqual([0, 200]);
  });

  test.each<[string, () => Promise<Attributes>]>([
    ['no token', async () => attributes(ROUTE)],
    ['no request', async () => ({ contextExtensions: ROUTE })],
    ['a wrong token', async () => attributes(ROUTE, { authorization: 'Bearer x.y.z' })],
    ['another scheme', async () => attributes(ROUTE, { authorization: 'Basic YTpi' })],
    ["Usher's key as token", async () => attributes(ROUTE, { authorization: `Bearer ${KEY}` })],
    ['two tokens', async () => attributes(ROUTE, { ...(await bearer(ADA)), Authorization: 'Bearer x.y.z' })],
    [
      'a name in place of a token',
      async () => attributes(ROUTE, { 'x-auth-request-email': ADA, 'x-internal-api-key': KEY }),
    ],
  ])('denies with 401: %s', async (_, made) => {
    const [code, http, headers] = outcome(await ask(client, await made()));
    expect([code, http]).toEqual([status.UNAUTHENTICATED, 401]);
    expect(headers).toMatchObject({ 'www-authenticate': 'Bearer realm="usher"' });
  });

  test.each<[string, Record<string, string>, string[]]>([
    ['nothing', {}, ['app', 'permission']],
    ['no permission', { app: 'shop' }, ['permission']],
    ['an unknown extension', { ...ROUTE, resourcetype: 'page' }, ['resourcetype']],
    ['an empty half', { ...ROUTE, resourceType: 'page', resourceId: '' }, ['resourceId']],
    ['a wrong level', { ...ROUTE, accessLevel: 'allowed' }, ['accessLevel']],
    ['a level in upper case', { ...ROUTE, accessLevel: 'EDIT' }, ['accessLevel']],
    ['a name of prototypes', { ...ROUTE, constructor: 'x' }, ['constructor']],
  ])('fails with INVALID_ARGUMENT: %s', async (_, extensions, names) => {
    const failure = await failureOf(ask(client, attributes(extensions, await bearer('root@example.com'))));
    expect(failure.code).toBe(status.INVALID_ARGUMENT);
    const fields = violations(failure);
    expect(fields).toEqual(names.map((name) => `attributes.context_extensions.${name}`));
  });

  test('half a record is INVALID_ARGUMENT, whoever is asked about', async () => {
    const half = attributes({ ...ROUTE, resourceType: 'page' }, await bearer('root@example.com'));
    const failure = await failureOf(ask(client, half));
    expect([failure.code, readDetails(failure.metadata.get('grpc-status-details-bin')[0] as Buffer).reason]).toEqual([
      status.INVALID_ARGUMENT,
      'INCOMPLETE_RESOURCE',
    ]);
  });

  test.each<[string, string | null, number]>([
    ['no key', null, status.UNAUTHENTICATED],
    ['a wrong key', 'x'.repeat(24), status.UNAUTHENTICATED],
    ['a key without the scope', OTHER_KEY, status.PERMISSION_DENIED],
  ])('the call itself fails: %s', async (_, key, code) => {
    const failure = await failureOf(ask(client, attributes(ROUTE, await bearer(ADA)), key));
    expect(failure.code).toBe(code);
  });

  test('trouble is the status of the call, never an answer', async () => {
    const { engine } = usher.app;
    const asked = attributes(ROUTE, await bearer(ADA));
    await engine.close();
    expect((await failureOf(ask(client, asked))).code).toBe(status.UNAVAILABLE);
  });
});

describe('ext_authz, not configured', () => {
  test('is unimplemented', async () => {
    const storage = await createStorage('postgresql');
    const usher = await startUsher(storage, { env: { INTERNAL_API_KEY: KEY } });
    const client = new Client(usher.grpc, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
    expect((await failureOf(ask(client, attributes(ROUTE)))).code).toBe(status.UNIMPLEMENTED);
    client.close();
    await usher.close();
    await storage.remove();
  }, 60_000);
});

function violations({ metadata }: ServiceError): string[] {
  const [bytes] = metadata.get('grpc-status-details-bin');
  return (readDetails(bytes as Buffer).violations ?? []).map(({ field }) => field);
}
