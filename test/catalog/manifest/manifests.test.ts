import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { UsherError } from '../../../src/base/errors.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { manifestOf } from '../../support/exported.ts';
import { addLanguages, apply, exported, lines, manifestsOf, query, refusal, studio } from './fixture.ts';

const DEMO = readFileSync(`${import.meta.dirname}/../../../examples/demo.yaml`, 'utf8');

forEachDatabase('manifests', (fixture) => {
  beforeAll(() => addLanguages(fixture.database));

  describe('applying manifests', () => {
    test('apply creates an application, a dry run only plans it, and a second run makes no revision', async () => {
      const { database } = fixture;
      const dry = await apply(database, DEMO, { dryRun: true });
      expect(dry.summary).toEqual({ create: 26, change: 0, remove: 0, keep: 0 });
      expect(await query(database, `select 1 from application where code = 'atelier'`)).toEqual([]);

      const first = await apply(database, DEMO);
      expect({ ...first, dryRun: true, revision: dry.revision }).toEqual(dry);
      expect(lines(first)[0]).toBe('+ application atelier');

      const again = await apply(database, DEMO, { prune: true });
      expect(again.summary).toEqual({ create: 0, change: 0, remove: 0, keep: 26 });
      expect(again.changes).toEqual([]);
      expect(again.revision).toBe(first.revision);
    });

    test('a plan contains the state before and after', async () => {
      const { database } = fixture;
      await apply(database, studio('shown'));
      const plan = await apply(
        database,
        `application: {code: shown, name: Studio, description: New}
roles: [{code: guest, description: A guest, permissions: {project.access: edit}}]
overrides: [{email: ben@example.com, resourceType: project, resourceId: "1", permission: project.access, granted: true, accessLevel: view}]`,
      );
      const override = {
        email: 'ben@example.com',
        resourceType: 'project',
        resourceId: '1',
        permission: 'project.access',
      };
      expect(plan.changes).toEqual([
        {
          action: 'change',
          kind: 'application',
          key: 'shown',
          before: {
            code: 'shown',
            name: 'Studio',
            description: null,
            supportedLanguages: [],
            strictCodes: false,
            tellEndings: true,
          },
          after: {
            code: 'shown',
            name: 'Studio',
            description: 'New',
            supportedLanguages: [],
            strictCodes: false,
            tellEndings: true,
          },
        },
        {
          action: 'change',
          kind: 'role',
          key: 'guest',
          before: { code: 'guest', name: null, description: null, permissions: { 'project.access': 'view' } },
          after: { code: 'guest', name: null, description: 'A guest', permissions: { 'project.access': 'edit' } },
        },
        {
          action: 'change',
          kind: 'override',
          key: 'ben@example.com:project.access:project:1',
          before: { ...override, granted: false, accessLevel: null },
          after: { ...override, granted: true, accessLevel: 'view' },
        },
      ]);
    });

    test('without prune unlisted records stay, and a listed record is described completely', async () => {
      const { database } = fixture;
      await apply(database, studio('kept'));
      const plan = await apply(
        database,
        `application: {code: kept}
permissions: [{code: project.access, type: tiered}]
roles: [{code: lead, permissions: {project.access: view}}]
assignments: [{email: ada@example.com, roles: []}]`,
      );
      expect(lines(plan)).toEqual(['~ permission project.access', '~ role lead']);
      const now = await exported(database, 'kept');
      expect(now).toContain('project.archive');
      expect(now).toMatch(/ada@example.com\n {4}roles: \[guest, lead\]/);
      expect(now).not.toContain('groupName');
    });

    test('with prune a present section is complete, and an absent one is left alone', async () => {
      const { database } = fixture;
      await apply(database, studio('pruned'));
      const plan = await apply(
        database,
        `application: {code: pruned}\nassignments: [{email: cy@example.com, roles: [guest]}]\n`,
        {
          prune: true,
        },
      );
      expect(lines(plan)).toEqual([
        '+ assignment cy@example.com:guest',
        '- assignment ada@example.com:guest',
        '- assignment ada@example.com:lead',
        '- assignment ben@example.com:guest',
      ]);
      expect(plan.summary).toEqual({ create: 1, change: 0, remove: 3, keep: 1 });
      expect(plan.assignmentsEnded).toBe(3);
      expect(await exported(database, 'pruned')).toContain('nora@example.com');
    });

    test('a plan includes everything that a removal deletes, even in absent sections', async () => {
      const { database } = fixture;
      await apply(database, studio('along'));
      const plan = await apply(
        database,
        `application: {code: along}
permissions: [{code: project.archive, type: binary}, {code: report, type: binary, global: true}]`,
        { prune: true },
      );
      expect(lines(plan)).toEqual([
        '~ permission project.archive',
        '- permission project.access',
        '~ role lead',
        '~ role guest',
        '- override ben@example.com:project.access:project:1',
      ]);
      const roles = await apply(database, 'application: {code: along}\nroles: [{code: lead}]', { prune: true });
      expect(lines(roles)).toEqual([
        '~ role lead',
        '- role guest',
        '- assignment ada@example.com:guest',
        '- assignment ben@example.com:guest',
      ]);
      expect(roles.assignmentsEnded).toBe(2);
      const empty = 'application: {code: along}\nentities: []\npermissions: []\nroles: []\nadmins: []\n';
      await apply(database, empty, { prune: true });
      expect(
        await query(
          database,
          `select code from role join user_role on role_id = role.id where code = 'lead'
        and role.application_id = (select id from application where code = 'along')`,
        ),
      ).toEqual([]);
      expect(await exported(database, 'along')).toBe(
        'application:\n  code: along\n  name: Studio\n\nentities: []\n\npermissions: []\n\nroles: []\n\nnotificationTypes:\n  - code: generic\n    name: Generic\n\ntemplates: []\n\nadmins: []\n\nassignments: []\n\noverrides: []\n',
      );
    });

    test('a manifest may have JSON, `constructor` as any code, ids with colons and quotes, and ordered languages', async () => {
      const { database } = fixture;
      const manifest = {
        application: { code: 'constructor', name: 'C', supportedLanguages: ['en', 'cs'] },
        entities: [{ code: 'constructor', name: 'C' }],
        permissions: [{ code: 'constructor', type: 'tiered' }],
        roles: [{ code: 'constructor', permissions: { constructor: 'view' } }],
        admins: ['constructor@example.com'],
        assignments: [{ email: 'constructor@example.com', roles: ['constructor'] }],
        overrides: ['a:b', '"\\{,}', "it's"].map((resourceId) => ({
          email: 'constructor@example.com',
          resourceType: 'constructor',
          resourceId,
          permission: 'constructor',
          granted: true,
        })),
      };
      expect((await apply(database, JSON.stringify(manifest))).summary.create).toBe(9);
      expect((await apply(database, JSON.stringify(manifest))).summary.keep).toBe(9);
      const back = await manifestOf(manifestsOf(database), 'constructor');
      expect(back.application.supportedLanguages).toEqual(['en', 'cs']);
      expect(back.overrides.map(({ resourceId }) => resourceId).sort()).toEqual(['"\\{,}', 'a:b', "it's"]);
    });
  });

  describe('faults', () => {
    test('faults of form and of the database come in one answer with places, and nothing is applied', async () => {
      const { database } = fixture;
      await apply(database, studio('faulty'));
      const before = await exported(database, 'faulty');
      const { reason, status, issues, error } = await refusal(
        database,
        `application:
  code: faulty
  supportedLanguages: [en, xx, yy]
entities:
  - {code: other, name: Other}
  - {code: Broken, name: Broken}
permissions:
  - {code: a, type: binary, parent: b}
  - {code: b, type: binary, parent: a}
  - {code: c, type: binary, parent: nowhere}
  - {code: project.access, type: binary}
  - {code: spoiled, type: other}
roles:
  - code: lead
    permissions: {projct.access: edit, report: view, spoiled: allowed}
admins: [nobody]
assignments:
  - {email: ada@example.com, roles: [led, lead]}
overrides:
  - {email: ada@example.com, resourceType: place, resourceId: "1", permission: report, granted: true}
  - {email: ada@example.com, resourceType: project, resourceId: "1", permission: a, granted: true, accessLevel: edit}
  - {email: ada@example.com, resourceType: project, resourceId: "1", permission: missing, granted: true}
`,
      );
      expect({ reason, status }).toEqual({ reason: 'VALIDATION_FAILED', status: 400 });
      expect(issues).toEqual([
        '3:3 application.supportedLanguages: not in the language registry: xx, yy [UNKNOWN_LANGUAGES]',
        expect.stringMatching(/^6:6 entities\.1\.code: "Broken" is not a valid code/),
        '8:29 permissions.0.parent: makes a loop of parents through b',
        '9:29 permissions.1.parent: makes a loop of parents through a',
        '10:29 permissions.2.parent: nowhere is not a permission of faulty [UNKNOWN_REFERENCE]',
        '11:28 permissions.3.type: the type of project.access cannot change while it is used by role guest, 1 override [TYPE_IN_USE]',
        expect.stringMatching(/^12:21 permissions\.4\.type: must be binary or tiered/),
        '15:19 roles.0.permissions.projct.access: projct.access is not a permission of faulty; did you mean project.access? [UNKNOWN_REFERENCE]',
        '15:40 roles.0.permissions.report: report is binary: allowed, not view [INVALID_ACCESS_LEVEL]',
        expect.stringMatching(/^16:10 admins\.0: "nobody" must be an e-mail address/),
        '18:38 assignments.0.roles.0: led is not a role of faulty; did you mean lead? [UNKNOWN_REFERENCE]',
        '20:30 overrides.0.resourceType: place is not an entity of faulty [UNKNOWN_RESOURCE_TYPE]',
        '20:68 overrides.0.permission: report is global: an override of it would never count [GLOBAL_PERMISSION]',
        '21:100 overrides.1.accessLevel: a is binary: allowed, not edit [INVALID_ACCESS_LEVEL]',
        '22:70 overrides.2.permission: missing is not a permission of faulty [UNKNOWN_REFERENCE]',
      ]);
      expect(error.message).toMatch(/^line 3, column 3: application\.supportedLanguages: .* \(and 14 more\)$/);
      expect(await exported(database, 'faulty')).toBe(before);
    });

    test.each<[string, string, string, number, Record<string, unknown>]>([
      [
        'unknown languages',
        'application: {code: one, supportedLanguages: [xx]}',
        'UNKNOWN_LANGUAGES',
        400,
        { languages: ['xx'] },
      ],
      [
        'an override of a global permission',
        'application: {code: one}\noverrides: [{email: a@example.com, resourceType: project, resourceId: "1", permission: report, granted: true}]',
        'GLOBAL_PERMISSION',
        400,
        {},
      ],
      [
        'a level that does not fit',
        'application: {code: one}\nroles: [{code: lead, permissions: {report: edit}}]',
        'INVALID_ACCESS_LEVEL',
        400,
        {},
      ],
      [
        'an unknown type',
        'application: {code: one}\noverrides: [{email: a@example.com, resourceType: place, resourceId: "1", permission: project.access, granted: true}]',
        'UNKNOWN_RESOURCE_TYPE',
        400,
        {},
      ],
      [
        'an unknown role',
        'application: {code: one}\nassignments: [{email: a@example.com, roles: [boss]}]',
        'UNKNOWN_REFERENCE',
        400,
        {},
      ],
      [
        'a type that changes while it is used',
        'application: {code: one}\npermissions: [{code: project.archive, type: tiered}]',
        'TYPE_IN_USE',
        409,
        {},
      ],
      ['an entity that goes while it is used', 'application: {code: one}\nentities: []', 'ENTITY_IN_USE', 409, {}],
    ])('faults with the same reason have it in common: %s', async (_, text, reason, status, details) => {
      const { database } = fixture;
      await apply(database, studio('one'));
      const refused = await refusal(database, text, { prune: true });
      expect(refused).toMatchObject({ reason, status });
      expect(refused.error.details).toMatchObject({ code: reason, ...details });
      expect(refused.issues).toHaveLength(1);
    });

    test('a new application needs a name', async () => {
      const { issues } = await refusal(fixture.database, 'application: {code: nameless}');
      expect(issues).toEqual(['1:1 application: name is missing: the application nameless is new']);
    });

    test('records that the service itself needs are not pruned', async () => {
      const { database } = fixture;
      const auth = `application: {code: auth, name: Administration}
entities: [{code: application, name: Application}]
permissions: [{code: panel.access, type: binary, global: true}, {code: applications.manage, type: tiered}]
roles: [{code: application_manager}, {code: panel_admin}, {code: own}]`;
      await apply(database, auth);
      const { reason, issues } = await refusal(
        database,
        'application: {code: auth}\nentities: []\npermissions: []\nroles: [{code: panel_admin}]',
        { prune: true },
      );
      expect(reason).toBe('SYSTEM_RECORD');
      expect(issues.map((issue) => issue.split(' is needed')[0])).toEqual([
        '2:1 entities: application',
        '3:1 permissions: applications.manage',
        '3:1 permissions: panel.access',
        '4:1 roles: application_manager',
      ]);
    });
  });

  describe('records in use', () => {
    test('a manifest may change a type once no remaining record refers to it', async () => {
      const { database } = fixture;
      await apply(database, studio('retyped'));
      const plan = await apply(
        database,
        `application: {code: retyped}
permissions: [{code: project.access, type: binary}, {code: project.archive, type: binary}]
roles: [{code: lead}, {code: guest}, {code: new, permissions: {project.access: allowed}}]
overrides: []`,
        { prune: true },
      );
      expect(lines(plan)).toEqual([
        '~ permission project.access',
        '~ permission project.archive',
        '- permission report',
        '~ role lead',
        '~ role guest',
        '+ role new',
        '- override ben@example.com:project.access:project:1',
      ]);
      expect(
        await query(
          database,
          `select level, tiered from role_permission where application_id =
        (select id from application where code = 'retyped')`,
        ),
      ).toEqual([{ level: 1, tiered: false }]);
    });

    test('overrides that became dormant or lost their type are kept, exported and applied again', async () => {
      const { database } = fixture;
      await apply(database, studio('dormant'));
      await apply(
        database,
        'application: {code: dormant}\npermissions: [{code: project.access, type: tiered, global: true}]',
      );
      await database.change(async ({ kysely }) => {
        await sql`update entity set code = 'venture' where code = 'project'
          and application_id = (select id from application where code = 'dormant')`.execute(kysely);
        return { result: null, scopes: ['p:dormant'] };
      });
      const text = await exported(database, 'dormant');
      expect(text).toContain('resourceType: project');
      expect((await apply(database, text, { prune: true })).changes).toEqual([]);
      const changed = await refusal(database, text.replace('granted: false', 'granted: true'));
      expect(changed.issues.map((issue) => issue.replace(/.*\[(.*)\]/, '$1'))).toEqual([
        'UNKNOWN_RESOURCE_TYPE',
        'GLOBAL_PERMISSION',
      ]);
    });
  });

  test('exporting an unknown application is NOT_FOUND', async () => {
    await expect(exported(fixture.database, 'nowhere')).rejects.toBeInstanceOf(UsherError);
    await expect(exported(fixture.database, '../etc')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});
