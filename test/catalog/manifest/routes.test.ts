import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type App, buildApp } from '../../../src/app/app.ts';
import { manifestSchema } from '../../../src/catalog/manifest/schema.ts';
import { toConfig } from '../../../src/config/config.ts';
import { addSuperadmin, removeSuperadmin } from '../../../src/persistence/people/superadmins.ts';
import { createStorage, type TestStorage } from '../../support/databases.ts';
import { databaseEnv } from '../../support/postgres.ts';
import { query } from './fixture.ts';

const STUDIO = `application: {code: studio, name: Studio}
permissions: [{code: a, type: tiered}]
roles: [{code: lead, permissions: {a: edit}}]
admins: [nora@example.com]
assignments: [{email: ada@example.com, roles: [lead]}]
`;
const PATH = '/api/manifests/apply';
const YAML = 'application/yaml';

describe('manifests over REST', () => {
  let storage: TestStorage;
  let app: App;
  let url = '';
  const tokens = new Map<string, string>();
  beforeAll(async () => {
    storage = await createStorage('postgresql');
    const env = {
      HTTP_PORT: '0',
      GRPC_PORT: '0',
      LOG_LEVEL: 'silent',
      ...databaseEnv(storage.url),
      DATA_DIR: storage.dataDir,
    };
    app = await buildApp(toConfig({ env }));
    url = (await app.start()).rest ?? '';
    for (const email of ['admin@example.com', 'nora@example.com', 'ada@example.com', 'second@example.com']) {
      tokens.set(email, (await app.localIssuer?.sign(email)) ?? '');
    }
  }, 60_000);
  afterAll(async () => {
    await app?.close();
    await storage?.remove();
  }, 60_000);

  const send = async (
    path: string,
    body: string | Buffer | undefined,
    headers: Record<string, string> = {},
    email = 'admin@example.com',
  ) => {
    const response = await fetch(`${url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${tokens.get(email) ?? ''}`,
        ...(body === undefined ? {} : { 'content-type': YAML }),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
    });
    const text = await response.text();
    const json =
      /json/.test(response.headers.get('content-type') ?? '') &&
      !/ndjson/.test(response.headers.get('content-type') ?? '');
    return {
      status: response.status,
      headers: response.headers,
      text,
      // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
      body: (json ? JSON.parse(text) : null) as any,
    };
  };

  test('a manifest is planned, applied, then unchanged, and the answer has the revision', async () => {
    const dry = await send(`${PATH}?dryRun=true`, STUDIO);
    expect(dry.status).toBe(200);
    const plan = {
      application: 'studio',
      dryRun: true,
      prune: false,
      summary: { create: 5, change: 0, remove: 0, keep: 0 },
      assignmentsEnded: 0,
      changes: expect.arrayContaining([
        {
          action: 'create',
          kind: 'role',
          key: 'lead',
          after: { code: 'lead', name: null, description: null, permissions: { a: 'edit' } },
        },
        {
          action: 'create',
          kind: 'assignment',
          key: 'ada@example.com:lead',
          after: { email: 'ada@example.com', role: 'lead' },
        },
      ]),
    };
    const { revision: seen } = dry.body.data.impact;
    expect(dry.headers.get('usher-revision')).toBe(seen);
    // Ada is the only one who gains: what the role gives.
    const impact = {
      revision: seen,
      people: 1,
      gained: 1,
      lost: 0,
      changes: [expect.anything()],
      truncated: false,
      nextBoundary: null,
    };
    expect(dry.body).toEqual({ success: true, data: { ...plan, result: plan, impact } });
    const done = await send(PATH, STUDIO, { 'content-type': 'text/yaml; charset=utf-8' });
    expect(done.body).toMatchObject({ data: { dryRun: false, summary: { create: 5 } } });
    const revision = done.headers.get('usher-revision');
    // Acknowledged: visible here at once.
    const check = await fetch(`${url}/api/check`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'ada@example.com', app: 'studio', permission: 'a', accessLevel: 'edit' }),
    });
    expect(await check.json()).toEqual({ success: true, data: { allowed: true } });
    const again = await send(PATH, STUDIO, { 'content-type': 'application/x-yaml' });
    expect(again.body).toMatchObject({ data: { summary: { create: 0, keep: 5 }, changes: [] } });
    expect(again.headers.get('usher-revision')).toBe(revision);
    const audit = await query(app.database, `select actor, subject from audit where action = 'manifest.applied'`);
    expect(audit).toEqual([{ actor: 'user:admin@example.com', subject: 'studio' }]);
  });

  test('a client that accepts NDJSON gets progress lines, then the plan', async () => {
    const { status, headers, text } = await send(PATH, STUDIO.replace('studio', 'lines'), {
      accept: 'application/x-ndjson',
    });
    expect([status, headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines[0]).toEqual({ progress: { done: 0, total: 5 } });
    expect(lines.at(-1)).toMatchObject({ success: true, data: { summary: { create: 5 } } });
    const refused = await send(PATH, 'application: {code: x}', { accept: 'application/x-ndjson' });
    expect(refused.status).toBe(400);
  });

  test('an export is YAML, or JSON where preferred, and applies again', async () => {
    const yaml = await send('/api/applications/studio/manifest', undefined, { accept: '*/*' });
    expect(yaml.headers.get('content-type')).toBe('application/yaml; charset=utf-8');
    expect(yaml.headers.get('cache-control')).toBe('no-store');
    expect((await send(`${PATH}?dryRun=true&prune=true`, yaml.text)).body).toMatchObject({ data: { changes: [] } });
    const json = await send('/api/applications/studio/manifest', undefined, {
      accept: 'application/json, application/yaml;q=0.5',
    });
    expect(json.body).toMatchObject({
      success: true,
      data: { application: { code: 'studio' }, roles: [{ code: 'lead', permissions: { a: 'edit' } }] },
    });
    const back = await send(`${PATH}?dryRun=true&prune=true`, JSON.stringify(json.body?.data), {
      'content-type': 'application/json',
    });
    expect(back.body).toMatchObject({ data: { changes: [] } });
  });

  test('the JSON Schema is public and cacheable, and an export names it in its first line', async () => {
    const { text } = await send('/api/applications/studio/manifest', undefined);
    const named = /^# yaml-language-server: \$schema=(\S+)\n\napplication:\n/.exec(text)?.[1] ?? '';
    expect(named).toBe(`${url.replace('127.0.0.1', 'localhost')}/api/manifest.schema.json`);
    const response = await fetch(`${url}${new URL(named).pathname}`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(response.headers.get('cache-control')).toBe('public, max-age=300');
    expect(await response.json()).toEqual(JSON.parse(JSON.stringify(manifestSchema())));
    expect((await send(`${PATH}?dryRun=true&prune=true`, text)).body).toMatchObject({ data: { changes: [] } });
    const document = (await (await fetch(`${url}/api/openapi.json`)).json()) as {
      paths: Record<
        string,
        Record<string, { security: unknown[]; requestBody?: { content: Record<string, unknown> } }>
      >;
      components: { schemas: Record<string, { properties: object }> };
    };
    expect(document.paths['/api/manifest.schema.json']?.get?.security).toEqual([]);
    expect(document.paths[PATH]?.post?.requestBody?.content['application/json']).toMatchObject({
      schema: { $ref: '#/components/schemas/Manifest' },
    });
    expect(Object.keys(document.components.schemas.Manifest?.properties ?? {})).toEqual(
      Object.keys(manifestSchema().properties as object),
    );
  });

  test('faults are 400 with the place of every issue, and with their common reason', async () => {
    const { status, body } = await send(
      PATH,
      'application: {code: studio}\nroles: [{code: /}, {code: lead, permissions: {zzz: edit}}]',
    );
    expect(status).toBe(400);
    expect(body).toMatchObject({
      success: false,
      code: 'BAD_REQUEST',
      details: {
        code: 'VALIDATION_FAILED',
        issues: [
          { path: 'roles.0.code', line: 2, column: 10 },
          { path: 'roles.1.permissions.zzz', line: 2, column: 47, code: 'UNKNOWN_REFERENCE' },
        ],
      },
    });
    const languages = await send(PATH, 'application: {code: studio, supportedLanguages: [xx]}');
    expect(languages.body).toMatchObject({ details: { code: 'UNKNOWN_LANGUAGES', languages: ['xx'] } });
    const type = await send(PATH, 'application: {code: studio}\npermissions: [{code: a, type: binary}]');
    expect([type.status, type.body]).toEqual([
      409,
      expect.objectContaining({ code: 'CONFLICT', details: expect.objectContaining({ code: 'TYPE_IN_USE' }) }),
    ]);
  });

  test.each<[string, string, Record<string, string>, string | Buffer, number]>([
    ['an unknown parameter', `${PATH}?dry=true`, {}, STUDIO, 400],
    ['a wrong parameter', `${PATH}?dryRun=yes`, {}, STUDIO, 400],
    ['a parameter twice', `${PATH}?dryRun=true&dryRun=false`, {}, STUDIO, 400],
    ['nothing', PATH, {}, '', 400],
    ['bytes that are not UTF-8', PATH, {}, Buffer.from([0x61, 0xff]), 400],
    ['another type', PATH, { 'content-type': 'text/plain' }, STUDIO, 415],
    ['another charset', PATH, { 'content-type': 'application/yaml; charset=latin1' }, STUDIO, 415],
    ['no token', PATH, { authorization: '' }, STUDIO, 401],
  ])('the manifest endpoint refuses %s', async (_, path, headers, text, status) => {
    expect((await send(path, text, headers)).status).toBe(status);
  });

  test('a manifest of 32 MiB is read, and one byte more is refused', async () => {
    const full = Buffer.alloc(32 * 1024 * 1024, '#');
    full.write(`${STUDIO}#`);
    expect((await send(`${PATH}?dryRun=true`, full)).status).toBe(200);
    expect((await send(`${PATH}?dryRun=true`, Buffer.concat([full, Buffer.from('#')]))).status).toBe(413);
  }, 60_000);

  test('SuperAdmins apply manifests, and viewers export them', async () => {
    const refused = await send(PATH, STUDIO, {}, 'nora@example.com');
    expect([refused.status, refused.body?.code]).toEqual([403, 'FORBIDDEN']);
    const audit = await query(app.database, `select actor from audit where action = 'manifest.applied.refused'`);
    expect(audit).toEqual([{ actor: 'user:nora@example.com' }]);

    const path = '/api/applications/studio/manifest';
    expect((await send(path, undefined, {}, 'nora@example.com')).status).toBe(200);
    const foreign = await send(path, undefined, {}, 'ada@example.com');
    const unknown = await send('/api/applications/nowhere/manifest', undefined, {}, 'ada@example.com');
    expect([foreign, unknown].map(({ status, body }) => [status, body?.details])).toEqual([
      [403, { code: 'NO_APPLICATION_LEVEL' }],
      [403, { code: 'NO_APPLICATION_LEVEL' }],
    ]);
    expect((await send('/api/applications/nowhere/manifest', undefined)).status).toBe(404);
  });

  test("a revoked SuperAdmin's next apply fails", async () => {
    await app.database.change((tx) => addSuperadmin(tx, 'second@example.com'));
    expect((await send(PATH, STUDIO, {}, 'second@example.com')).status).toBe(200);
    await app.database.change((tx) => removeSuperadmin(tx, 'second@example.com'));
    expect((await send(PATH, STUDIO, {}, 'second@example.com')).status).toBe(403);
  });

  test('templates are parsed before anything is written, and faults have their line of the manifest', async () => {
    const text = (subject: string, url: string) => `application: {code: letters, name: Letters}
templates:
  - type: generic
    locale: en
    subject: ${subject}
    html: <p>{{ name }}</p>
    url: ${url}
`;
    const bad = await send(PATH, text('"{{ name"', '/x'));
    expect(bad).toMatchObject({
      status: 400,
      body: {
        details: {
          issues: [
            {
              path: 'templates.0.subject',
              line: 5,
              column: 5,
              message: expect.stringMatching(/^does not parse: line 1, /),
            },
          ],
        },
      },
    });
    const evil = await send(PATH, text('Hello', 'javascript:alert(1)'));
    expect(evil).toMatchObject({ status: 400, body: { details: { issues: [{ path: 'templates.0.url' }] } } });
    expect(await query(app.database, `select id from application where code = 'letters'`)).toEqual([]);
    const made = await send(PATH, text('Hello', '/x'));
    expect(made.body).toMatchObject({ data: { summary: { create: 2 } } });
    const list = await send('/api/applications/letters/templates', undefined);
    expect(list.body).toMatchObject({ data: [{ type: 'generic', key: 'default', url: '/x', text: null }] });
  });
});
