import fc from 'fast-check';
import { byCodeUnit } from '../../../src/base/order.ts';
import type { ExportedManifest } from '../../../src/catalog/manifest/export.ts';
import { overrideKey } from '../../../src/catalog/manifest/state.ts';

const asWritten = (a: unknown, b: unknown): number => byCodeUnit(JSON.stringify(a), JSON.stringify(b));

/** Manifests that fit, by construction: few codes, so that any two of them overlap; texts of every kind. */

const ENTITIES = ['project', 'document', 'constructor'];
const PERMISSIONS = ['a', 'a:project', 'B.read', 'b/read', 'constructor'];
const TYPES = ['constructor', 'invoice.due'];
const ROLES = ['ROLE_LEAD', 'guest:EU', 'constructor'];
const PEOPLE = ['ada@example.com', 'ben@example.com', 'o.neil+x@a-b.example'];

/** Text as people write it, and as nobody should. No NUL, no control characters but line breaks and tabs, no lone surrogates. */
const words = fc
  .oneof(
    fc.constantFrom(
      'yes',
      'NO',
      'y',
      '=',
      '<<',
      '1_000',
      '0b1',
      '010',
      '12:30',
      '190:20:30.15',
      '2001-12-14 21:59:43.10 -5',
      'null',
      '~',
      '12',
      '- x',
      'a: b',
      '# c',
      "it's",
      '"q"',
      '&a',
      '*a',
      '!t',
      '%',
      '|',
      '>',
      '[x]',
      '{',
      'é 漢 😀',
      ' led',
      'x: ',
      '...',
      '---',
      'x\ufeffy',
      'x\u2028y',
      'x\u2029\ny',
      'x\uffff\ufffe: y',
      '\u00a0',
    ),
    fc.string({ unit: 'grapheme', maxLength: 20 }),
  )
  // PGlite's decoder takes a byte order mark at the start of a value for one, and drops it.
  .map((text) => text.replace(/^\ufeff+/, '').replace(/\p{Cc}/gu, ' '))
  .filter((text) => text.trim() !== '' && text.isWellFormed());
const description = fc.option(
  fc.oneof(
    words,
    fc
      .tuple(fc.array(words, { minLength: 2, maxLength: 3 }), fc.constantFrom('\n', '\r\n', '\t', '\n\n', '\r'))
      .map(([lines, between]) => lines.join(between)),
  ),
  { nil: undefined },
);
const resourceId = fc.oneof(
  fc.constantFrom('1042', 'a:b', 'project:1042', '{"', "'", '\\', ' x '),
  words.map((text) => text.slice(0, 40)).filter((text) => text.isWellFormed()),
);

const some = <T>(items: readonly T[]): fc.Arbitrary<T[]> => fc.subarray([...items]);

function present<T extends object>(record: T): T {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as T;
}

type Permission = ExportedManifest['permissions'][number];

const permissions: fc.Arbitrary<Permission[]> = some(PERMISSIONS).chain((codes) =>
  fc.tuple(
    ...codes.map((code, at) =>
      fc
        .record({
          type: fc.constantFrom('binary' as const, 'tiered' as const),
          description,
          groupName: fc.option(words, { nil: undefined }),
          // Only of those before it: no loops.
          parent:
            at === 0 ? fc.constant(undefined) : fc.option(fc.constantFrom(...codes.slice(0, at)), { nil: undefined }),
          global: fc.constantFrom(undefined, true as const),
        })
        .map((rest) => present({ code, ...rest }) as Permission),
    ),
  ),
);

function rolesOf(defined: readonly Permission[]): fc.Arbitrary<ExportedManifest['roles'][number][]> {
  const levels = some(defined).chain((held) =>
    fc.tuple(
      ...held.map(({ code, type }) =>
        fc.tuple(
          fc.constant(code),
          type === 'tiered' ? fc.constantFrom('view' as const, 'edit' as const) : fc.constant('allowed' as const),
        ),
      ),
    ),
  );
  return some(ROLES).chain((codes) =>
    fc.tuple(
      ...codes.map((code) =>
        fc.record({ name: fc.option(words, { nil: undefined }), description, levels }).map((role) =>
          present({
            code,
            name: role.name,
            description: role.description,
            permissions: Object.fromEntries(role.levels),
          }),
        ),
      ),
    ),
  ) as fc.Arbitrary<ExportedManifest['roles'][number][]>;
}

function overridesOf(
  entities: readonly string[],
  defined: readonly Permission[],
): fc.Arbitrary<ExportedManifest['overrides']> {
  const open = defined.filter(({ global }) => global !== true);
  if (open.length === 0) return fc.constant([]);
  const one = fc.constantFrom(...open).chain((permission) =>
    fc.record({
      email: fc.constantFrom(...PEOPLE),
      resourceType: fc.constantFrom(...(entities.length > 0 ? entities : ['anything'])),
      resourceId,
      permission: fc.constant(permission.code),
      level:
        permission.type === 'tiered'
          ? fc.constantFrom(null, 'view' as const, 'edit' as const)
          : fc.constantFrom(null, 'allowed' as const),
    }),
  );
  const key = (o: { email: string; permission: string; resourceType: string; resourceId: string }) =>
    JSON.stringify([o.email, o.permission, o.resourceType, o.resourceId]);
  return fc
    .uniqueArray(one, { maxLength: 6, selector: key })
    .map((rows) =>
      rows.map(({ level, ...row }) => present({ ...row, granted: level !== null, accessLevel: level ?? undefined })),
    ) as fc.Arbitrary<ExportedManifest['overrides']>;
}

const off = fc.constantFrom(undefined, false as const);
const typeFields = {
  name: words,
  description,
  emailEnabled: off,
  pushEnabled: off,
  userCanDisable: off,
  defaultEmail: off,
  defaultPush: off,
  selfServiceEnabled: off,
  emailFromName: fc.option(words, { nil: undefined }),
};
type NotificationType = ExportedManifest['notificationTypes'][number];

/** Always `generic`, which no application is without. No system types: only the seed makes those (notification-types.test.ts). */
const notificationTypes: fc.Arbitrary<NotificationType[]> = some(TYPES).chain((codes) =>
  fc.tuple(
    ...['generic', ...codes].map((code) =>
      fc.record(typeFields).map((rest) => present({ code, ...rest }) as NotificationType),
    ),
  ),
);

type Template = ExportedManifest['templates'][number];

/** Parts may be empty, and say so; the default key is left out. */
const part = fc.option(fc.oneof(fc.constant(''), words), { nil: undefined });
const templateFields = {
  subject: words,
  html: description.map((text) => text ?? ''),
  text: part,
  pushTitle: part,
  pushBody: part,
  url: part,
  requiredVariables: fc.option(fc.uniqueArray(words, { minLength: 1, maxLength: 3 }), { nil: undefined }),
};

function templatesOf(types: readonly NotificationType[]): fc.Arbitrary<Template[]> {
  const places = types.flatMap(({ code }) =>
    [undefined, 'constructor', 'urgent'].flatMap((key) => ['cs', 'en'].map((locale) => ({ type: code, key, locale }))),
  );
  return fc
    .subarray(places, { maxLength: 4 })
    .chain((chosen) =>
      fc.tuple(
        ...chosen.map((place) =>
          fc.record(templateFields).map((fields) => present({ ...place, ...fields }) as Template),
        ),
      ),
    );
}

/** Manifests of the application `code`, with every section. */
export function manifestArbitrary(code: string): fc.Arbitrary<ExportedManifest> {
  return fc.tuple(some(ENTITIES), permissions).chain(([entityCodes, defined]) =>
    fc
      .tuple(
        rolesOf(defined),
        fc.record({
          name: words,
          description,
          text: words,
          url: fc.constantFrom(undefined, 'https://x.example/y?z=#1'),
          listSearch: fc.constantFrom(undefined, true as const),
        }),
      )
      .chain(([roles, { name, description: about, text, url, listSearch }]) =>
        fc.record({
          application: fc
            .tuple(
              fc.constantFrom(undefined, ['cs', 'en'], ['en', 'cs'], ['en']),
              fc.constantFrom(undefined, true as const),
            )
            .map(([supportedLanguages, strictCodes]) =>
              present({ code, name, description: about, supportedLanguages, strictCodes }),
            ),
          entities: fc.constant(
            entityCodes.map((entity) =>
              present({ code: entity, name: text, description: about, idLabel: name, listEndpoint: url, listSearch }),
            ),
          ),
          permissions: fc.constant(defined),
          roles: fc.constant(roles),
          spoken: notificationTypes.chain((types) =>
            templatesOf(types).map((templates) => ({ notificationTypes: types, templates })),
          ),
          admins: some(PEOPLE),
          assignments: some(PEOPLE).chain((people) =>
            fc.tuple(
              ...people.map((email) =>
                fc.record({ email: fc.constant(email), roles: some(roles.map((role) => role.code)) }),
              ),
            ),
          ),
          overrides: overridesOf(entityCodes, defined),
        }),
      )
      .map(({ spoken: { notificationTypes: types, templates }, ...rest }) => ({
        ...rest,
        notificationTypes: types,
        templates,
      })),
  ) as fc.Arbitrary<ExportedManifest>;
}

/** The same in the order of an export, and without what says nothing. */
export function canonical(manifest: ExportedManifest): ExportedManifest {
  const by = <T>(key: (item: T) => string, items: readonly T[]): T[] =>
    items.toSorted((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
  return {
    application: manifest.application,
    entities: by(({ code }) => code, manifest.entities),
    permissions: by(
      ({ code, groupName }) => `${groupName === undefined ? '1' : `0${groupName}`}\u0000${code}`,
      manifest.permissions,
    ),
    roles: by(({ code }) => code, manifest.roles).map((role) => ({
      ...role,
      permissions: Object.fromEntries(by(([code]) => code, Object.entries(role.permissions ?? {}))),
    })),
    notificationTypes: by(({ code }) => code, manifest.notificationTypes),
    templates: by(({ type, key, locale }) => `${type}/${key ?? 'default'}/${locale}`, manifest.templates),
    admins: manifest.admins.toSorted(asWritten),
    assignments: by(({ email }) => email, manifest.assignments)
      .filter(({ roles }) => roles.length > 0)
      .map(({ email, roles }) => ({ email, roles: roles.toSorted(asWritten) })),
    overrides: by(overrideKey, manifest.overrides),
  };
}
