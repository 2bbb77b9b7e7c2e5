/**
 * An application as a manifest: the input of `apply`, in an order that depends only on its content, so that two exports
 * can be compared. Fields with their default are left out; every section is present, so that `apply --prune` restores exactly
 * this state. Written in slices: an application can have a million overrides.
 */

import type * as Yaml from 'yaml';
import { z } from 'zod';
import { byCodeUnit, byGroupAndCode } from '../../base/order.ts';
import { turn } from '../../persistence/catalog/manifest-read.ts';
import type { Window } from './format.ts';
import { Application, type Exported, SECTION_NAMES, SECTIONS } from './schema.ts';
import type { Catalog, People } from './state.ts';

/** A manifest in JSON: exactly the input of `apply` as `application/json`. */
export type ExportedManifest = z.input<typeof Exported>;

export type ExportFormat = 'yaml' | 'json';

export interface WriteOptions {
  readonly format: ExportFormat;
  /** In YAML lets editors complete and check it. */
  readonly schemaUrl: string | null;
}

/** The text of an export. */
export async function writeManifest(
  catalog: Parameters<typeof toManifest>[0],
  people: People,
  { format, schemaUrl }: WriteOptions,
): Promise<string> {
  const manifest = toManifest(catalog, people);
  return format === 'json' ? JSON.stringify(manifest) : await toYaml(manifest, schemaUrl);
}

/** Sorts the loaded records, and leaves out fields with their default. */
export function toManifest(
  catalog: Catalog & { application: NonNullable<Catalog['application']> },
  people: People,
): ExportedManifest {
  const records: Record<keyof typeof SECTIONS, readonly unknown[]> = {
    entities: sorted(catalog.entities.values()),
    permissions: [...catalog.permissions.values()].sort(byGroupAndCode),
    roles: sorted(catalog.roles.values()),
    notificationTypes: sorted(catalog.notificationTypes.values()),
    templates: byKey(catalog.templates),
    admins: byKey(people.admins).map(({ email, ...window }) => orPlain('email', email, window)),
    assignments: byPerson(people),
    overrides: byKey(people.overrides),
  };
  const sections = SECTION_NAMES.map((name) => [
    name,
    records[name].map((one) => written(SECTIONS[name].element, one)),
  ]);
  // The type is made from the schemas that wrote these records.
  return {
    application: written(Application, catalog.application),
    ...Object.fromEntries(sections),
  } as ExportedManifest;
}

/** A record with its fields in the order of its schema, without those that are null or have their default. */
function written(schema: z.ZodType, record: unknown): unknown {
  if (!(schema instanceof z.ZodObject)) return record;
  const from = record as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(schema.shape as Record<string, z.ZodType>).flatMap(([name, field]) => {
      const value = from[name] ?? null;
      return value === null || isDefault(value, field.meta()?.default) ? [] : [[name, plain(value)]];
    }),
  );
}

function isDefault(value: unknown, fallback: unknown): boolean {
  return value === fallback || (Array.isArray(fallback) && Array.isArray(value) && value.length === 0);
}

/** The permissions of a role are sorted by code. */
function plain(value: unknown): unknown {
  return value instanceof Map ? Object.fromEntries([...value].sort(([a], [b]) => byCodeUnit(a, b))) : value;
}

function byKey<T>(records: ReadonlyMap<string, T>): T[] {
  return [...records].sort(([a], [b]) => byCodeUnit(a, b)).map(([, record]) => record);
}

function sorted<T extends { code: string }>(records: Iterable<T>): T[] {
  return [...records].sort((a, b) => byCodeUnit(a.code, b.code));
}

/** The value alone where it has no window, as its schema takes it. */
function orPlain(name: string, value: string, { startsAt, endsAt }: Window): unknown {
  if (startsAt === null && endsAt === null) return value;
  const ends = { ...(startsAt === null ? {} : { startsAt }), ...(endsAt === null ? {} : { endsAt }) };
  return { [name]: value, ...ends };
}

function byPerson({ assignments }: People): { email: string; roles: unknown[] }[] {
  const people = new Map<string, unknown[]>();
  for (const [, { email, role, ...window }] of [...assignments].sort(([a], [b]) => byCodeUnit(a, b))) {
    const roles = people.get(email);
    const item = orPlain('role', role, window);
    if (roles) roles.push(item);
    else people.set(email, [item]);
  }
  return [...people].map(([email, roles]) => ({ email, roles }));
}

/** Records written between two turns of the event loop. */
const SLICE = 50;
/** YAML 1.2, in which nothing means something else to a reader of YAML 1.1: `no`, `1_000` and `12:30` get quotes. */
const OPTIONS = {
  lineWidth: 0,
  version: '1.2',
  schema: 'core',
  compat: 'yaml-1.1',
  aliasDuplicateObjects: false,
  flowCollectionPadding: false,
} as const;

/** The manifest as YAML. `schemaUrl` lets editors complete and check it. */
export async function toYaml(manifest: ExportedManifest, schemaUrl: string | null = null): Promise<string> {
  const yaml = await import('yaml');
  const parts = schemaUrl === null ? [] : [`# yaml-language-server: $schema=${schemaUrl}\n\n`];
  parts.push(write(yaml, { application: manifest.application }));
  for (const section of SECTION_NAMES) {
    const rows: readonly unknown[] = manifest[section];
    parts.push(rows.length === 0 ? `\n${section}: []\n` : `\n${section}:\n`);
    for (let at = 0; at < rows.length; at += SLICE) {
      // Indents by one step, because YAML indentation is relative. (The flag m would also match at U+2028.)
      parts.push(write(yaml, rows.slice(at, at + SLICE)).replace(/(^|\n)(?=[^\n])/g, '$1  '));
      await turn();
    }
  }
  return parts.join('');
}

/**
 * What readers of YAML 1.1 take otherwise beside types: line breaks, the value of a map as a whole, and in a line a tab, which some end
 * a plain text at. No reader takes the two noncharacters as they are.
 */
function isReadOtherwise(text: string): boolean {
  return text.search(UNREADABLE) !== -1 || text === '=' || (text.includes('\t') && !text.includes('\n'));
}

const UNREADABLE = /[\u2028\u2029\ufffe\uffff]/g;
const ESCAPES: Readonly<Record<string, string>> = {
  '\u2028': '\\L',
  '\u2029': '\\P',
  '\ufffe': '\\uFFFE',
  '\uffff': '\\uFFFF',
};

/** Lists of codes go on one line: those of ten thousand people would fill pages. */
function write({ Document, Scalar, isScalar, isSeq, visit }: typeof Yaml, value: unknown): string {
  const document = new Document(value, OPTIONS);
  visit(document, {
    Pair: (_, { value: list }) => {
      if (isSeq(list) && list.items.every((item) => isScalar(item))) list.flow = true;
    },
    Scalar: (_, scalar) => {
      if (typeof scalar.value === 'string' && isReadOtherwise(scalar.value)) scalar.type = Scalar.QUOTE_DOUBLE;
    },
  });
  // These now stand in double quotes alone.
  return document.toString(OPTIONS).replace(UNREADABLE, (one) => ESCAPES[one] ?? one);
}
