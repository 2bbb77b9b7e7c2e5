import { beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { seed } from '../../../src/catalog/seed.ts';
import { useDatabase } from '../../support/databases.ts';
import { addLanguages, apply, exported, lines, query, refusal } from './fixture.ts';

const HEAD = 'application: {code: shop, name: Shop}\n';
const PRUNE = { prune: true };
/** The seeded application as it is seeded, but for what a test says of its type. */
const auth = (type: string) => `application: {code: auth, name: Administration}
notificationTypes: [{code: auth_idp, name: Mail, ${type}}]`;

describe('notification types', () => {
  const fixture = useDatabase('postgresql');
  beforeAll(async () => {
    await addLanguages(fixture.database);
    await fixture.database.change(seed);
  });
  const run = (text: string) =>
    fixture.database.change(async ({ kysely }) => {
      await sql.raw(text).execute(kysely);
      return { result: null, scopes: ['*'] };
    });

  test('an applied application has the type `generic`, listed or not, and keeps it', async () => {
    const { database } = fixture;
    expect(lines(await apply(database, 'application: {code: plain, name: Plain}'))).toEqual(['+ application plain']);
    expect(await exported(database, 'plain')).toContain('- code: generic\n    name: Generic\n');
    const none = 'application: {code: plain, name: Plain}\nnotificationTypes: []';
    expect(lines(await apply(database, none, PRUNE))).toEqual([]);
    const named =
      'application: {code: named, name: N}\nnotificationTypes: [{code: generic, name: All, pushEnabled: false}]';
    expect(lines(await apply(database, named))).toEqual(['+ application named', '+ notificationType generic']);
    expect((await apply(database, named, PRUNE)).summary).toEqual({ create: 0, change: 0, remove: 0, keep: 2 });
    expect(await exported(database, 'named')).toContain('name: All\n    pushEnabled: false\n');
  });

  test('notification types are created, changed and pruned with audit records and without a policy change', async () => {
    const { database } = fixture;
    const made = await apply(database, `${HEAD}notificationTypes: [{code: due, name: Due}, {code: old, name: Old}]`);
    const changed = await apply(
      database,
      `${HEAD}notificationTypes: [{code: due, name: Due, userCanDisable: false, emailFromName: Shop}]`,
      PRUNE,
    );
    expect(lines(changed)).toEqual(['~ notificationType due', '- notificationType old']);
    expect(changed.revision).toBe(made.revision);
    expect(await query(database, `select action from audit where subject in ('due', 'old') order by id`)).toEqual([
      { action: 'notification_type.created' },
      { action: 'notification_type.created' },
      { action: 'notification_type.changed' },
      { action: 'notification_type.removed' },
    ]);
    expect(
      await query(database, `select user_can_disable, email_from_name from notification_type where code = 'due'`),
    ).toEqual([{ userCanDisable: false, emailFromName: 'Shop' }]);
  });

  test('a notification type with templates or notifications is not pruned', async () => {
    const { database } = fixture;
    await apply(
      database,
      'application: {code: busy, name: B}\nnotificationTypes: [{code: one, name: 1st}, {code: two, name: 2nd}]',
    );
    await run(`insert into template (application_id, notification_type_id, locale, subject, html)
      select application_id, id, 'en', 's', 'h' from notification_type where code = 'one'`);
    await run(`insert into person (email) values ('p@example.com')`);
    await run(`insert into notification (application_id, notification_type_id, person_id, subject, payload, status, locale)
      select t.application_id, t.id, p.id, 's', '{}', 'sent', 'en' from notification_type t, person p where t.code = 'two'`);
    const refused = await refusal(database, 'application: {code: busy}\nnotificationTypes: []', PRUNE);
    expect([refused.reason, refused.status, refused.issues.length]).toEqual(['TYPE_IN_USE', 409, 2]);
    expect(await exported(database, 'busy')).toContain('code: two');
  });

  test('templates are created, changed and pruned before their types, and every loss is in the plan', async () => {
    const { database } = fixture;
    const head = 'application: {code: words, name: W}\n';
    const types = 'notificationTypes: [{code: due, name: Due}]\n';
    const due = '{type: due, locale: en, subject: Due, html: h, requiredVariables: [n, "a.b"]}';
    expect(
      lines(
        await apply(
          database,
          `${head}${types}templates: [${due}, {type: generic, key: x, locale: cs, subject: s, html: ""}]`,
        ),
      ),
    ).toEqual([
      '+ application words',
      '+ notificationType due',
      '+ template due/default/en',
      '+ template generic/x/cs',
    ]);
    expect(
      await query(
        database,
        `select t.subject, t.required_variables as needs, t.html from template t
          join application a on a.id = t.application_id where a.code = 'words' order by t.id`,
      ),
    ).toEqual([
      { subject: 'Due', needs: ['n', 'a.b'], html: 'h' },
      { subject: 's', needs: [], html: '' },
    ]);
    // Without the section they are left alone, and hold their type.
    const held = await refusal(database, `${head}notificationTypes: []`, PRUNE);
    expect(held.reason).toBe('TYPE_IN_USE');
    const changed = await apply(database, `${head}templates: [${due.replace('html: h', 'html: i')}]`, PRUNE);
    expect(lines(changed)).toEqual(['~ template due/default/en', '- template generic/x/cs']);
    // One of a type that goes cannot be named.
    const orphan = await refusal(database, `${head}notificationTypes: []\ntemplates: [${due}]`, PRUNE);
    expect(orphan.issues.join()).toContain('templates.0.type: due is not a notification type of words');
    expect(lines(await apply(database, `${head}notificationTypes: []\ntemplates: []`, PRUNE))).toEqual([
      '- notificationType due',
      '- template due/default/en',
    ]);
    const refused = await refusal(
      database,
      `${head}templates:
  - {type: nope, locale: xx, subject: s, html: h}
  - {type: generic, locale: en, subject: "", html: h, requiredVariables: [a, a]}
  - {type: generic, key: "A b", locale: en, subject: s}
`,
    );
    expect(refused.issues.map((issue) => issue.split(': ')[0])).toEqual([
      '3:6 templates.0.type',
      '3:18 templates.0.locale',
      '4:33 templates.1.subject',
      '4:78 templates.1.requiredVariables.1',
      '5:5 templates.2',
      '5:21 templates.2.key',
    ]);
  });

  test('a system type keeps its fixed flags', async () => {
    const { database } = fixture;
    const right = 'pushEnabled: false, userCanDisable: false, selfServiceEnabled: false, system: true';
    await apply(database, auth(`${right}, defaultPush: false, emailFromName: Us`));
    // A later start leaves what administrators changed, and puts the fixed flags right.
    await run(`update notification_type set push_enabled = true where code = 'auth_idp'`);
    await fixture.database.change(seed);
    expect(
      await query(
        database,
        `select name, push_enabled, email_from_name from notification_type where code = 'auth_idp'`,
      ),
    ).toEqual([{ name: 'Mail', pushEnabled: false, emailFromName: 'Us' }]);
    for (const wrong of ['pushEnabled: true', 'emailEnabled: false', 'system: false', 'userCanDisable: true']) {
      const [field = ''] = wrong.split(':');
      const type = `${right
        .split(', ')
        .filter((flag) => !flag.startsWith(field))
        .join(', ')}, ${wrong}`;
      const refused = await refusal(database, auth(type));
      const reason = field === 'system' ? 'IMMUTABLE_FIELD' : 'SYSTEM_RECORD';
      expect([wrong, refused.reason, refused.issues.length]).toEqual([wrong, reason, 1]);
    }
    expect(
      lines(
        await apply(
          database,
          'application: {code: auth, name: Administration, description: x}\nnotificationTypes: []',
          PRUNE,
        ),
      ),
    ).toEqual(['~ application auth']);
  });

  test('no manifest creates a system type, and an exported one changes nothing', async () => {
    const { database } = fixture;
    const refused = await refusal(
      database,
      'application: {code: sys, name: S}\nnotificationTypes: [{code: own, name: Own, system: true}]',
    );
    expect([refused.reason, refused.issues.length]).toEqual(['IMMUTABLE_FIELD', 1]);
    expect(refused.issues[0]).toContain('notificationTypes.0.system: system cannot be set');
    // As an editor could set it once.
    const own = 'application: {code: sys, name: S}\nnotificationTypes: [{code: own, name: Own';
    await apply(database, `${own}}]`);
    await run(`update notification_type set system = true where code = 'own'`);
    expect(lines(await apply(database, `${own}, system: true}]`))).toEqual([]);
    expect((await refusal(database, `${own}, system: false}]`)).reason).toBe('IMMUTABLE_FIELD');
  });

  test("the panel's own permissions stay unchanged", async () => {
    for (const [permission, field] of [
      ['{code: panel.access, type: binary}', 'panel.access stays binary and global'],
      ['{code: panel.access, type: tiered, global: true}', 'panel.access stays binary and global'],
      ['{code: applications.manage, type: tiered, global: true}', 'applications.manage stays tiered, not global'],
    ] as const) {
      const refused = await refusal(
        fixture.database,
        `application: {code: auth, name: A}\npermissions: [${permission}]`,
      );
      expect(refused.issues.join()).toContain(`permissions.0: ${field} [SYSTEM_RECORD]`);
    }
  });

  test('every fault of a notification type has its place', async () => {
    const refused = await refusal(
      fixture.database,
      `${HEAD}notificationTypes:
  - {code: due}
  - {code: late, name: Late, emailEnabled: 1}
  - {code: due, name: Due, color: red}
`,
    );
    expect(refused.issues).toEqual([
      '3:5 notificationTypes.0: name is missing',
      '4:30 notificationTypes.1.emailEnabled: must be true or false, not 1',
      expect.stringMatching(/^5:\d+ notificationTypes.2.color: is an unknown field/),
    ]);
  });

  test('texts that are empty over REST are omitted, so that an export applies', async () => {
    const { database } = fixture;
    await apply(database, 'application: {code: blank, name: B}\npermissions: [{code: a, type: binary}]');
    await run(`update permission set description = '' where code = 'a'`);
    await run(`update notification_type set description = ' ', email_from_name = ''`);
    const yaml = await exported(database, 'blank');
    expect(yaml).not.toContain('description');
    expect(lines(await apply(database, yaml, PRUNE))).toEqual([]);
  });
});
