/** The OpenAPI document as one page for people, without scripts, fonts or external requests. */

import { escapeHtml } from '../../delivery/layout.ts';
import { Html, html, raw } from '../pages/html.ts';
import { pagePolicy } from '../pages/policies.ts';
import type { JsonSchema } from '../route/envelopes.ts';
import type { OpenApiDocument, Operation } from './document.ts';

const STYLE = `
:root{color-scheme:light dark;--ink:#1c2330;--soft:#5b6577;--line:#dfe3ea;--ground:#fff;--code:#f5f7fa;--get:#1f6f43;--post:#1d4f91;--put:#8a5a00;--patch:#6b3fa0;--delete:#a32626}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ef;--soft:#9aa5b8;--line:#2c3442;--ground:#12161d;--code:#1a2029;--get:#5fc48e;--post:#7fb2f5;--put:#e0b155;--patch:#c09bf0;--delete:#f08a8a}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,sans-serif}
main{max-width:60rem;margin:0 auto;padding:2rem 1.25rem 6rem}
h1{font-size:1.9rem;margin:0}
h2{margin:3rem 0 .25rem;font-size:1.35rem}
h3{overflow-wrap:anywhere;margin:0;font-size:1rem;font-weight:600;display:flex;gap:.75rem;align-items:baseline;flex-wrap:wrap}
h4{margin:1.25rem 0 .35rem;font-size:.8rem;text-transform:uppercase;letter-spacing:.06em;color:var(--soft)}
p{margin:.5rem 0}
a{color:inherit}
code,pre{font:13.5px/1.5 ui-monospace,monospace}
code{background:var(--code);border-radius:4px;padding:.1em .35em;overflow-wrap:anywhere}
pre{background:var(--code);border:1px solid var(--line);border-radius:8px;padding:.8rem 1rem;overflow-x:auto;margin:.4rem 0}
pre code{background:none;padding:0}
nav ul{list-style:none;padding:0;margin:.5rem 0;columns:2;column-gap:2rem}
nav li{break-inside:avoid;padding:.12rem 0;overflow-wrap:anywhere}
a:focus-visible{outline:3px solid var(--put);outline-offset:2px}
article{border:1px solid var(--line);border-radius:10px;padding:1rem 1.25rem;margin:1rem 0}
table{border-collapse:collapse;width:100%}
td,th{overflow-wrap:anywhere;text-align:left;vertical-align:top;padding:.35rem .75rem .35rem 0;border-bottom:1px solid var(--line)}
th{font-size:.8rem;color:var(--soft);font-weight:600}
.soft{color:var(--soft)}
.verb{font:600 .8rem ui-monospace,monospace;min-width:4.2em}
.get{color:var(--get)}.post{color:var(--post)}.put{color:var(--put)}.patch{color:var(--patch)}.delete{color:var(--delete)}
@media(max-width:40rem){nav ul{columns:1}article{padding:1rem}table,tbody,td,th{display:block;min-width:0}td,th{padding:.2rem 0;border:0}td:empty{display:none}tr{display:block;padding:.35rem 0;border-bottom:1px solid var(--line)}}
`;

export const docsPage = {
  /** Only the page's own style sheet may load. */
  headers: { 'content-security-policy': pagePolicy({ style: STYLE }) },
  render,
} as const;

interface Entry {
  method: string;
  path: string;
  operation: Operation;
}

function render(document: OpenApiDocument): string {
  const { info, tags } = document as unknown as {
    info: { title: string; version: string; description: string };
    tags: { name: string; description: string }[];
  };
  const entries = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Entry => ({ method, path, operation })),
  );
  const of = (tag: string) => entries.filter(({ operation }) => operation.tags.includes(tag));
  const groups = tags.map(
    ({ name, description }) =>
      html`<h2 id="${name}">${name}</h2><p class="soft">${description}</p>${of(name).map(article(document))}`,
  );
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title} API</title><style>${raw(STYLE)}</style></head>
<body><main>
<h1>${info.title} API <span class="soft">${info.version}</span></h1>
<p>${info.description}</p>
<p class="soft">For programs: <a href="/api/openapi.json">/api/openapi.json</a> (OpenAPI 3.1). Every error has one shape:</p>
<pre><code>{"success": false, "code": "BAD_REQUEST", "message": "…", "details": {"code": "VALIDATION_FAILED", "issues": [{"path": "app", "message": "…"}]}, "requestId": "…"}</code></pre>
<nav>${tags.map(
    ({ name }) =>
      html`<h4>${name}</h4><ul>${of(name).map(
        ({ method, path, operation }) =>
          html`<li><span class="verb ${method}">${method.toUpperCase()}</span> <a href="#${operation.operationId}">${path}</a></li>`,
      )}</ul>`,
  )}</nav>
${groups}
<h2 id="records">Records</h2><p class="soft">Shared parts of bodies and answers, by name.</p>
${Object.entries(schemasOf(document)).map(([name, schema]) => record(document, name, schema))}
</main></body></html>
`.text;
}

const article =
  (document: OpenApiDocument) =>
  ({ method, path, operation }: Entry): Html =>
    html`<article id="${operation.operationId}">
<h3><span class="verb ${method}">${method.toUpperCase()}</span> <code>${path}</code> <span class="soft">${operation.summary}</span></h3>
${(operation.description ?? '').split('\n\n').map((paragraph) => html`<p>${prose(paragraph)}</p>`)}
${parameters(operation)}${body(document, operation.requestBody)}
<h4>Answers</h4><table><tbody>${Object.entries(operation.responses).map(
      ([status, response]) => html`<tr><td><code>${status}</code></td><td>${answer(document, response)}</td></tr>`,
    )}</tbody></table></article>
`;

function schemasOf({ components }: OpenApiDocument): Record<string, JsonSchema> {
  return (components as { schemas: Record<string, JsonSchema> }).schemas;
}

function record(document: OpenApiDocument, name: string, schema: JsonSchema): Html {
  return html`<article id="record-${name}"><h3><code>${name}</code></h3>${fieldTable(document, schema)}</article>
`;
}

function parameters(operation: Operation): Html {
  if (operation.parameters.length === 0) return html``;
  const rows = operation.parameters.map(({ name, in: place, required, description, schema }) => {
    const note = `${textOf(place)}${required === true ? ', required' : ''}`;
    return html`<tr><td><code>${textOf(name)}</code></td><td class="soft">${note}</td><td><code>${typeOf(schema)}</code> ${prose(textOf(description))}</td></tr>`;
  });
  return html`<h4>Parameters</h4><table><tbody>${rows}</tbody></table>`;
}

interface Content {
  content?: Record<string, { schema?: JsonSchema; example?: unknown }>;
  description?: string;
}

function body(document: OpenApiDocument, part: JsonSchema | undefined): Html {
  if (part === undefined) return html``;
  return html`<h4>Body</h4>${contents(document, part as Content)}`;
}

function answer(document: OpenApiDocument, response: JsonSchema): Html {
  const resolved = resolve(document, response) as Content;
  const isError = '$ref' in response;
  return html`${prose(resolved.description ?? '')}${isError ? html`` : contents(document, resolved)}`;
}

function contents(document: OpenApiDocument, { content = {} }: Content): Html[] {
  return Object.entries(content).map(([media, { schema, example }]) => {
    const shown = example === undefined ? html`` : html`<pre><code>${JSON.stringify(example, null, 2)}</code></pre>`;
    return html`<p class="soft">${media}</p>${fieldTable(document, schema)}${shown}`;
  });
}

/** The fields of an object, or of the record that a reference names. */
function fieldTable(document: OpenApiDocument, schema: JsonSchema | undefined): Html {
  const fields = fieldsOf(schema === undefined ? undefined : (resolve(document, schema) as JsonSchema));
  if (fields.length === 0) return html``;
  return html`<table><tbody>${fields.map(
    ({ name, type, required, description }) =>
      html`<tr><td><code>${name}</code></td><td class="soft">${required ? 'required' : ''}</td><td><code>${type}</code> ${prose(description)}</td></tr>`,
  )}</tbody></table>`;
}

interface Field {
  name: string;
  type: string;
  required: boolean;
  description: string;
}

function fieldsOf(schema: JsonSchema | undefined): Field[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, property]) => ({
    name,
    type: typeOf(property),
    required: required.includes(name),
    description: textOf(property.description),
  }));
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** A schema in a few words: `string | null`, `"view" | "edit"`, `{code, granted}[]`. */
function typeOf(schema: unknown): string {
  if (typeof schema !== 'object' || schema === null) return 'any';
  const { type, enum: values, const: value, anyOf, items, properties, $ref } = schema as Record<string, unknown>;
  if (typeof $ref === 'string') return $ref.slice($ref.lastIndexOf('/') + 1);
  if (value !== undefined) return JSON.stringify(value);
  if (Array.isArray(values)) return values.map((one) => JSON.stringify(one)).join(' | ');
  if (Array.isArray(anyOf)) return anyOf.map(typeOf).join(' | ');
  if (type === 'array') return `${typeOf(items)}[]`;
  if (properties !== undefined) return `{${Object.keys(properties as object).join(', ')}}`;
  return Array.isArray(type) ? type.join(' | ') : textOf(type) || 'any';
}

function resolve(document: OpenApiDocument, value: JsonSchema): unknown {
  if (typeof value.$ref !== 'string') return value;
  return value.$ref
    .slice(2)
    .split('/')
    .reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], document);
}

/** Descriptions are plain sentences with `code` in them. */
function prose(text: string): Html {
  return new Html(escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>'));
}
