import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { CheckResult } from '../../src/gen/api.ts';
import {
  Authorization,
  CheckRequestSchema,
  type CheckResponse,
  CheckResponseSchema,
} from '../../src/gen/envoy/service/auth/v3/external_auth_pb.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/** Every question of a small world through the doors for proxies: a check decides, and they say the same. */

const KEY = 'a-key-that-may-ask-checks';
const PEOPLE = ['root', 'boss', 'role', 'both', 'override', 'gone', 'nobody'].map((name) => `${name}@example.com`);
const manifest = (code: string, entities: string) => `
application: { code: ${code}, name: ${code} }
${entities}
permissions: [{ code: tiered, type: tiered }, { code: binary, type: binary }, { code: global, type: tiered, global: true }]
roles:
  - { code: viewer, permissions: { tiered: view, global: view } }
  - { code: editor, permissions: { tiered: edit, binary: allowed } }
admins: [boss@example.com]
assignments:
  - { email: role@example.com, roles: [viewer] }
  - { email: both@example.com, roles: [viewer, editor] }
  - { email: gone@example.com, roles: [editor] }
overrides:
  - { email: both@example.com, resourceType: application, resourceId: ${code}, permission: tiered, granted: false }
  - { email: role@example.com, resourceType: page, resourceId: "1", permission: tiered, granted: true, accessLevel: edit }
  - { email: override@example.com, resourceType: application, resourceId: ${code}, permission: binary, granted: true }
  - { email: boss@example.com, resourceType: page, resourceId: "1", permission: tiered, granted: false }
`;
const APPS = { open: '', listed: 'entities: [{ code: application, name: A }, { code: page, name: P }]', nowhere: null };
const CODES = ['tiered', 'binary', 'global', 'undefined'];
const LEVELS = [undefined, 'view', 'edit'] as const;

interface Question {
  app: string;
  permission: string;
  resourceType?: string;
  resourceId?: string;
  accessLevel?: string;
}

const questions: Question[] = Object.keys(APPS).flatMap((app) =>
  CODES.flatMap((permission) =>
    LEVELS.flatMap((accessLevel) =>
      [
        {},
        { resourceType: 'application', resourceId: app },
        { resourceType: 'page', resourceId: '1' },
        { resourceType: 'page', resourceId: 'a&b=c/d' },
      ].map((record) => ({ app, permission, ...record, ...(accessLevel === undefined ? {} : { accessLevel }) })),
    ),
  ),
);

describe('the doors for proxies', () => {
  let storage: TestStorage;
  let usher: RunningUsher;
  let client: Client;

  beforeAll(async () => {
    storage = await createStorage('postgresql');
    const env = { GRPC_EXT_AUTHZ: 'true', INTERNAL_API_KEY: `asks:check:${KEY}`, SUPERADMINS: 'root@example.com' };
    usher = await startUsher(storage, { env });
    for (const [code, entities] of Object.entries(APPS)) {
      if (entities !== null) await usher.app.manifests.apply(manifest(code, entities), { actor: 'cli' });
    }
    await usher.app.database.change(async (tx) => {
      await tx.kysely.updateTable('person').set({ blocked: true }).where('email', '=', 'gone@example.com').execute();
      return { result: null, scopes: ['u:gone@example.com'] };
    });
    client = new Client(usher.grpc, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  }, 60_000);
  afterAll(async () => {
    client?.close();
    await usher?.close();
    await storage?.remove();
  }, 60_000);

  const key = { 'x-internal-api-key': KEY };
  const byCheck = async (email: string, question: Question): Promise<boolean> => {
    const response = await fetch(`${usher.rest}/api/check`, {
      method: 'POST',
      headers: { ...key, 'content-type': 'application/json' },
      body: JSON.stringify({ email, ...question }),
    });
    return ((await response.json()) as { data: CheckResult }).data.allowed;
  };
  const byStatus = async ({ app, ...query }: Question, headers: Record<string, string>): Promise<boolean> => {
    const { status } = await fetch(
      `${usher.rest}/api/gateway/${app}/check?${new URLSearchParams({ ...query }).toString()}`,
      {
        method: 'PUT',
        headers,
        body: 'unread',
      },
    );
    expect([204, 403]).toContain(status);
    return status === 204;
  };
  const byEnvoy = async (question: Question, headers: Record<string, string>): Promise<boolean> => {
    const attributes = { contextExtensions: { ...question }, request: { http: { headers } } };
    const metadata = new Metadata();
    metadata.set('x-internal-api-key', KEY);
    const { status, httpResponse } = await new Promise<CheckResponse>((resolve, reject) => {
      client.makeUnaryRequest(
        `/${Authorization.typeName}/Check`,
        (message: Buffer) => message,
        (message: Buffer) => fromBinary(CheckResponseSchema, message),
        Buffer.from(toBinary(CheckRequestSchema, create(CheckRequestSchema, { attributes }))),
        metadata,
        (error, answer) => (error ? reject(error) : resolve(answer as CheckResponse)),
      );
    });
    expect(status?.code === 0).toBe(httpResponse.case === 'okResponse');
    return status?.code === 0;
  };
  const byAuthzen = async (email: string, { app, permission, resourceType, resourceId, accessLevel }: Question) => {
    const response = await fetch(`${usher.rest}/authzen/${app}/access/v1/evaluation`, {
      method: 'POST',
      headers: { ...key, 'content-type': 'application/json' },
      body: JSON.stringify({
        subject: { type: 'user', id: email },
        action: { name: permission, properties: { accessLevel } },
        resource:
          resourceType === undefined ? { type: 'usher:application', id: app } : { type: resourceType, id: resourceId },
      }),
    });
    return ((await response.json()) as { decision: boolean }).decision;
  };

  test.each(PEOPLE)('say what a check says of %s', async (email) => {
    const bearer = { authorization: `Bearer ${await usher.token(email)}` };
    const wrong: object[] = [];
    const yes = new Set<boolean>();
    for (const question of questions) {
      const expected = await byCheck(email, question);
      yes.add(expected);
      const said = {
        'by token': await byStatus(question, bearer),
        'by name': await byStatus(question, { ...key, 'x-auth-request-email': email }),
        envoy: await byEnvoy(question, bearer),
        // A record `application` of an application without that entity is the question without a record.
        ...(question.resourceType === 'application' && question.app !== 'listed'
          ? {}
          : { authzen: await byAuthzen(email, question) }),
      };
      for (const [door, isAllowed] of Object.entries(said)) {
        if (isAllowed !== expected) wrong.push({ door, question, expected });
      }
    }
    expect(wrong).toEqual([]);
    if (!['root@example.com', 'gone@example.com', 'nobody@example.com'].includes(email)) expect(yes.size).toBe(2);
  });
});
