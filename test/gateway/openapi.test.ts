import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { ERROR_TABLE } from '../../src/base/errors.ts';
import { product } from '../../src/base/product.ts';
import { type OpenApiDocument, openApiDocument } from '../../src/gateway/openapi/document.ts';
import { bare, noContent, successData } from '../../src/gateway/route/envelopes.ts';
import { key, open, signedIn } from '../../src/gateway/route/guards.ts';
import { defineRoute, type Route } from '../../src/gateway/route/route.ts';
import { gatewayRoutes } from '../../src/gateway/routes.ts';
import { createApiKeys, type KeyScope } from '../../src/identity/api-keys.ts';
import { ask, useWorld } from './fixture.ts';

const world = useWorld({ services: { developmentSignIn: { code: 'code' } } });
const routes = gatewayRoutes({ production: true });
const document = await openApiDocument(routes, product().version);

const pathOf = (route: Route): string => route.path.replaceAll(/:(\w+)/g, '{$1}');

/** Every value of the document, with where it stands. */
function* walk(value: unknown, at = '#'): Generator<[string, unknown]> {
  yield [at, value];
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) yield* walk(member, `${at}/${name}`);
}

function resolve(reference: string): unknown {
  return reference
    .slice(2)
    .split('/')
    .reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], document);
}

describe('the OpenAPI document', () => {
  test('the OpenAPI document has every mounted route, and nothing else', () => {
    const mounted = routes.map((route) => `${route.method} ${pathOf(route)}`).sort();
    const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
    expect(documented.sort()).toEqual(mounted);
  });

  test('the OpenAPI document is served as made from the mounted routes', async () => {
    const reply = await ask(`${world.url}/api/openapi.json`);
    expect(reply.status).toBe(200);
    expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(reply.json).toEqual(
      JSON.parse(JSON.stringify(await openApiDocument(gatewayRoutes({ production: false }), product().version))),
    );
    for (const [path, methods] of Object.entries((reply.json as OpenApiDocument).paths)) {
      for (const method of Object.keys(methods)) {
        const { status } = await ask(world.url + path.replaceAll(/\{\w+\}/g, 'x'), { method: method.toUpperCase() });
        expect([path, method, status]).not.toEqual([path, method, 404]);
        expect([path, method, status]).not.toEqual([path, method, 405]);
      }
    }
  });

  test('says to generators of clients what a number, a flag and a body are', () => {
    const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
    const parameters = operations.flatMap((operation) => operation.parameters) as {
      name: string;
      in: string;
      schema: { type?: string; enum?: unknown[]; minimum?: number; maximum?: number };
    }[];
    const inQuery = parameters.filter((one) => one.in === 'query');
    expect(inQuery.filter(({ schema }) => schema.type === 'boolean').length).toBeGreaterThan(20);
    expect(inQuery.filter(({ schema }) => schema.enum?.includes('true') === true)).toEqual([]);
    for (const name of ['limit', 'hours']) {
      const numbers = inQuery.filter((one) => one.name === name);
      expect(numbers.length).toBeGreaterThan(0);
      for (const { schema } of numbers) {
        expect(schema).toMatchObject({ type: 'integer', minimum: 1, maximum: expect.any(Number) });
        expect(schema.enum).toBeUndefined();
      }
    }
    // Lenient by intent (docs/reference/http.md#bodies): AuthZEN, a browser's subscription, and what a provider sends.
    const lenient = /^(?:evaluate|evaluateAll|search\w+|subscribeToPushes|receive\w+|sendProviderEmail)$/;
    const closed = operations.filter(({ operationId, requestBody }) => {
      const content = requestBody?.content as Record<string, { schema: Record<string, unknown> }> | undefined;
      const { type, $ref, additionalProperties } = content?.['application/json']?.schema ?? {};
      if (lenient.test(operationId) || (type !== 'object' && $ref === undefined)) return false;
      const schema = typeof $ref === 'string' ? (resolve($ref) as Record<string, unknown>) : { additionalProperties };
      expect([operationId, schema.additionalProperties]).toEqual([operationId, false]);
      return true;
    });
    expect(closed.length).toBeGreaterThan(40);
    for (const { requestBody, responses } of operations) {
      for (const part of [requestBody, ...Object.values(responses)]) {
        const media = Object.keys((part?.content ?? {}) as object);
        if (media.includes('application/json')) expect(media[0]).toBe('application/json');
      }
    }
    // Go's generator makes functions New… of schemas and Has… of fields, and has no type for a value that is null alone.
    const names = Object.keys((document.components as { schemas: object }).schemas);
    expect(names.filter((name) => names.includes(`New${name}`))).toEqual([]);
    for (const [at, value] of walk(document)) {
      const fields = Object.keys((at.endsWith('/properties') ? value : null) ?? {});
      expect([at, fields.filter((name) => fields.includes(`has${name[0]?.toUpperCase()}${name.slice(1)}`))]).toEqual([
        at,
        [],
      ]);
    }
    const nulls = [...walk(document)].filter(
      ([at, value]) => (value as { type?: unknown } | null)?.type === 'null' && !/\/(?:anyOf|oneOf)\/\d+$/.test(at),
    );
    expect(nulls.map(([at]) => at)).toEqual([]);
    expect(JSON.stringify(document).match(/"dependentRequired"/g)?.length).toBeGreaterThan(5);
  });

  test('the OpenAPI document is valid 3.1, with resolving references and path parameters', () => {
    expect(document).toMatchObject({
      openapi: '3.1.0',
      info: { title: 'Usher', version: expect.stringMatching(/^\d+\.\d+\.\d+$/) },
    });
    for (const [at, value] of walk(document)) {
      if (at.endsWith('/$ref')) expect([at, typeof resolve(String(value))]).toEqual([at, 'object']);
      expect(at).not.toMatch(/\/\$(schema|defs)$/);
    }
    const ids = new Set<string>();
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const operation of Object.values(methods)) {
        expect(ids.has(operation.operationId)).toBe(false);
        ids.add(operation.operationId);
        expect(operation.operationId).toMatch(/^[a-z][a-z]+([A-Z][a-z]+)*$/);
        expect(operation.summary).toMatch(/^[A-Z].*[^.]$/);
        expect(operation.description).toMatch(/\.$/);
        const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
        const declared = operation.parameters.filter((parameter) => parameter.in === 'path');
        expect(declared.map(({ name, required }) => [name, required])).toEqual(inPath.map((name) => [name, true]));
        for (const response of Object.values(operation.responses)) {
          const described = (typeof response.$ref === 'string' ? resolve(response.$ref) : response) as object;
          expect(described).toHaveProperty('description', expect.stringMatching(/./));
        }
      }
    }
  });

  test("the OpenAPI document lists used security schemes, and each guard's refusals", () => {
    const { securitySchemes } = document.components as { securitySchemes: Record<string, unknown> };
    for (const route of routes) {
      const operation = document.paths[pathOf(route)]?.[route.method];
      const used = (operation?.security ?? []).flatMap((one) => Object.keys(one));
      expect(used).toEqual([route.guard.scheme, route.guard.alternative].filter((one) => typeof one === 'string'));
      for (const scheme of used) expect(securitySchemes).toHaveProperty(scheme);
      const statuses = Object.keys(operation?.responses ?? {});
      if (route.guard.kind !== 'open') expect(statuses).toEqual(expect.arrayContaining(['401', '403']));
      expect(statuses).toEqual(expect.arrayContaining(['400', '429', '500', '503', ...route.statuses.map(String)]));
      if (route.method !== 'get') expect(statuses).toEqual(expect.arrayContaining(['413', '415']));
    }
  });

  test('the OpenAPI document tells which key surfaces are open without keys', () => {
    const none = createApiKeys({ production: false, internal: { apiKeys: [] } });
    const guarded = routes.filter(({ guard }) => guard.kind === 'key' && guard.alternative === undefined);
    expect(guarded.length).toBeGreaterThan(6);
    for (const { guard, method, path } of guarded) {
      const scope = /^key\((\w+)\)$/.exec(guard.name)?.[1] as KeyScope;
      let open = true;
      try {
        none.authorize(undefined, scope);
      } catch {
        open = false;
      }
      const says = guard.description.includes('where keys are configured');
      expect({ method, path, open: says }).toEqual({ method, path, open });
    }
  });

  test('the OpenAPI document has the one error shape, with every code and reason', () => {
    const { Error: error } = (document.components as { schemas: Record<string, never> }).schemas as never as {
      Error: { properties: { code: { enum: string[] }; details: { properties: { code: { enum: string[] } } } } };
    };
    // 503 is UNAVAILABLE on this door, whatever made it.
    expect(error.properties.code.enum).toEqual(
      Object.keys(ERROR_TABLE.codes).filter((code) => code !== 'DEADLINE_EXCEEDED'),
    );
    expect(error.properties.details.properties.code.enum).toEqual(Object.keys(ERROR_TABLE.reasons));
  });

  test('examples in the OpenAPI document match the validating schemas', () => {
    let seen = 0;
    for (const { path, body, response, example, envelope } of routes) {
      // A manifest, and a signed body, are not JSON bodies with a schema.
      if (example.body !== undefined && body?.schema) {
        seen++;
        expect([path, body.schema.safeParse(example.body).success]).toEqual([path, true]);
      }
      if (example.response !== undefined && envelope.kind === 'value') {
        seen++;
        expect([path, response?.safeParse(example.response).success]).toEqual([path, true]);
      }
    }
    expect(seen).toBeGreaterThan(10);
  });

  test('records have names, which every list and answer of them refers to', () => {
    const { schemas } = document.components as { schemas: Record<string, { type?: string }> };
    const records = [
      'User',
      'UserDetail',
      'Application',
      'ListedApplication',
      'AuditRecord',
      'Role',
      'Permission',
      'Entity',
    ];
    const others = [
      'Brand',
      'NotificationType',
      'Template',
      'Override',
      'Language',
      'Profile',
      'InboxNotification',
      'Impact',
    ];
    for (const name of [...records, ...others]) expect([name, schemas[name]?.type]).toEqual([name, 'object']);
    const text = JSON.stringify(document);
    for (const name of Object.keys(schemas)) expect(text).toContain(`"#/components/schemas/${name}"`);
    // The items of a list are records.
    const inline = routes.filter(({ method, path }) => {
      const { content } = (document.paths[path.replaceAll(/:(\w+)/g, '{$1}')]?.[method]?.responses[200] ?? {}) as {
        content?: Record<string, { schema: { properties?: Record<string, { items?: object }> } }>;
      };
      const { data, response } = content?.['application/json']?.schema.properties ?? {};
      return [data, response].some((payload) => payload?.items !== undefined && 'properties' in payload.items);
    });
    expect(inline.map(({ path }) => path)).toEqual([]);
  });

  test('every required body has an example', () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, { requestBody }] of Object.entries(methods)) {
        if (requestBody?.required !== true) continue;
        for (const content of Object.values(requestBody.content as object)) {
          expect([method, path, content]).toEqual([
            method,
            path,
            expect.objectContaining({ example: expect.anything() }),
          ]);
        }
      }
    }
  });

  test('bodies refuse unknown fields in the OpenAPI document, too', async () => {
    // Bodies that the identity provider makes are read leniently (docs/reference/decisions.md#strict-questions).
    const lenient = ['/api/idp/webhook', '/api/idp/notifications/email'];
    // AuthZEN's standard asks for it to be so.
    const strict = routes.filter(({ path, tag }) => tag !== 'AuthZEN' && !lenient.includes(path));
    for (const { path, body } of strict) {
      if (!body?.schema) continue;
      const { $ref, $defs, ...inline } = await body.describe('application/json');
      const schema =
        typeof $ref === 'string' ? ($defs as Record<string, object>)[$ref.replace('#/$defs/', '')] : inline;
      expect([path, schema]).toEqual([path, expect.objectContaining({ additionalProperties: false })]);
    }
  });
});

describe('building the documentation', () => {
  const base = {
    method: 'post',
    operation: 'try',
    tag: 'Operations',
    summary: 'Try',
    guard: open,
    status: 200,
  } as const;

  test('shared schemas become components, and two under one name are a fault', async () => {
    const named = (id: string, more: object = {}) => z.object({ id: z.int(), ...more }).meta({ id });
    const route = (path: `/${string}`, schema: z.ZodType): Route =>
      defineRoute({
        ...base,
        path,
        operation: `try${path.slice(1)}`,
        envelope: successData,
        response: z.array(schema),
        handle: () => [],
      });
    const Thing = named('TestThing');
    const made = await openApiDocument([route('/a', Thing), route('/b', Thing)], '1');
    const { schemas } = made.components as { schemas: Record<string, unknown> };
    expect(schemas.TestThing).toMatchObject({ type: 'object', properties: { id: { type: 'integer' } } });
    const text = JSON.stringify(made.paths);
    expect(text.match(/#\/components\/schemas\/TestThing/g)).toHaveLength(2);
    z.globalRegistry.remove(Thing);
    const other = openApiDocument.bind(
      null,
      [route('/a', Thing.meta({ id: 'TestThing' })), route('/b', z.object({ x: z.string() }))],
      '1',
    );
    await expect(other()).resolves.toBeDefined();
  });

  test('a route that contradicts itself does not load', () => {
    const empty = { ...base, envelope: noContent, handle: () => undefined };
    expect(() => defineRoute({ ...empty, path: '/a/:b' })).toThrow('name different parameters');
    expect(() => defineRoute({ ...empty, path: '/a', limit: 'list' })).toThrow('belongs to a JSON body');
    expect(() => defineRoute({ ...empty, path: '/a', method: 'get', body: z.strictObject({}) })).toThrow(
      'takes no body',
    );
    expect(() => defineRoute({ ...base, path: '/a', envelope: bare, handle: () => undefined })).toThrow(
      'response schema',
    );
  });

  test('a route without a guard does not compile', () => {
    const { guard: _guard, ...unguarded } = base;
    // @ts-expect-error: `guard` is not optional.
    defineRoute({ ...unguarded, path: '/a', envelope: noContent, handle: () => undefined });
    defineRoute({
      ...base,
      path: '/a',
      guard: signedIn,
      envelope: bare,
      response: z.string(),
      // @ts-expect-error: the caller is a person, who has no `name` of a key that is certain.
      handle: (_services, { caller }) => caller.name,
    });
    defineRoute({
      ...base,
      path: '/a',
      guard: key('check'),
      envelope: bare,
      response: z.object({ n: z.int() }),
      // @ts-expect-error: the answer is not what the document says.
      handle: () => ({ m: 1 }),
    });
    expect(Object.keys(unguarded)).not.toContain('guard');
  });
});
