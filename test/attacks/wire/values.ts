/** Values that have broken somebody's parser, and bodies made of them, from one seeded source. */
import type { Random } from '../../oracle/world.ts';
import { pick } from '../../oracle/world.ts';

export const KNOWN = {
  emails: ['admin@example.com', 'ann@example.com', 'nobody@example.com'],
  codes: ['auth', 'shop', 'orders.read', 'reader', 'generic', 'invoice', 'en', 'default', 'inbox'],
  ids: ['1', '2', '3', '999999'],
};

const TEXTS: readonly string[] = [
  '',
  ' ',
  '0',
  '-1',
  'null',
  'true',
  '__proto__',
  'constructor',
  'toString',
  '../../etc/passwd',
  '..%2f..%2f',
  '%00',
  '%ff',
  '%',
  '\u0000',
  '\u007f',
  '\r\nset-cookie: a=b',
  '\ud800',
  '\ufeff',
  'K\u212aate@example.com',
  '"a b"@example.com',
  'a@b@c',
  "'; drop table person; --",
  '{{ 7 | times: 7 }}',
  '{% for a in (1..100000000) %}{{ a }}{% endfor %}',
  '{{ user.constructor }}',
  '#{7*7}',
  '<script>alert(1)</script>',
  'javascript:alert(1)',
  'https://user:pw@example.com/',
  'http://169.254.169.254/latest/meta-data',
  'http://[::ffff:127.0.0.1]:1/',
  '9'.repeat(40),
  '1e309',
  '\u202eabc',
  'é漢😀',
  'x'.repeat(300),
  'x'.repeat(5000),
  '!!js/function "x"',
  '&a [*a, *a]',
  '2026-13-45T99:99:99Z',
];

export function junkText(random: Random): string {
  if (random(4) > 0) return pick(random, TEXTS);
  return Array.from({ length: random(20) }, () => String.fromCharCode(random(random(3) === 0 ? 0x10000 : 0x80))).join(
    '',
  );
}

export function text(random: Random): string {
  if (random(6) === 0) return junkText(random);
  return pick(random, [...KNOWN.emails, ...KNOWN.codes, ...KNOWN.ids]);
}

export function junk(random: Random, depth = 0): unknown {
  switch (random(depth > 3 ? 6 : 8)) {
    case 0:
      return null;
    case 1:
      return random(2) === 0;
    case 2:
      return pick(random, [0, -1, 1.5, 1e308, -0, 2 ** 53, 2 ** 31, 1, 2, 3]);
    case 6:
      return Array.from({ length: random(4) }, () => junk(random, depth + 1));
    case 7:
      return Object.fromEntries(Array.from({ length: random(4) }, () => [text(random), junk(random, depth + 1)]));
    default:
      return text(random);
  }
}

/** As far as it is needed of a JSON schema. */
export interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  enum?: readonly unknown[];
  const?: unknown;
  anyOf?: readonly Schema[];
  minimum?: number;
}

/** A value that mostly fits the schema. */
export function fitting(random: Random, schema: Schema, depth = 0): unknown {
  if (random(30) === 0) return junk(random);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return pick(random, schema.enum);
  if (schema.anyOf !== undefined) return fitting(random, pick(random, schema.anyOf), depth);
  const type = Array.isArray(schema.type) ? pick(random, schema.type) : schema.type;
  switch (type) {
    case 'object': {
      const members = Object.entries(schema.properties ?? {})
        .filter(() => random(4) > 0)
        .map(([name, member]) => [name, fitting(random, member, depth + 1)]);
      if (random(10) === 0) members.push([text(random), junk(random)]);
      return Object.fromEntries(members);
    }
    case 'array':
      return Array.from({ length: random(4) }, () => fitting(random, schema.items ?? {}, depth + 1));
    case 'integer':
    case 'number':
      return random(5) === 0 ? junk(random) : 1 + random(4);
    case 'boolean':
      return random(2) === 0;
    case 'null':
      return null;
    default:
      return text(random);
  }
}

/** A body's bytes, now and then spoiled: cut, changed, nested, doubled, in another encoding. */
export function spoiled(random: Random, body: Buffer): Buffer {
  switch (random(30)) {
    case 0:
      return body.subarray(0, random(body.length + 1));
    case 1: {
      const changed = Buffer.from(body);
      for (let n = 1 + random(4); n > 0 && changed.length > 0; n--) changed[random(changed.length)] = random(256);
      return changed;
    }
    case 2: {
      const depth = pick(random, [31, 32, 33, 1000, 20_000]);
      const [open, close] = pick(random, [
        ['[', ']'],
        ['{"a":', '}'],
      ] as const);
      return Buffer.from(`${open.repeat(depth)}1${random(2) === 0 ? close.repeat(depth) : ''}`);
    }
    case 3:
      return Buffer.from(body.toString('utf8'), 'utf16le');
    case 4:
      return Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), body]);
    case 5:
      return Buffer.concat([body, body]);
    case 6:
      return Buffer.from(Array.from({ length: random(200) }, () => random(256)));
    case 7:
      return Buffer.from(body.toString('utf8').replace('{', `{${JSON.stringify(text(random))}:1,`));
    case 8:
      return Buffer.from(body.toString('utf8').replaceAll('a', '\\ud800'));
    default:
      return body;
  }
}
