/**
 * Writes the administration client of Python from the OpenAPI document of the routes: types.py with what is sent and answered, and
 * _operations.py with a method for each route, for threads and for asyncio. `npm run generate` runs it.
 */

import { writeFileSync } from 'node:fs';
import {
  type ClientDocument,
  type ClientOperation,
  clientDocument,
  type Parameter,
  type Schema,
} from './client-document.ts';

const JSON_TYPE = 'application/json';
const FOLDER = '../../clients/python/src/usher_client/admin/';
/** Names of headers as arguments. */
const HEADERS: Readonly<Record<string, string>> = {
  'usher-if-revision': 'if_revision',
  'usher-min-revision': 'min_revision',
  'if-match': 'if_match',
};
const KEYWORDS = new Set(
  'False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield'.split(
    ' ',
  ),
);
const WIDTH = 100;

const snake = (name: string) => name.replaceAll(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
const pascal = (name: string) =>
  name.replaceAll(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, letter: string) => letter.toUpperCase());
/** A type of the standard library has this name. */
const recordOf = (name: string) => (name === 'Error' ? 'ErrorBody' : name);
const quoted = (text: string) => JSON.stringify(text);
/** In a docstring. */
const said = (text: string) => text.replaceAll('\\', '\\\\').replaceAll('"""', "'''");

/** Classes of objects, each with a name that says where it stands. */
class Types {
  readonly written: string[] = [];
  readonly #names = new Set<string>();

  /** A schema as a type. `name` is for an object that has none. */
  of(schema: Schema | undefined, name: string): string {
    if (schema === undefined) return 'Any';
    if (schema.$ref !== undefined) return recordOf(schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1));
    if (schema.const !== undefined) return literal([schema.const]);
    if (schema.enum !== undefined) return literal(schema.enum);
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices !== undefined) {
      return union(choices.map((choice, index) => this.of(choice, index === 0 ? name : `${name}${index + 1}`)));
    }
    const types = schema.type === undefined ? [] : [schema.type].flat();
    return types.length === 0 ? 'Any' : union(types.map((type) => this.#named(type, schema, name)));
  }

  #named(type: string, schema: Schema, name: string): string {
    if (type === 'array') return `list[${this.of(schema.items, `${name}Item`)}]`;
    if (type === 'object') return this.#object(schema, name);
    return { string: 'str', integer: 'int', number: 'float', boolean: 'bool', null: 'None' }[type] ?? 'Any';
  }

  #object({ properties = {}, required = [], additionalProperties, description }: Schema, name: string): string {
    const members = Object.entries(properties);
    if (members.length === 0) {
      const each = typeof additionalProperties === 'object' ? this.of(additionalProperties, `${name}Value`) : 'Any';
      return `dict[str, ${each}]`;
    }
    if (this.#names.has(name)) throw new Error(`two types would be called ${name}`);
    this.#names.add(name);
    const typed = members.map(([member, schema]) => {
      const type = this.of(schema, name + pascal(member));
      return [member, required.includes(member) ? type : `NotRequired[${type}]`] as const;
    });
    this.written.push(classOf(name, typed, description));
    return name;
  }
}

function classOf(
  name: string,
  members: readonly (readonly [string, string])[],
  description: string | undefined,
): string {
  if (members.every(([member]) => /^[A-Za-z_]\w*$/.test(member) && !KEYWORDS.has(member))) {
    const doc = description === undefined ? [] : [`    """${said(description)}"""`, ''];
    return [`class ${name}(TypedDict):`, ...doc, ...members.map(([member, type]) => `    ${member}: ${type}`)].join(
      '\n',
    );
  }
  const lines = members.map(([member, type]) => `        ${quoted(member)}: ${quoted(type.replaceAll('"', "'"))},`);
  return [`${name} = TypedDict(`, `    ${quoted(name)},`, '    {', ...lines, '    },', ')'].join('\n');
}

function literal(values: readonly unknown[]): string {
  const texts = values
    .filter((value) => value !== null)
    .map((value) => (value === true ? 'True' : value === false ? 'False' : JSON.stringify(value)));
  const named = texts.length === 0 ? [] : [`Literal[${texts.join(', ')}]`];
  return union([...named, ...(values.includes(null) ? ['None'] : [])]);
}

/** Each member once, None last. */
function union(members: readonly string[]): string {
  const distinct = [...new Set(members)];
  return [...distinct.filter((one) => one !== 'None'), ...distinct.filter((one) => one === 'None')].join(' | ');
}

interface Method {
  readonly http: string;
  readonly path: string;
  readonly operation: ClientOperation;
  readonly data: string;
  /** Of a dry run, where it answers otherwise. */
  readonly dryRun: string | null;
  readonly body: { readonly type: string; readonly required: boolean } | null;
}

/** The payload of an answer, without its envelope. */
function payloadOf(schema: Schema | undefined): Schema | undefined {
  const { properties = {} } = schema ?? {};
  if (properties.success?.const === true) return properties.data;
  return properties.code?.const === 'OK' ? properties.response : schema;
}

function methodOf(http: string, path: string, operation: ClientOperation, types: Types): Method {
  const name = pascal(operation.operationId);
  const answers = Object.values(operation.responses).flatMap(({ content }) => {
    const { anyOf, ...schema } = content?.[JSON_TYPE]?.schema ?? {};
    return content === undefined ? [null] : (anyOf ?? [schema]).map((one) => payloadOf(one));
  });
  const isDry = (schema: Schema | null | undefined) => schema?.required?.includes('impact') === true;
  const own = answers.filter((schema) => !isDry(schema));
  const dry = answers.find(isDry);
  const body = operation.requestBody?.content?.[JSON_TYPE]?.schema;
  return {
    http: http.toUpperCase(),
    path,
    operation,
    data: union(
      own.map((schema, index) =>
        schema === null ? 'None' : types.of(schema, `${name}Answer${index === 0 ? '' : index + 1}`),
      ),
    ),
    dryRun: dry === undefined || dry === null ? null : types.of(dry, `${name}DryRun`),
    body:
      body === undefined
        ? null
        : { type: types.of(body, `${name}Body`), required: operation.requestBody?.required === true },
  };
}

interface Argument {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
}

const argumentOf = ({ name }: Pick<Parameter, 'name'>) => {
  const plain = HEADERS[name] ?? snake(name);
  return KEYWORDS.has(plain) ? `${plain}_` : plain;
};

function argumentsOf({ operation, body }: Method, types: Types): Argument[] {
  const given = operation.parameters.map((one) => ({
    name: argumentOf(one),
    type: types.of(one.schema, pascal(`${operation.operationId} ${one.name}`)),
    required: one.required,
  }));
  const sent = body === null ? [] : [{ name: 'body', ...body }];
  return [...given, ...sent].sort((a, b) => Number(b.required) - Number(a.required));
}

function definitionOf(method: Method, types: Types, isAsync: boolean): string[] {
  const { operation, data, dryRun, http, path, body } = method;
  const all = argumentsOf(method, types);
  const name = snake(operation.operationId);
  const head = (args: readonly Argument[], answer: string): string[] => {
    const shown = args.map(({ name: one, type, required }) =>
      required ? `${one}: ${type}` : `${one}: ${union([type, 'None'])} = None`,
    );
    const keyword = shown.length === 0 ? [] : ['*', ...shown];
    const line = `    ${isAsync ? 'async ' : ''}def ${name}(${['self', ...keyword].join(', ')}) -> Answer[${answer}]:`;
    if (line.length <= WIDTH) return [line];
    return [
      `    ${isAsync ? 'async ' : ''}def ${name}(`,
      ...['self', ...keyword].map((one) => `        ${one},`),
      `    ) -> Answer[${answer}]:`,
    ];
  };
  const valuesOf = (place: Parameter['in']) => {
    const members = operation.parameters.filter((one) => one.in === place);
    const nameOf = (one: Parameter) => (place === 'path' ? argumentOf(one) : one.name);
    return `{${members.map((one) => `${quoted(nameOf(one))}: ${argumentOf(one)}`).join(', ')}}`;
  };
  const doc = [
    `        """${said(operation.summary)}.`,
    '',
    `        ${said(operation.description ?? '').replaceAll(/\n+/g, '\n\n        ')}`,
    '        """',
  ];
  const call = [
    `        return ${isAsync ? 'await ' : ''}self._call(`,
    ...[
      quoted(http),
      quoted(path.replaceAll(/(?<=\{)\w+/g, (one) => argumentOf({ name: one }))),
      valuesOf('path'),
      valuesOf('query'),
      valuesOf('header'),
      body === null ? 'None' : 'body',
    ].map((one) => `            ${one},`),
    '        )',
  ];
  if (dryRun === null) return ['    @strictly', ...head(all, data), ...doc, ...call, ''];
  const rest = all.filter((one) => one.name !== 'dry_run');
  const rehearsing = { name: 'dry_run', type: 'Literal[True]', required: true };
  const real = { name: 'dry_run', type: 'Literal[False]', required: false };
  return [
    '    @overload',
    ...head([rehearsing, ...rest], dryRun).map((line, index, lines) =>
      index === lines.length - 1 ? `${line} ...` : line,
    ),
    '',
    '    @overload',
    ...head([...rest, real], data).map((line, index, lines) => (index === lines.length - 1 ? `${line} ...` : line)),
    '',
    '    @strictly',
    ...head(all, 'Any'),
    ...doc,
    ...call,
    '',
  ];
}

const MADE = 'Made by test/gateway/write-python-admin.ts from the routes of the gateway: do not edit.';

/** Both files, by name. */
export function pythonAdmin({ paths, components }: ClientDocument): Record<'types.py' | '_operations.py', string> {
  const types = new Types();
  for (const [name, schema] of Object.entries(components.schemas)) {
    const type = types.of(schema, recordOf(name));
    if (type !== recordOf(name))
      types.written.push(`${recordOf(name)}: TypeAlias = ${quoted(type.replaceAll('"', "'"))}`);
  }
  const methods = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([http, operation]) => methodOf(http, path, operation, types)),
  );
  const classes = (isAsync: boolean) => [
    `class ${isAsync ? 'Async' : ''}Operations:`,
    `    ${isAsync ? 'async ' : ''}def _call(`,
    '        self,',
    '        method: str,',
    '        path: str,',
    '        values: Mapping[str, object],',
    '        query: Mapping[str, object],',
    '        headers: Mapping[str, str | None],',
    '        body: object,',
    '    ) -> Answer[Any]:',
    '        raise NotImplementedError',
    '',
    ...methods.flatMap((method) => definitionOf(method, types, isAsync)),
  ];
  const operations = [
    `"""${MADE}"""`,
    '',
    'from __future__ import annotations',
    '',
    'from collections.abc import Mapping',
    'from typing import Any, Literal, overload',
    '',
    'from .._read import strictly',
    'from ._answer import Answer',
    'from .types import *',
    '',
    '',
    ...classes(false),
    '',
    ...classes(true),
  ];
  const head = [
    `"""What the methods of the administration take and answer, as JSON has it. ${MADE}"""`,
    '',
    'from __future__ import annotations',
    '',
    'from typing import Any, Literal',
    '',
    'from typing_extensions import NotRequired, TypeAlias, TypedDict',
    '',
    '',
  ];
  return {
    'types.py': `${head.join('\n')}\n${types.written.join('\n\n\n')}\n`,
    '_operations.py': `${operations.join('\n').trimEnd()}\n`,
  };
}

if (import.meta.main) {
  for (const [name, text] of Object.entries(pythonAdmin(await clientDocument()))) {
    writeFileSync(new URL(FOLDER + name, import.meta.url), text);
  }
}
