import { describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { compilePolicy, type Policy } from '../../src/engine/policy.ts';
import { askAbout } from '../../src/gateway/authzen/records.ts';
import { numberOf } from '../support/revisions.ts';
import { ADA, action, BEN, binary, type Facts, granted, KEY, ROOT, user, useService } from './point.ts';

/** What `{type: "application", id: <the application's code>}` means, and that AuthZEN never says yes where a check says no. */

const NO_RECORD = 'usher:application';

const facts = (code: string, more: Partial<Facts>): Facts => ({
  application: { code, name: code },
  permissions: [...binary('read', 'write'), { code: 'all', type: 'binary', global: true }],
  roles: [
    { code: 'reader', permissions: { read: 'allowed' } },
    { code: 'manager', permissions: { read: 'allowed', write: 'allowed', all: 'allowed' } },
  ],
  assignments: [
    { email: ADA, roles: ['reader'] },
    { email: BEN, roles: ['manager'] },
  ],
  overrides: [
    granted(ADA, 'write', 'application', code),
    { ...granted(BEN, 'write', 'application', code), granted: false },
    { ...granted(BEN, 'read', 'application', 'other'), granted: false },
  ],
  ...more,
});

const APPLICATION = { code: 'application', name: 'Application' };
const PAGE = { code: 'page', name: 'Page' };
/** Whether the catalog holds `application`, by application. */
const WORLDS: Record<string, [boolean, Facts]> = {
  open: [false, facts('open', {})],
  pages: [false, facts('pages', { entities: [PAGE], overrides: [granted(ADA, 'write', 'page', 'pages')] })],
  panel: [true, facts('panel', { entities: [APPLICATION] })],
  both: [true, facts('both', { entities: [PAGE, APPLICATION] })],
  strict: [
    false,
    {
      ...facts('strict', { entities: [PAGE], overrides: [] }),
      application: { code: 'strict', name: 'S', strictCodes: true },
    },
  ],
};
const PEOPLE = [ADA, BEN, ROOT, 'nobody@example.com'];
const CODES = ['read', 'write', 'all'];

describe('resources that may mean the application', () => {
  const service = useService(Object.values(WORLDS).map(([, one]) => one));

  /** What a check says of the record, or of none. */
  const check = async (app: string, email: string, permission: string, record: object | null): Promise<boolean> => {
    const { type, id } = (record ?? {}) as { type?: string; id?: string };
    const resource = record === null ? {} : { resourceType: type, resourceId: id };
    const { status, body } = await service.bare(
      '/api/check',
      { email, app, permission, ...resource },
      { 'x-internal-api-key': KEY },
    );
    expect(status).toBe(200);
    return body.data.allowed;
  };

  test.each(Object.keys(WORLDS))(
    'each door of AuthZEN answers what a check of the same meaning answers: %s',
    async (app) => {
      const [hasEntity] = WORLDS[app] as [boolean, Facts];
      const forms: [resource: { type: string; id: string }, record: object | null][] = [
        [{ type: NO_RECORD, id: app }, null],
        [{ type: 'application', id: app }, hasEntity ? { type: 'application', id: app } : null],
        ...(app === 'strict'
          ? []
          : [
              { type: 'application', id: 'other' },
              { type: 'page', id: app },
            ]
        ).map((one) => [one, one] as [typeof one, typeof one]),
      ];
      let denied = 0;
      for (const [resource, record] of forms) {
        for (const name of CODES) {
          const asked = { action: action(name), resource };
          const { body: found } = await service.ask(app, 'search/subject', { ...asked, subject: { type: 'user' } });
          for (const email of PEOPLE) {
            const expected = await check(app, email, name, record);
            if (!expected) denied++;
            const question = { ...asked, subject: user(email) };
            const one = await service.ask(app, 'evaluation', question);
            const all = await service.ask(app, 'evaluations', { evaluations: [question, question] });
            const held = await service.ask(app, 'search/action', { subject: user(email), resource });
            expect([resource, name, email, one.body.decision, all.body.evaluations.map(decisionOf)]).toEqual([
              resource,
              name,
              email,
              expected,
              [expected, expected],
            ]);
            expect([resource, name, email, held.body.results.some((it: { name: string }) => it.name === name)]).toEqual(
              [resource, name, email, expected],
            );
            expect([resource, name, email, found.results.some((it: { id: string }) => it.id === email)]).toEqual([
              resource,
              name,
              email,
              expected,
            ]);
          }
        }
      }
      expect(denied).toBeGreaterThan(0);
    },
  );

  test('the panel itself: a denying override for `auth` beats the role of a panel_admin', async () => {
    await service.usher.app.manifests.apply(
      JSON.stringify({
        application: { code: 'auth', name: 'Auth' },
        assignments: [{ email: ADA, roles: ['panel_admin'] }],
        overrides: [
          {
            email: ADA,
            resourceType: 'application',
            resourceId: 'auth',
            permission: 'applications.manage',
            granted: false,
          },
        ],
      }),
      { actor: 'cli' },
    );
    const ask = (type: string) =>
      service.ask('auth', 'evaluation', {
        subject: user(ADA),
        action: action('applications.manage'),
        resource: { type, id: 'auth' },
      });
    expect((await ask('application')).body).toMatchObject({ decision: false, context: { source: 'override' } });
    expect((await ask(NO_RECORD)).body).toMatchObject({ decision: true, context: { source: 'role' } });
  });

  test('`usher:application` with another id is denied everything, as every type that is not a code', async () => {
    const asked = { subject: user(ROOT), action: action('read'), resource: { type: NO_RECORD, id: 'other' } };
    expect((await service.ask('open', 'evaluation', asked)).body.decision).toBe(false);
    expect((await service.ask('open', 'search/action', asked)).body.results).toEqual([]);
  });

  test('a search of `usher:application` finds the application where the evaluation without a record says yes', async () => {
    for (const [email, name] of [
      [ADA, 'read'],
      [ADA, 'write'],
      [BEN, 'write'],
    ] as const) {
      const asked = { subject: user(email), action: action(name), resource: { type: NO_RECORD } };
      const { status, body } = await service.ask('panel', 'search/resource', asked);
      const expected = (await check('panel', email, name, null)) ? [{ type: NO_RECORD, id: 'panel' }] : [];
      expect([status, body.results, body.page]).toEqual([200, expected, { next_token: '', count: expected.length }]);
    }
  });

  test('a resource search lists the application as a record only where `application` is an entity', async () => {
    for (const [app, ids] of [
      ['open', []],
      ['panel', ['panel']],
    ] as const) {
      const asked = { subject: user(ADA), action: action('write'), resource: { type: 'application' } };
      const { body } = await service.ask(app, 'search/resource', asked);
      expect(body.results.map((it: { id: string }) => it.id)).toEqual(ids);
    }
  });

  test('while the entity comes and goes, each answer is that of its revision', async () => {
    const { database } = service.usher.app;
    /** By revision: whether the entity was there from then on. */
    const history: [revision: number, present: boolean][] = [[0, false]];
    let isOver = false;
    const flip = async () => {
      for (let turn = 0; turn < 60; turn++) {
        const present = turn % 2 === 0;
        const { revision } = await database.change(async (tx) => {
          if (present) {
            await sql`insert into entity (application_id, code, name) select id, 'application', 'A' from application where code = 'open'`.execute(
              tx.kysely,
            );
          } else {
            await sql`delete from entity where code = 'application' and application_id = (select id from application where code = 'open')`.execute(
              tx.kysely,
            );
          }
          return { result: null, scopes: ['p:open'] };
        });
        history.push([numberOf(revision), present]);
        // Faster changes than a door can follow are answered UNAVAILABLE.
        await answered[turn % answered.length]?.promise;
      }
      isOver = true;
    };
    const said: [revision: number, allowed: boolean][] = [];
    const question = { subject: user(BEN), action: action('write'), resource: { type: 'application', id: 'open' } };
    const doors = [
      async () => (await service.ask('open', 'evaluation', question)).body,
      async () => {
        const { body } = await service.ask('open', 'evaluations', { evaluations: [question] });
        return body.evaluations[0];
      },
      async () => {
        const { body } = await service.ask('open', 'search/action', question);
        return { decision: body.results.some((it: { name: string }) => it.name === 'write'), context: body.context };
      },
      async () => {
        const { body } = await service.ask('open', 'search/subject', { ...question, subject: { type: 'user' } });
        return { decision: body.results.some((it: { id: string }) => it.id === BEN), context: body.context };
      },
    ];
    const answered = doors.map(() => Promise.withResolvers<void>());
    const asking = doors.map(async (ask, door) => {
      while (!isOver) {
        const { decision, context } = await ask();
        said.push([numberOf(context.revision), decision]);
        answered[door]?.resolve();
        answered[door] = Promise.withResolvers();
      }
    });
    await Promise.all([flip(), ...asking]);
    const wrong = said.filter(([revision, allowed]) => {
      const present = history.findLast(([from]) => from <= revision)?.[1];
      return allowed === present;
    });
    expect(wrong).toEqual([]);
    expect(new Set(said.map(([, allowed]) => allowed))).toEqual(new Set([true, false]));
  }, 60_000);
});

const decisionOf = ({ decision }: { decision: boolean }) => decision;

describe('askAbout', () => {
  const policyOf = (...resourceTypes: string[]): Policy =>
    compilePolicy({ app: 'shop', appId: 1, strictCodes: false, resourceTypes, permissions: [], rolePermissions: [] });
  const WITH = policyOf('application');
  const WITHOUT = policyOf('page');
  const THE_SHOP = [{ type: 'application', id: 'shop' }];
  const asking = { header: () => undefined, signal: new AbortController().signal };

  /** A policy at each look, and the revision then; the last one stays. */
  function catalogs(...looks: [policy: Policy, revision: string][]) {
    return {
      peekPolicy: () => null,
      policy: async () => {
        const [policy, revision] = (looks.length > 1 ? looks.shift() : looks[0]) as [Policy, string];
        return { policy, revision };
      },
    };
  }

  test('asks again when the catalog has changed before the answer', async () => {
    const asked: boolean[] = [];
    const revisions = ['2', '3'];
    const answer = await askAbout(catalogs([WITHOUT, '1'], [WITH, '3']), 'shop', THE_SHOP, asking, (hasEntity) => {
      asked.push(hasEntity);
      return Promise.resolve({ hasEntity, revision: revisions.shift() ?? '' });
    });
    expect([asked, answer]).toEqual([[false, true], { hasEntity: true, revision: '3' }]);
  });

  test('takes the answer when other changes came between', async () => {
    const answer = await askAbout(catalogs([WITH, '1'], [WITH, '9']), 'shop', THE_SHOP, asking, (hasEntity) =>
      Promise.resolve({ hasEntity, revision: '5' }),
    );
    expect(answer).toEqual({ hasEntity: true, revision: '5' });
  });

  test('takes the answer of the revision of the policy, however often that is read again', async () => {
    const again = [policyOf('application'), policyOf('application')] as const;
    const answer = await askAbout(catalogs([again[0], '1'], [again[1], '1']), 'shop', THE_SHOP, asking, (hasEntity) =>
      Promise.resolve({ hasEntity, revision: '1' }),
    );
    expect(answer).toEqual({ hasEntity: true, revision: '1' });
  });

  test('is UNAVAILABLE where the policy changes with every look, instead of guessing', async () => {
    let number = 0;
    const engine = {
      peekPolicy: () => null,
      policy: async () => ({
        policy: policyOf(...(number % 2 === 0 ? ['application'] : ['page'])),
        revision: `${number}`,
      }),
    };
    const answer = askAbout(engine, 'shop', THE_SHOP, asking, () => Promise.resolve({ revision: `${++number}` }));
    await expect(answer).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  test('looks at no policy for another resource, or an application that cannot exist', async () => {
    const engine = {
      peekPolicy: () => {
        throw new Error('looked');
      },
      policy: () => Promise.reject(new Error('looked')),
    };
    const ask = (hasEntity: boolean) => ({ hasEntity, revision: '1' });
    const others = [
      { type: 'application', id: 'x' },
      { type: NO_RECORD, id: 'shop' },
      { type: 'page', id: 'shop' },
    ];
    expect(await askAbout(engine, 'shop', others, asking, ask)).toEqual({ hasEntity: false, revision: '1' });
    const odd = [{ type: 'application', id: 'No Code' }];
    expect(await askAbout(engine, 'No Code', odd, asking, ask)).toEqual({ hasEntity: false, revision: '1' });
  });
});
