/**
 * Writes src/gen/api.ts: the requests and answers of the API as TypeScript, from the OpenAPI document of the routes, for the panel and
 * the command line. `npm run generate` runs it. The generators that others keep do not run on the compiler used here
 * (docs/adr/0018-the-panel.md).
 */

import { writeFileSync } from 'node:fs';
import { type OpenApiDocument, type Operation, openApiDocument } from '../../src/gateway/openapi/document.ts';
import { gatewayRoutes } from '../../src/gateway/routes.ts';

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
}

/** The language has a type `Error` of its own. */
function nameOf(schema: string): string {
  return schema === 'Error' ? 'ErrorBody' : schema;
}

/** A schema as a type. What a schema leaves open is `unknown`. */
function typeOf(schema: Schema | undefined): string {
  if (schema === undefined) return 'unknown';
  if (schema.$ref !== undefined) return nameOf(schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1));
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return unionOf(choices.map((choice) => typeOf(choice)));
  const types = schema.type === undefined ? [] : [schema.type].flat();
  return types.map((type) => typeNamed(type, schema)).join(' | ') || 'unknown';
}

/** Each member once; texts that are named say nothing beside any text. */
function unionOf(members: readonly string[]): string {
  const distinct = [...new Set(members)];
  return distinct.filter((member) => !(member.startsWith('"') && distinct.includes('string'))).join(' | ');
}

function typeNamed(type: string, schema: Schema): string {
  if (type === 'integer') return 'number';
  if (type === 'array') return `(${typeOf(schema.items)})[]`;
  return type === 'object' ? objectOf(schema) : type;
}

function objectOf({ properties = {}, required = [], additionalProperties }: Schema): string {
  const members = Object.entries(properties).map(
    ([name, property]) => `${JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${typeOf(property)}`,
  );
  if (members.length > 0) return `{ ${members.join('; ')} }`;
  return typeof additionalProperties === 'object' ? `Record<string, ${typeOf(additionalProperties)}>` : 'object';
}

/** The schema of a response's or a request's JSON. */
function jsonOf(part: unknown): Schema | undefined {
  return (part as { content?: Record<string, { schema?: Schema }> } | undefined)?.content?.['application/json']?.schema;
}

/** The payload without its envelope, and whether the answer has pages. Of a write with dry runs: the answer of the write. */
function payloadOf({ responses }: Operation): { out: string; paged: boolean } {
  const own = responses['204'] ?? responses['202'] ?? responses['201'] ?? responses['200'];
  const body = jsonOf(own);
  const schema = body?.anyOf?.[0]?.properties?.success === undefined ? body : body.anyOf[0];
  if (schema === undefined) return { out: 'undefined', paged: false };
  const { properties = {} } = schema;
  const enveloped = properties.success?.const === true || properties.code?.const === 'OK';
  return {
    out: typeOf(enveloped ? (properties.data ?? properties.response) : schema),
    paged: enveloped && 'page' in properties,
  };
}

function memberOf(operation: Operation): string {
  const parameters = operation.parameters as readonly { name: string; in: string; required: boolean; schema: Schema }[];
  const inputs = ['path', 'query'].map((place) => {
    const of = parameters.filter((one) => one.in === place);
    const members = of.map(
      ({ name, required, schema }) => `${JSON.stringify(name)}${required ? '' : '?'}: ${typeOf(schema)}`,
    );
    return `${place}: { ${members.join('; ')} }`;
  });
  const body = jsonOf(operation.requestBody);
  const { out, paged } = payloadOf(operation);
  return `{ ${inputs.join('; ')}; body: ${body === undefined ? 'undefined' : typeOf(body)}; out: ${out}; paged: ${paged} }`;
}

/** The parts of one operation, for those who call it. */
const OF_ONE = `/** The method and path of an operation, such as \`GET /api/users/{email}\`. */
export type Operation = keyof Api;
/** The payload of its answer. */
export type Out<K extends Operation> = Api[K]['out'];
/** A row of its list. */
export type Item<K extends Operation> = Out<K> extends readonly (infer T)[] ? T : never;
/** Texts and numbers of a query; what is undefined, null or empty is left out. */
export type Query<K extends Operation> = keyof Api[K]['query'] extends never
  ? Readonly<Record<string, never>>
  : { [N in keyof Api[K]['query']]?: Api[K]['query'][N] | number | boolean | null | undefined };
type PathOf<K extends Operation> = keyof Api[K]['path'] extends never
  ? { readonly path?: undefined }
  : { readonly path: { [N in keyof Api[K]['path']]: Api[K]['path'][N] | number } };
type BodyOf<K extends Operation> = Api[K]['body'] extends undefined
  ? { readonly body?: undefined }
  : { readonly body: Sent<Api[K]['body']> };
/** JSON leaves out what is undefined. */
type Sent<B> = { [N in keyof B]: object extends Pick<B, N> ? B[N] | undefined : B[N] };
export type Input<K extends Operation> = PathOf<K> & BodyOf<K> & { readonly query?: Query<K> };
`;

/** The whole file. */
export function apiTypes(document: OpenApiDocument): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, operation]) => `  '${method.toUpperCase()} ${path}': ${memberOf(operation)};`,
    ),
  );
  const { schemas = {} } = document.components as { schemas?: Record<string, Schema> };
  const records = Object.entries(schemas).map(([name, schema]) => `export type ${nameOf(name)} = ${typeOf(schema)};`);
  return [
    '/** Made by test/gateway/write-api-types.ts from the routes of the gateway: do not edit. */',
    '',
    ...records.sort(),
    '',
    '/** Requests and answers by method and path. `out` is the payload without its envelope. */',
    'export interface Api {',
    ...operations.sort(),
    '}',
    '',
    OF_ONE,
  ].join('\n');
}

if (import.meta.main) {
  const document = await openApiDocument(gatewayRoutes({ production: false }), '1.0');
  writeFileSync(new URL('../../src/gen/api.ts', import.meta.url), apiTypes(document));
}
