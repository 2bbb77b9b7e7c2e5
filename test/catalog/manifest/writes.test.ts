import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { addSuperadmin, removeSuperadmin } from '../../../src/persistence/people/superadmins.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { addLanguages, apply, exported, manifestsOf, query, studio } from './fixture.ts';

const DEMO = readFileSync(`${import.meta.dirname}/../../../examples/demo.yaml`, 'utf8');

forEachDatabase('writes of manifests', (fixture) => {
  beforeAll(() => addLanguages(fixture.database));

  describe('a transaction', () => {
    test('a manifest that fails in the middle leaves neither rows nor a revision', async () => {
      const { database } = fixture;
      const revision = async () => (await apply(database, DEMO)).revision;
      await apply(database, DEMO);
      const before = await revision();
      const failing = apply(database, studio('halfway'), {
        onProgress: (done) => {
          if (done > 8) throw new Error('the disk is on fire');
        },
      });
      await expect(failing).rejects.toThrow('the disk is on fire');
      await expect(exported(database, 'halfway')).rejects.toMatchObject({ code: 'NOT_FOUND' });
      expect(await revision()).toBe(before);
    });

    test('a manifest is cancelled when the caller has left', async () => {
      const { database } = fixture;
      const gone = new AbortController();
      const applying = apply(database, studio('gone'), {
        signal: gone.signal,
        onProgress: () => gone.abort(new Error('gone')),
      });
      await expect(applying).rejects.toThrow('gone');
      await expect(exported(database, 'gone')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });

    test('two concurrent manifests of one application both succeed, one after the other', async () => {
      const { database } = fixture;
      // Two instances' worth of features: they share nothing but the database.
      const [a, b] = [manifestsOf(database), manifestsOf(database)];
      const other = studio('twice').replace('name: Studio', 'name: Other').replaceAll('ben@', 'zoe@');
      const results = await Promise.all([
        a.apply(studio('twice'), { actor: 'cli', prune: true }),
        b.apply(other, { actor: 'cli', prune: true }),
        a.apply(studio('twice-more'), { actor: 'cli' }),
        b.apply(other.replace('twice', 'twice-more'), { actor: 'cli' }),
      ]);
      expect(new Set(results.map(({ revision }) => revision)).size).toBe(4);
      const last = await exported(database, 'twice');
      const name = last.includes('name: Other') ? 'zoe@example.com' : 'ben@example.com';
      expect(last.match(/(zoe|ben)@example.com/g)).toEqual([name, name]);
    });

    test('a manifest announces the people and parts that it touched', async () => {
      const { database } = fixture;
      const scopes = async () =>
        (
          await query<{ scopes: string[] }>(database, 'select scopes from policy_change order by revision desc limit 1')
        )[0]?.scopes;
      await apply(database, studio('announced'));
      expect((await scopes())?.toSorted()).toEqual([
        'm:announced:ada@example.com',
        'm:announced:ben@example.com',
        'm:announced:nora@example.com',
        'p:announced',
      ]);
      await apply(database, 'application: {code: announced}\nadmins: [ben@example.com]');
      expect(await scopes()).toEqual(['m:announced:ben@example.com']);
    });
  });

  describe('access', () => {
    test('only a current SuperAdmin applies a manifest, and a refusal leaves only its audit record', async () => {
      const { database } = fixture;
      const actor = { email: 'mallory@example.com' };
      await database.change((tx) => addSuperadmin(tx, 'root@example.com'));
      await database.change((tx) => addSuperadmin(tx, actor.email));
      await apply(database, studio('guarded'), { actor, requestId: 'request-1' });
      await database.change((tx) => removeSuperadmin(tx, actor.email));
      for (const dryRun of [true, false]) {
        await expect(apply(database, studio('guarded-2'), { actor, dryRun })).rejects.toMatchObject({
          code: 'FORBIDDEN',
        });
        await expect(apply(database, 'application: {code: guarded-2, x: y}', { actor, dryRun })).rejects.toMatchObject({
          code: 'FORBIDDEN',
        });
      }
      await expect(exported(database, 'guarded-2')).rejects.toMatchObject({ code: 'NOT_FOUND' });
      const audit = await query(
        database,
        `select actor, action, app_code, request_id from audit where actor = 'user:mallory@example.com' and action like 'manifest.%' order by id`,
      );
      expect(audit).toEqual([
        { actor: 'user:mallory@example.com', action: 'manifest.applied', appCode: 'guarded', requestId: 'request-1' },
        {
          actor: 'user:mallory@example.com',
          action: 'manifest.applied.refused',
          appCode: 'guarded-2',
          requestId: null,
        },
      ]);
    });

    test('an inactive SuperAdmin may not apply a manifest', async () => {
      const { database } = fixture;
      const actor = { email: 'blocked@example.com' };
      await database.change((tx) => addSuperadmin(tx, actor.email));
      await database.change(async ({ kysely }) => {
        await sql`update person set blocked = true where email = ${actor.email}`.execute(kysely);
        return { result: null, scopes: [`u:${actor.email}`] };
      });
      await expect(apply(database, studio('blocked'), { actor })).rejects.toMatchObject({ reason: 'USER_INACTIVE' });
    });
  });

  describe('the audit', () => {
    test('the audit has each step of a small manifest, and a list for a large one, without secrets', async () => {
      const { database } = fixture;
      await apply(database, studio('audited').replaceAll('report', 'token.report'));
      const few = await query<{ action: string; subject: string; after: unknown }>(
        database,
        `select action, subject, after from audit where app_code = 'audited' order by id`,
      );
      expect(few.map(({ action, subject }) => `${action} ${subject}`)).toEqual([
        'manifest.applied audited',
        'application.created audited',
        'entity.created project',
        'permission.created project.access',
        'permission.created project.archive',
        'permission.created token.report',
        'role.created lead',
        'role.created guest',
        'admin.created nora@example.com',
        'assignment.created ada@example.com',
        'assignment.created ada@example.com',
        'assignment.created ben@example.com',
        'override.created ben@example.com',
      ]);
      expect(few[0]?.after).toEqual({ prune: false, create: 12, change: 0, remove: 0, keep: 0 });
      expect(few[6]?.after).toMatchObject({ permissions: ['project.access: edit', 'project.archive: allowed'] });

      const roles = Array.from({ length: 1500 }, (_, at) => `  - {code: role-${at}}`);
      await apply(database, `application: {code: audited}\nroles:\n${roles.join('\n')}\n`);
      const many = await query<{ action: string; after: { part: number; of: number; changes: unknown[] } }>(
        database,
        `select action, after from audit where app_code = 'audited' and action = 'manifest.listed' order by id`,
      );
      expect(many.map(({ after }) => [after.part, after.of, after.changes.length])).toEqual([
        [1, 2, 1000],
        [2, 2, 500],
      ]);
    });
  });
});
