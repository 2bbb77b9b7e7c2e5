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

describe('notification types (contract 11)', () => {
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

  test('an application is made with `generic`, named or not, and keeps it', async () => {
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

  test('are made, changed and pruned, each with its audit record and without a policy change', async () => {
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
    ).toEqual([{ user_can_disable: false, email_from_name: 'Shop' }]);
  });

  test('one that templates or notifications are of does not go', async () => {
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

  test('what a system type is, it stays', async () => {
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
    ).toEqual([{ name: 'Mail', push_enabled: false, email_from_name: 'Us' }]);
    for (const wrong of ['pushEnabled: true', 'emailEnabled: false', 'system: false', 'userCanDisable: true']) {
      const [field = ''] = wrong.split(':');
      const type = `${right
        .split(', ')
        .filter((flag) => !flag.startsWith(field))
        .join(', ')}, ${wrong}`;
      const refused = await refusal(database, auth(type));
      expect([wrong, refused.reason, refused.issues.length]).toEqual([wrong, 'SYSTEM_RECORD', 1]);
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

  test('every fault has its place', async () => {
    const refused = await refusal(
      fixture.database,
      `${HEAD}notificationTypes:
  - {code: due}
  - {code: late, name: Late, emailEnabled: 1}
  - {code: due, name: Due, colour: red}
`,
    );
    expect(refused.issues).toEqual([
      '3:5 notificationTypes.0: name is missing',
      '4:30 notificationTypes.1.emailEnabled: must be true or false, not 1',
      expect.stringMatching(/^5:\d+ notificationTypes.2.colour: is no field here/),
    ]);
  });

  test('texts that are empty over REST are left out, so that an export applies', async () => {
    const { database } = fixture;
    await apply(database, 'application: {code: blank, name: B}\npermissions: [{code: a, type: binary}]');
    await run(`update permission set description = '' where code = 'a'`);
    await run(`update notification_type set description = ' ', email_from_name = ''`);
    const yaml = await exported(database, 'blank');
    expect(yaml).not.toContain('description');
    expect(lines(await apply(database, yaml, PRUNE))).toEqual([]);
  });
});
