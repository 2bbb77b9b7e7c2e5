/**
 * What the clients of the administration are made from: the OpenAPI document without what a client has no use for, so that an answer
 * is the answer of a success. With a path as argument it is written there, for openapi-typescript (`npm run generate`).
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Operation, openApiDocument } from '../../src/gateway/openapi/document.ts';
import { gatewayRoutes } from '../../src/gateway/routes.ts';

const JSON_TYPE = 'application/json';
/** Given by the clients themselves, and encoded by them. */
const OWN_HEADERS = ['usher-reason', 'if-none-match', 'last-event-id', 'accept-language'];

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly description?: string;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header' | 'cookie';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

interface Part {
  readonly required?: boolean;
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

export interface ClientOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string | undefined;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: Part;
  /** Of successes alone. */
  readonly responses: Readonly<Record<string, Part & { readonly description: string }>>;
}

export interface ClientDocument {
  readonly openapi: string;
  readonly info: unknown;
  readonly paths: Readonly<Record<string, Readonly<Record<string, ClientOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Of a production, whose document has no routes for development. */
export async function clientDocument(): Promise<ClientDocument> {
  const { openapi, info, paths, components } = await openApiDocument(gatewayRoutes({ production: true }), '1.0');
  const kept = Object.entries(paths).map(([path, methods]) => {
    const operations = Object.entries(methods).flatMap(([method, operation]) => {
      const trimmed = trimmedOf(operation);
      return trimmed === null ? [] : [[method, trimmed] as const];
    });
    return [path, Object.fromEntries(operations)] as const;
  });
  const { schemas } = components as { readonly schemas: Readonly<Record<string, Schema>> };
  return {
    openapi: String(openapi),
    info,
    paths: Object.fromEntries(kept.filter(([, methods]) => Object.keys(methods).length > 0)),
    components: { schemas },
  };
}

/** Null of what is no matter of JSON, such as pages for people, streams, images and what needs no credentials. */
function trimmedOf({ operationId, summary, description, security, ...operation }: Operation): ClientOperation | null {
  const body = operation.requestBody as Part | undefined;
  const successes = Object.entries(
    operation.responses as unknown as Readonly<Record<string, Part & { description: string }>>,
  ).filter(([status]) => status.startsWith('2'));
  const isJson = successes.every(([, { content }]) => content === undefined || JSON_TYPE in content);
  const isCallers = security.some((scheme) => 'bearer' in scheme || 'internalKey' in scheme);
  if (!isCallers || !isJson || (body?.content !== undefined && !(JSON_TYPE in body.content))) return null;
  const parameters = (operation.parameters as unknown as readonly Parameter[]).filter(
    (one) => one.in !== 'cookie' && !OWN_HEADERS.includes(one.name),
  );
  return {
    operationId,
    summary,
    ...(description === undefined ? {} : { description }),
    parameters,
    ...(body === undefined ? {} : { requestBody: jsonOf(body) }),
    responses: Object.fromEntries(
      successes.map(([status, part]) => [status, { description: part.description, ...jsonOf(part) }]),
    ),
  };
}

function jsonOf({ required, content }: Part): Part {
  const own = content?.[JSON_TYPE];
  return {
    ...(required === undefined ? {} : { required }),
    ...(own === undefined ? {} : { content: { [JSON_TYPE]: { schema: own.schema } } }),
  };
}

if (import.meta.main) {
  const [file] = process.argv.slice(2);
  if (file === undefined) throw new Error('usage: client-document.ts FILE');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(await clientDocument(), null, 2));
}
