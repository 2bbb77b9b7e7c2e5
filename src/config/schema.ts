/** The JSON Schema of the configuration file, from the table of keys: editors complete and check the file with it. */

import { z } from 'zod';
import { KEYS } from './keys.ts';
import type { Key } from './kinds.ts';
import { fileVariable } from './secrets.ts';

type JsonSchema = Record<string, unknown>;
interface Section extends JsonSchema {
  properties: Record<string, JsonSchema>;
}

/** Draft 7, which editors support best. Accepts the same as the service: also values written as in the environment. */
export function configSchema(): JsonSchema {
  const root = section('object', 'The configuration of Usher.');
  for (const [name, key] of Object.entries<Key<unknown>>(KEYS)) {
    const path = name.split('.');
    const last = path.pop() ?? name;
    let at = root;
    for (const part of path) {
      // `http:` with nothing below it is allowed and has no effect.
      at.properties[part] ??= section(['object', 'null'], `Keys of ${part}.`);
      at = at.properties[part] as Section;
    }
    at.properties[last] = { ...shapeOf(key.schema), description: describe(key), ...defaultOf(key) };
  }
  return { $schema: 'http://json-schema.org/draft-07/schema#', title: 'Usher configuration', ...root };
}

function section(type: string | string[], description: string): Section {
  return { type, description, properties: {}, additionalProperties: false };
}

/** Links lead to the documentation, which an editor does not have. */
function describe(key: Key<unknown>): string {
  const ofFile = fileVariable(key);
  const orFile = ofFile === null ? '' : `, or ${ofFile} with the path of a file`;
  return `${key.about.replace(/\[([^\]]+)\]\([^)]*\)/g, '$1')} Variable: ${key.variable}${orFile}.`;
}

function defaultOf({ default: fallback }: Key<unknown>): JsonSchema {
  const isConstant = typeof fallback !== 'function' && fallback !== null && !(fallback instanceof Map);
  return isConstant ? { default: fallback } : {};
}

function shapeOf(schema: z.ZodType): JsonSchema {
  const {
    $schema: _dialect,
    examples: _examples,
    ...exact
  } = z.toJSONSchema(schema, { io: 'input', target: 'draft-7' });
  const shape = loosened(exact);
  switch (exact.type) {
    case 'boolean':
      return { enum: [true, false, 'true', 'false', 1, 0, '1', '0'] };
    case 'integer':
      return { anyOf: [shape, { type: 'string', pattern: integersAsText(exact) }] };
    // The only ones are shares, from 0 to 1.
    case 'number':
      return { anyOf: [shape, { type: 'string', pattern: '^\\s*(?:0+(?:\\.\\d+)?|0*1(?:\\.0+)?)\\s*$' }] };
    // As text: a list with commas, an object and a list of objects as JSON.
    case 'array':
      if ((exact.items as JsonSchema).type === 'object')
        return { anyOf: [exact, { type: 'string', pattern: '^\\s*\\[' }] };
      return { anyOf: [shape, TEXT] };
    case 'object':
      return { anyOf: [shape, { ...TEXT, type: 'string' }] };
    default:
      return shape;
  }
}

/** Whole numbers of a range that does not go below 0. */
function integersAsText({ minimum, maximum }: JsonSchema): string {
  return `^\\s*(?!0*(?:${digitsFrom(Number(maximum) + 1)})\\s*$)0*(?:${digitsFrom(Number(minimum))})\\s*$`;
}

/** The numbers from `least` on, without leading zeros: those of more digits, those above it by one of its digits, and itself. */
function digitsFrom(least: number): string {
  if (least <= 0) return '\\d+';
  const text = String(least);
  const above = Array.from(text, (digit, at) =>
    digit === '9' ? [] : [`${text.slice(0, at)}[${Number(digit) + 1}-9]\\d{${text.length - at - 1}}`],
  );
  return [`[1-9]\\d{${text.length},}`, ...above.flat(), text].join('|');
}

/** Text may be written as a number, which is read digit by digit, and is never blank. */
const TEXT = { type: ['string', 'number', 'boolean'], pattern: '\\S' };

function loosened(exact: JsonSchema): JsonSchema {
  const { examples: _examples, items, additionalProperties: values, ...shape } = exact;
  const isText = shape.type === 'string' && shape.enum === undefined && shape.pattern === undefined;
  return {
    ...shape,
    ...(isText ? TEXT : {}),
    ...(items === undefined ? {} : { items: loosened(items as JsonSchema) }),
    ...(values === undefined ? {} : { additionalProperties: loosened(values as JsonSchema) }),
  };
}
