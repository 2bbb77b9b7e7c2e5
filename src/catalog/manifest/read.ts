/** Turns a manifest's plain values into a Manifest, or every fault in it. Checks only the form, not the database. Pure. */

import { z } from 'zod';
import { ofUnion } from '../../base/zod-issues.ts';
import { describe, type Faults, isMap, type Path, type Plain, type PlainMap } from './faults.ts';
import type { ManifestApplication, Manifest as Read, Section } from './format.ts';
import { Application, Manifest, NO_PERMISSION_CODE, SECTION_NAMES, SECTIONS, TEMPLATE_LIMITS } from './schema.ts';
import { overrideKey } from './state.ts';
import { templateKey } from './templates.ts';

/** The key of a record in each section. */
const KEYS = {
  entities: ({ code }) => code,
  permissions: ({ code }) => code,
  roles: ({ code }) => code,
  notificationTypes: ({ code }) => code,
  templates: templateKey,
  admins: ({ email }) => email,
  assignments: ({ email }) => email,
  overrides: overrideKey,
} satisfies { [Name in Section]: (record: z.output<(typeof SECTIONS)[Name]>[number]) => string };

/** The manifest without its records: a section is read record by record, so that a fault affects one record only. */
const Frame = z.strictObject(
  Object.fromEntries(
    Object.keys(Manifest.shape).map((name) => [
      name,
      (name in SECTIONS ? z.array(z.unknown()) : z.unknown()).optional(),
    ]),
  ),
);

/** Reads the valid parts of a manifest; null when not even the application is known. */
export function readManifest(value: Plain, faults: Faults): Read | null {
  if (!isMap(value)) {
    faults.add([], `a manifest is a map that begins with application:, not ${describe(value)}`);
    return null;
  }
  fits(Frame, withoutExtensions(value), [], faults);
  if (isTooLong(value, faults)) return null;
  const application = readRecord<ManifestApplication>(Application, value.application, ['application'], faults);
  const spoiled = new Set<string>();
  const sections = SECTION_NAMES.map((name) => [name, readSection(name, value[name], faults, spoiled)]);
  // The schema of each section is the one that its type is made from.
  const manifest = { application, ...Object.fromEntries(sections), spoiled } as Read;
  refuseTooMuch(manifest.templates ?? [], faults);
  return application === null ? null : manifest;
}

/** Records of a manifest, and administrators among them (docs/reference/command-line.md#manifests). */
const MOST = { records: 200_000, admins: 10_000 } as const;

/** Whether there are more records than one transaction may carry out; nothing else of such a manifest is read. */
function isTooLong(value: PlainMap, faults: Faults): boolean {
  const lengthOf = (name: Section): number => {
    const records = value[name];
    return Array.isArray(records) ? records.length : 0;
  };
  if (lengthOf('admins') > MOST.admins) {
    faults.add(
      ['admins'],
      `has ${lengthOf('admins')} addresses; an application has at most ${MOST.admins} administrators`,
    );
    return true;
  }
  let records = 0;
  for (const name of SECTION_NAMES) {
    records += lengthOf(name);
    if (records <= MOST.records) continue;
    faults.add([name], `makes more than ${MOST.records} records; split the manifest into several`);
    return true;
  }
  return false;
}

function readSection(section: Section, items: Plain | undefined, faults: Faults, spoiled: Set<string>) {
  if (!Array.isArray(items)) return null;
  const schema: z.ZodType<unknown> = SECTIONS[section].element;
  const key = KEYS[section] as (record: unknown) => string;
  const first = new Map<string, number>();
  return items.map((item: Plain, at) => {
    const path = [section, at];
    const record = readRecord(schema, item, path, faults);
    if (record === null) {
      if (isMap(item) && typeof item.code === 'string') spoiled.add(`${section}:${item.code}`);
      return null;
    }
    const name = key(record);
    const earlier = first.get(name);
    if (earlier !== undefined) {
      faults.add(path, `${name} is named before, in ${section}.${earlier}; name each once`);
      return null;
    }
    first.set(name, at);
    return record;
  });
}

/**
 * A record, or null when it is invalid; its faults are noted. A record with faults only in optional fields is returned without
 * them, so that faults against the database are found at the same time. A template is not: without its key it would
 * be a different template.
 */
function readRecord<T>(schema: z.ZodType<T>, item: Plain | undefined, path: Path, faults: Faults): T | null {
  // zod drops members that could set a prototype; here they are misspelled codes like any other.
  if (isMap(item) && isMap(item.permissions) && Object.hasOwn(item.permissions, '__proto__')) {
    faults.add([...path, 'permissions', '__proto__'], `"__proto__" ${NO_PERMISSION_CODE}`);
  }
  const read = fits(schema, item, path, faults);
  if ('record' in read) return read.record;
  if (!isMap(item) || path[0] === 'templates') return null;
  const wrong = new Set(read.fields);
  return schema.safeParse(without(item, wrong)).data ?? null;
}

/** Top-level sections of the author's own, mostly anchors for the others. */
export function withoutExtensions(map: PlainMap): PlainMap {
  return without(map, new Set(Object.keys(map).filter((name) => name.startsWith('x-'))));
}

function without(map: PlainMap, names: ReadonlySet<unknown>): PlainMap {
  return Object.fromEntries(Object.entries(map).filter(([name]) => !names.has(name)));
}

/** The record in `value`, or its invalid fields, each noted at its place. */
export function fits<T>(schema: z.ZodType<T>, value: unknown, path: Path, faults: Faults) {
  const { data, error } = schema.safeParse(value, { error: messageOf, reportInput: true });
  if (error === undefined) return { record: data };
  const issues = error.issues.flatMap((issue) => ofUnion(issue, 'by the first'));
  for (const issue of issues) note(issue, path, schema, faults);
  return {
    fields: issues.flatMap((issue) => (issue.code === 'unrecognized_keys' ? issue.keys : issue.path.slice(0, 1))),
  };
}

function note(issue: z.core.$ZodIssue, base: Path, schema: z.ZodType, faults: Faults): void {
  const path = [...base, ...(issue.path as (string | number)[])];
  if (issue.code === 'unrecognized_keys') {
    const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
    const thing = base.length === 0 ? 'section' : 'field';
    for (const key of issue.keys) faults.addUnknown([...path, key], thing, known);
  } else if (issue.code === 'invalid_key') {
    for (const inner of issue.issues) faults.add(path, inner.message);
  } else {
    // A missing field has no place of its own; its record has.
    const missing = issue.input === undefined && issue.code !== 'custom';
    const code = codeOf(issue);
    faults.add(missing ? path.slice(0, -1) : path, issue.message, code === undefined ? {} : { code });
  }
}

function codeOf(issue: z.core.$ZodIssue): 'INVALID_ACCESS_LEVEL' | undefined {
  const isLevel =
    issue.code === 'invalid_value' ? issue.values.includes('edit') : issue.code === 'custom' && issue.params?.code;
  return isLevel ? 'INVALID_ACCESS_LEVEL' : undefined;
}

const EXPECTED: Record<string, string> = { boolean: 'true or false', array: 'a list', string: 'text' };

/** zod's issues in the words of this service: what is wrong, and what would be right. */
const messageOf: z.core.$ZodErrorMap = (issue) => {
  const { input } = issue;
  const field = issue.path?.at(-1);
  const right = wouldBeRight(issue);
  if (right === undefined) return undefined;
  if ((input === undefined || input === null) && typeof field === 'string') {
    if (input === null && issue.expected === 'array') return 'is empty: write [] for an empty list, or leave it out';
    return right === 'text' ? `${field} is missing` : `${field} is missing: ${right}`;
  }
  const quote =
    right === 'text' && (typeof input === 'number' || typeof input === 'boolean') ? '; put it in quotes' : '';
  return `must be ${right}, not ${describe(input)}${quote}`;
};

function wouldBeRight(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_value') return issue.values.join(', ').replace(/, (?=[^,]*$)/, ' or ');
  if (issue.code !== 'invalid_type') return undefined;
  if (issue.expected === 'record') return 'a map such as {invoice.read: view}';
  if (issue.expected === 'object' && issue.inst instanceof z.ZodObject) {
    return `a map with ${Object.keys(issue.inst.shape).join(', ')}`;
  }
  return EXPECTED[issue.expected];
}

function refuseTooMuch(templates: NonNullable<Read['templates']>, faults: Faults): void {
  const size = templates.reduce((sum, one) => sum + (one?.html.length ?? 0) + (one?.text?.length ?? 0), 0);
  if (size <= TEMPLATE_LIMITS.together) return;
  faults.add(['templates'], `are longer than ${TEMPLATE_LIMITS.together} characters together`);
}
