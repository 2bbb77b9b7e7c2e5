import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { examine } from '../../../src/catalog/manifest/examine.ts';

/** What is wrong with a text, a line each: `line:column path: message`. */
function faults(text: string): string[] {
  return examine(text).issues.map(({ line, column, path, message }) => `${line}:${column} ${path}: ${message}`);
}

const ALWAYS = { startsAt: null, endsAt: null };
const HEAD = 'application: {code: studio, name: Studio}\n';

describe('valid manifests', () => {
  test('a manifest with every section and field gets defaults for omitted ones', () => {
    const { manifest, issues } = examine(`
application: {code: studio}
entities: [{code: project, name: Project}]
permissions: [{code: Project.Access, type: tiered}]
roles: [{code: reader, name: Reader, permissions: {Project.Access: view}}, {code: nothing}]
notificationTypes: [{code: due, name: Due, emailEnabled: false, emailFromName: Office}]
templates: [{type: due, locale: en, subject: Due, html: ""}]
admins: [" Ada@Example.com "]
assignments: [{email: ben@example.com, roles: []}]
overrides: [{email: ben@example.com, resourceType: project, resourceId: "1", permission: Project.Access, granted: true}]
`);
    expect(issues).toEqual([]);
    expect(manifest).toEqual({
      application: {
        code: 'studio',
        name: null,
        description: null,
        supportedLanguages: [],
        strictCodes: false,
        tellEndings: true,
      },
      entities: [
        { code: 'project', name: 'Project', description: null, idLabel: null, listEndpoint: null, listSearch: false },
      ],
      permissions: [
        { code: 'Project.Access', type: 'tiered', description: null, groupName: null, parent: null, global: false },
      ],
      roles: [
        { code: 'reader', name: 'Reader', description: null, permissions: new Map([['Project.Access', 'view']]) },
        { code: 'nothing', name: null, description: null, permissions: new Map() },
      ],
      notificationTypes: [
        {
          code: 'due',
          name: 'Due',
          description: null,
          emailEnabled: false,
          pushEnabled: true,
          userCanDisable: true,
          defaultEmail: true,
          defaultPush: true,
          selfServiceEnabled: true,
          system: false,
          emailFromName: 'Office',
        },
      ],
      templates: [
        {
          type: 'due',
          key: 'default',
          locale: 'en',
          subject: 'Due',
          html: '',
          text: null,
          pushTitle: null,
          pushBody: null,
          url: null,
          requiredVariables: [],
        },
      ],
      admins: [{ email: 'ada@example.com', ...ALWAYS }],
      assignments: [{ email: 'ben@example.com', roles: [] }],
      overrides: [
        {
          email: 'ben@example.com',
          resourceType: 'project',
          resourceId: '1',
          permission: 'Project.Access',
          granted: true,
          ...ALWAYS,
          accessLevel: null,
        },
      ],
      spoiled: new Set(),
    });
  });

  test('absent sections of a manifest are null, and empty ones are empty', () => {
    const { manifest } = examine(`${HEAD}roles: []\n`);
    expect(manifest?.roles).toEqual([]);
    expect(manifest?.permissions).toBeNull();
  });

  test('a manifest may use `constructor` as a code', () => {
    const { manifest, issues } = examine(
      `${HEAD}permissions: [{code: constructor, type: binary}]\nroles: [{code: constructor, permissions: {constructor: allowed}}]\n`,
    );
    expect(issues).toEqual([]);
    expect(manifest?.roles?.[0]?.permissions).toEqual(new Map([['constructor', 'allowed']]));
  });

  test('a manifest may be JSON with tabs, or YAML that shares a list by an alias', () => {
    const json = JSON.stringify({ application: { code: 'studio' }, admins: ['ada@example.com'] }, null, '\t');
    expect(examine(json)).toMatchObject({
      issues: [],
      manifest: { admins: [{ email: 'ada@example.com', ...ALWAYS }] },
    });
    const shared = `${HEAD}assignments:\n  - {email: a@example.com, roles: &r [x, y]}\n  - {email: b@example.com, roles: *r}\n`;
    expect(examine(shared).manifest?.assignments?.[1]?.roles).toEqual([
      { role: 'x', ...ALWAYS },
      { role: 'y', ...ALWAYS },
    ]);
  });

  test('a manifest may have sections of its own, and merge them', () => {
    const text = [
      'x-switches: &switches {emailEnabled: false, defaultEmail: false}',
      'x-more: &more {pushEnabled: false, defaultEmail: true}',
      `${HEAD}notificationTypes:`,
      '  - {code: one, name: One, <<: *switches}',
      '  - <<: [*more, *switches]',
      '    code: two',
      '    name: Two',
      'x-anything: [1, {a: b}]',
    ].join('\n');
    const { manifest, issues } = examine(text);
    expect(issues).toEqual([]);
    expect(manifest?.notificationTypes).toMatchObject([
      { code: 'one', emailEnabled: false, defaultEmail: false, pushEnabled: true },
      { code: 'two', emailEnabled: false, defaultEmail: true, pushEnabled: false },
    ]);
  });

  test('the demo is a valid manifest', () => {
    expect(faults(readFileSync(`${import.meta.dirname}/../../../examples/demo.yaml`, 'utf8'))).toEqual([]);
  });
});

describe('faults of a manifest', () => {
  test('every fault of a manifest text is reported with its place', () => {
    const text = `application:
  code: Studio X
  nme: Studio
permissions:
  - code: a.b
    type: ternary
  - code: a.c
    type: binary
    global: yes
  - code: a.c
    type: binary
  - {type: tiered}
roles:
  - code: reader
    permissions: {a.b: superb, __proto__: view, a.c: allowed}
admins: [Ada@Example.com, ada@example.com, "no at", 5]
assignments:
  - email: ada@example.com
    roles: [reader, reader, rea/der]
overrides:
  - email: ada@example.com
    resourceType: project
    resourceId: 1042
    permission: a.c
    granted: false
    accessLevel: allowed
`;
    expect(faults(text).map((fault) => fault.replace(/; .*|: lower-case.*|: letters.*|: leave.*/, ''))).toEqual([
      '2:3 application.code: "Studio X" is not a valid application code',
      '3:3 application.nme: is an unknown field',
      '6:5 permissions.0.type: must be binary or tiered, not "ternary"',
      '9:5 permissions.1.global: must be true or false, not "yes"',
      '10:5 permissions.2: a.c is named before, in permissions.1',
      '12:5 permissions.3: code is missing',
      '15:19 roles.0.permissions.a.b: must be allowed, view or edit, not "superb"',
      '15:32 roles.0.permissions.__proto__: "__proto__" is not a valid permission code',
      '16:27 admins.1: ada@example.com is named before, in admins.0',
      '16:44 admins.2: "no at" must be an e-mail address such as ada@example.com: ASCII, one @ with a host name after it, at most 254 characters',
      '16:53 admins.3: must be text, not 5',
      '19:21 assignments.0.roles.1: "reader" is listed twice',
      '19:29 assignments.0.roles.2: "rea/der" is not a valid role code',
      '23:5 overrides.0.resourceId: must be text, not 1042',
      '26:5 overrides.0.accessLevel: a denial has no accessLevel: remove it from granted: false',
    ]);
  });

  test.each<[string, string, string]>([
    ['nothing', '', '1:1 : a manifest is a map that begins with application:, not nothing'],
    ['a list', '- 1', '1:1 : a manifest is a map that begins with application:, not a list'],
    [
      'no application',
      'roles: []',
      '1:1 : application is missing: application: {code, name, description?, supportedLanguages?, strictCodes?}',
    ],
    [
      'an unknown section',
      `${HEAD}rols: []`,
      '2:1 rols: is an unknown section; did you mean roles? (known: application, entities, permissions, roles, notificationTypes, templates, admins, assignments, overrides, tests)',
    ],
    ['an empty section', `${HEAD}roles:`, '2:1 roles: is empty: write [] for an empty list, or leave it out'],
    ['a map for a list', `${HEAD}roles: {}`, '2:1 roles: must be a list, not a map'],
    [
      'a text for a record',
      `${HEAD}roles: [reader]`,
      '2:9 roles.0: must be a map with code, name, description, permissions, not "reader"',
    ],
    [
      'a reserved application',
      'application: {code: inbox, name: I}',
      '1:15 application.code: "inbox" is not a valid application code: lower-case letters and digits, with single . _ - between them, at most 64 characters, and not inbox, stream or preferences',
    ],
    [
      'no language code',
      'application: {code: a, name: A, supportedLanguages: [EN]}',
      '1:54 application.supportedLanguages.0: "EN" must be a lower-case language code with an optional script and region, such as cs, pt-br, zh-hant or es-419',
    ],
    [
      'credentials in a URL',
      `${HEAD}entities: [{code: a, name: A, listEndpoint: "https://u:p@example.com"}]`,
      '2:31 entities.0.listEndpoint: "https://u:p@example.com" must be an absolute http or https URL without credentials, at most 2048 characters',
    ],
    [
      'a control character',
      `${HEAD}entities: [{code: a, name: "A\\u0007"}]`,
      '2:22 entities.0.name: "A\\u0007" is empty, longer than 200 characters, or holds control characters',
    ],
    [
      'half a surrogate',
      `${HEAD}entities: [{code: a, name: "A\\ud800"}]`,
      '2:22 entities.0.name: "A\\ud800" is empty, longer than 200 characters, or holds control characters',
    ],
    [
      'no granted',
      `${HEAD}overrides: [{email: a@example.com, resourceType: a, resourceId: b, permission: c}]`,
      '2:13 overrides.0: granted is missing: true or false',
    ],
    [
      'an address with a non-ASCII letter',
      `${HEAD}admins: ["\u212Aate@example.com"]`,
      '2:10 admins.0: "\u212Aate@example.com" must be an e-mail address such as ada@example.com: ASCII, one @ with a host name after it, at most 254 characters',
    ],
  ])('a fault is reported with its place: %s', (_, text, fault) => {
    expect(faults(text)).toEqual([fault]);
  });

  test('a thousand faults are listed, and the others are counted', () => {
    const found = faults(`${HEAD}admins: [${Array.from({ length: 1500 }, () => '1').join(', ')}]`);
    expect(found).toHaveLength(1001);
    expect(found.at(-1)).toContain('and 500 more faults');
  });
});

describe('text that is not plain YAML', () => {
  test.each<[string, string, RegExp]>([
    ['a syntax error', 'application: [1\nx', /^[12]:\d+ : is not YAML: deficient indentation$/],
    [
      'a tab as indentation',
      'application:\n\tcode: a',
      /^2:1 : is not YAML: tab characters must not be used in indentation$/,
    ],
    ['a key given twice', `${HEAD}application: {code: other, name: B}`, /^2:1 application: is given twice$/],
    [
      'a key given twice in JSON',
      '{"application": {"code": "a", "code": "b", "name": "A"}}',
      /^1:31 application.code: is given twice$/,
    ],
    ['a tag', `${HEAD}roles: !!js/function "x"`, /^2:8 : unresolved tag/],
    ['a local tag', `${HEAD}roles: !roles []`, /^2:8 : unresolved tag/],
    ['another version of YAML', `%YAML 1.1\n---\n${HEAD}`, /YAML 1\.2/],
    ['two documents', `${HEAD}---\n${HEAD}`, /^2:1 : source contains multiple documents/],
    ['a merge key of an unknown section', `x-x: &x {a: 1}\n${HEAD}<<: *x`, /^3:1 a: is an unknown section/],
    ['a merge of a text', `${HEAD}roles: [{code: a, <<: b}]`, /^2:19 roles.0.<<: takes a map, or a list of maps/],
    ['a merge given twice', `x-a: &a {}\n${HEAD}roles: [{<<: *a, <<: *a}]`, /^3:18 roles.0.<<: is given twice/m],
    ['a merge within itself', `${HEAD}roles: [&r {code: a, <<: *r}]`, /^2:\d+ : /],
    ['a section that only looks like one of the author', `${HEAD}X-roles: []`, /^2:1 X-roles: is an unknown section/],
    ['an unknown anchor', `${HEAD}roles: *nowhere`, /^2:8 : /],
    [
      'a number that is not a number',
      `${HEAD}admins: [.nan]`,
      /^2:10 admins.0: is a number that cannot be kept exactly/,
    ],
    [
      'a number too large',
      `${HEAD}admins: [99999999999999999999]`,
      /^2:10 admins.0: is a number that cannot be kept exactly/,
    ],
    ['deep nesting', `${HEAD}roles: ${'['.repeat(40)}${']'.repeat(40)}`, /^2:\d+ : is nested deeper than 32 levels$/],
    ['nesting that ends the stack', `roles: ${'['.repeat(200_000)}`, /nest|flow sequence/],
    ['an anchor within itself', `${HEAD}roles: &r [*r]`, /^2:\d+ : /],
  ])('text that is not plain YAML is refused: %s', (_, text, fault) => {
    expect(faults(text).join('\n')).toMatch(fault);
  });

  test('aliases that multiply are refused quickly', () => {
    const levels = Array.from(
      { length: 12 },
      (_, at) => `x${at + 1}: &x${at + 1} [${Array(10).fill(`*x${at}`).join(', ')}]`,
    );
    const began = performance.now();
    expect(faults(`x0: &x0 [1]\n${levels.join('\n')}\n${HEAD}`)).toEqual(
      expect.arrayContaining([expect.stringContaining('has too many aliases')]),
    );
    expect(performance.now() - began).toBeLessThan(5000);
  });

  test('a map of many keys is read in linear time', () => {
    const keys = Array.from({ length: 20_000 }, (_, at) => `k${at}: allowed`).join(', ');
    const began = performance.now();
    expect(faults(`${HEAD}roles: [{code: r, permissions: {${keys}}}]`)).toEqual([]);
    expect(performance.now() - began).toBeLessThan(5000);
  });
});
