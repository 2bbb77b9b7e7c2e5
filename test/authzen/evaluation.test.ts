import { describe, expect, test } from '@jest/globals';
import { pick, seeded } from '../oracle/world.ts';
import {
  ADA,
  action,
  BEN,
  BOSS,
  binary,
  type Facts,
  granted,
  issuesOf,
  KEY,
  type Override,
  pathOf,
  ROOT,
  user,
  useService,
} from './point.ts';

/** What AuthZEN's evaluations mean in Usher, and that they decide what a check decides. */

const NOBODY = 'nobody@example.com';

const denied = (email: string, permission: string, resourceType: string, resourceId: string): Override => ({
  ...granted(email, permission, resourceType, resourceId),
  granted: false,
});

const shop: Facts = {
  application: { code: 'shop', name: 'Shop' },
  permissions: [
    { code: 'pages', type: 'tiered' },
    { code: 'pay', type: 'binary' },
    { code: 'settings', type: 'tiered', global: true },
  ],
  roles: [
    { code: 'reader', permissions: { pages: 'view', settings: 'view' } },
    { code: 'editor', permissions: { pages: 'edit', pay: 'allowed' } },
  ],
  assignments: [
    { email: ADA, roles: ['reader'] },
    { email: BEN, roles: ['editor'] },
  ],
  overrides: [
    { ...granted(ADA, 'pages', 'page', '7'), accessLevel: 'edit' },
    denied(ADA, 'pages', 'page', 'a:b/%_\\'),
    denied(BEN, 'pages', 'application', 'shop'),
    granted(ADA, 'pay', 'application', 'shop'),
  ],
  admins: [BOSS],
};

const strict: Facts = {
  application: { code: 'strict', name: 'Strict', strictCodes: true },
  entities: [{ code: 'page', name: 'Page' }],
  permissions: binary('read'),
  overrides: [granted(ADA, 'read', 'page', '1')],
};

const THE_SHOP = { type: 'application', id: 'shop' };
const page = (id: string) => ({ type: 'page', id });
const atLevel = (name: string, accessLevel: unknown) => ({ name, properties: { accessLevel } });

describe('evaluations', () => {
  const service = useService([shop, strict]);

  const evaluate = (body: unknown, headers?: Record<string, string>) =>
    service.ask('shop', 'evaluation', body, headers);
  const evaluateAll = (body: unknown, headers?: Record<string, string>) =>
    service.ask('shop', 'evaluations', body, headers);
  const decisionsOf = (body: { evaluations: { decision: boolean }[] }) => body.evaluations.map((one) => one.decision);

  test.each<[string, object, boolean, string | null, string | null]>([
    ['by role', { subject: user(BEN), action: action('pay'), resource: page('1') }, true, 'role', 'allowed'],
    [
      'in any case',
      { subject: user('BEN@Example.com'), action: action('pay'), resource: page('1') },
      true,
      'role',
      'allowed',
    ],
    [
      'by override',
      { subject: user(ADA), action: atLevel('pages', 'edit'), resource: page('7') },
      true,
      'override',
      'edit',
    ],
    [
      'below a level',
      { subject: user(ADA), action: atLevel('pages', 'edit'), resource: page('8') },
      false,
      'role',
      'view',
    ],
    ['at a level', { subject: user(ADA), action: atLevel('pages', 'view'), resource: page('8') }, true, 'role', 'view'],
    ['at any level', { subject: user(ADA), action: atLevel('pages', null), resource: page('8') }, true, 'role', 'view'],
    [
      'denied by override',
      { subject: user(ADA), action: action('pages'), resource: page('a:b/%_\\') },
      false,
      'override',
      null,
    ],
    ['without a record', { subject: user(ADA), action: action('settings'), resource: THE_SHOP }, true, 'role', 'view'],
    // An override for a record that is called like the application is none for the application.
    [
      'without a record, denied one',
      { subject: user(BEN), action: action('pages'), resource: THE_SHOP },
      true,
      'role',
      'edit',
    ],
    [
      'without a record, granted one',
      { subject: user(ADA), action: action('pay'), resource: THE_SHOP },
      false,
      null,
      null,
    ],
    [
      'for another application',
      { subject: user(BEN), action: action('pay'), resource: { ...THE_SHOP, id: 'x' } },
      true,
      'role',
      'allowed',
    ],
    [
      'by being an administrator',
      { subject: user(BOSS), action: action('pay'), resource: page('1') },
      true,
      'app_admin',
      'allowed',
    ],
    [
      'by being a SuperAdmin',
      { subject: user(ROOT), action: action('pay'), resource: page('1') },
      true,
      'superadmin',
      'edit',
    ],
    ['nobody', { subject: user(NOBODY), action: action('pay'), resource: page('1') }, false, null, null],
    ['no address', { subject: user('ben'), action: action('pay'), resource: page('1') }, false, null, null],
    ['no code', { subject: user(BEN), action: action('pay now!'), resource: page('1') }, false, null, null],
    [
      'a subject of another type',
      { subject: { type: 'service', id: ROOT }, action: action('pay'), resource: page('1') },
      false,
      null,
      null,
    ],
    [
      'a type in upper case',
      { subject: { type: 'User', id: ROOT }, action: action('pay'), resource: page('1') },
      false,
      null,
      null,
    ],
  ])('an evaluation has the decision and its source: %s', async (_, body, decision, source, level) => {
    const { status, headers, body: said } = await evaluate(body);
    const revision = headers.get('usher-revision');
    expect([status, said]).toEqual([200, { decision, context: { source, access_level: level, revision } }]);
    expect(revision).toMatch(/^\d/);
    expect((await evaluateAll({ evaluations: [body] })).body).toEqual({ evaluations: [said] });
  });

  test('an evaluation in an unknown application is denied', async () => {
    for (const app of ['nowhere', 'No%20Code']) {
      const asked = { subject: user(BEN), action: action('pay'), resource: page('1') };
      expect((await service.ask(app, 'evaluation', asked)).body).toMatchObject({ decision: false });
      const { body } = await service.ask(app, 'evaluations', { evaluations: [asked, asked] });
      expect(decisionsOf(body)).toEqual([false, false]);
    }
  });

  const QUESTION = { subject: user(BEN), action: action('pay'), resource: page('1') };

  test.each<[string, object, string[]]>([
    [
      'a level that nobody can ask for',
      { action: atLevel('pages', 'allowed') },
      ['action.properties.accessLevel: must be view or edit'],
    ],
    [
      'a level that is not a string',
      { action: atLevel('pages', 1) },
      ['action.properties.accessLevel: must be view or edit'],
    ],
    [
      'properties that are not an object',
      { subject: { ...user(BEN), properties: 'x' } },
      ['subject.properties: must be an object'],
    ],
    ['a context that is not an object', { context: [] }, ['context: must be an object']],
    ['an empty id', { resource: page('') }, ['resource.id: must not be empty']],
    ['an empty type of a subject', { subject: { type: '', id: BEN } }, ['subject.type: must not be empty']],
    ['an id that is a number', { resource: { type: 'page', id: 1 } }, ['resource.id: must be a string']],
    ['an id that is null', { resource: { type: 'page', id: null } }, ['resource.id: must be a string']],
    ['too long an id', { resource: page('x'.repeat(257)) }, ['resource.id: must be at most 256 characters']],
    ['too long a name', { action: action('x'.repeat(129)) }, ['action.name: must be at most 128 characters']],
    [
      'a control character in an address',
      { subject: user('a\u0007@example.com') },
      ['subject.id: must not hold control characters or lone surrogates'],
    ],
    [
      'several faults, of a subject that would be denied too',
      { subject: { type: 'service', id: 'x' }, action: action('x'.repeat(129)), resource: page('x\n') },
      [
        'action.name: must be at most 128 characters',
        'resource.id: must not hold control characters or lone surrogates',
      ],
    ],
  ])('an evaluation is refused with the place of the fault, alone and among others: %s', async (_, fault, issues) => {
    const alone = await evaluate({ ...QUESTION, ...fault });
    expect([alone.status, alone.body.details.code, issuesOf(alone)]).toEqual([400, 'VALIDATION_FAILED', issues]);
    const among = await evaluateAll({ evaluations: [QUESTION, { ...QUESTION, ...fault }] });
    expect([among.status, among.body.evaluations]).toEqual([400, undefined]);
    expect(issuesOf(among)).toEqual(issues.map((issue) => `evaluations.1.${issue}`));
  });

  test('a malformed evaluation refuses the whole call, even after the evaluation that ends it', async () => {
    const answer = await evaluateAll({
      ...QUESTION,
      evaluations: [{}, { resource: { type: 'page' } }],
      options: { evaluations_semantic: 'permit_on_first_permit' },
    });
    expect([answer.status, issuesOf(answer)]).toEqual([400, ['evaluations.1.resource.id: is required']]);
  });

  test.each<[string, object, string[]]>([
    [
      'what neither an evaluation nor a default has',
      { subject: user(BEN), evaluations: [{ action: action('pay') }, { resource: page('1') }] },
      [
        'evaluations.0.resource: is required: here, or as a default beside `evaluations`',
        'evaluations.1.action: is required: here, or as a default beside `evaluations`',
      ],
    ],
    [
      'a default that is used and not whole, once',
      { ...QUESTION, resource: { type: 'page' }, evaluations: [{}, {}, { resource: page('1') }] },
      ['resource.id: is required'],
    ],
    [
      'half an entity, which takes nothing from its default',
      { ...QUESTION, evaluations: [{ resource: { id: '1' } }] },
      ['evaluations.0.resource.type: is required'],
    ],
    [
      'another semantic',
      { ...QUESTION, evaluations: [{}], options: { evaluations_semantic: 'all' } },
      ['options.evaluations_semantic: must be execute_all or deny_on_first_deny or permit_on_first_permit'],
    ],
    [
      'options that are not an object',
      { ...QUESTION, evaluations: [{}], options: 'execute_all' },
      ['options: must be an object'],
    ],
    ['evaluations that are not a list', { ...QUESTION, evaluations: {} }, ['evaluations: must be an array']],
    ['an evaluation that is not an object', { ...QUESTION, evaluations: ['x'] }, ['evaluations.0: must be an object']],
    [
      '1,001 evaluations',
      { ...QUESTION, evaluations: Array.from({ length: 1001 }, () => ({})) },
      ['evaluations: must hold at most 1000 items'],
    ],
  ])('a call of evaluations is refused: %s', async (_, body, issues) => {
    const answer = await evaluateAll(body);
    expect([answer.status, issuesOf(answer)]).toEqual([400, issues]);
  });

  test('a thousand evaluations are answered at one revision', async () => {
    const evaluations = Array.from({ length: 1000 }, (_, index) => ({ resource: page(`${index}`) }));
    const { body } = await evaluateAll({ subject: user(ADA), action: atLevel('pages', 'edit'), evaluations });
    expect(decisionsOf(body)).toEqual(evaluations.map(({ resource }) => resource.id === '7'));
    const revisions = new Set(body.evaluations.map((one: { context: { revision: string } }) => one.context.revision));
    expect(revisions.size).toBe(1);
  });

  test('a default that no evaluation uses may be incomplete, and null is absent', async () => {
    const { status, body } = await evaluateAll({
      subject: {},
      action: { name: 'pay', properties: null },
      resource: null,
      evaluations: [
        { ...QUESTION, context: null },
        { subject: user(ADA), action: null, resource: page('1') },
      ],
      options: null,
    });
    expect([status, decisionsOf(body)]).toEqual([200, [true, false]]);
  });

  test('the action of an evaluation does not inherit the level of the default action', async () => {
    const { body } = await evaluateAll({
      subject: user(ADA),
      action: atLevel('pages', 'edit'),
      resource: page('8'),
      evaluations: [{}, { action: action('pages') }],
    });
    expect(decisionsOf(body)).toEqual([false, true]);
  });

  test('evaluations in a strict application are refused with the place of an undefined code', async () => {
    const good = { subject: user(ADA), action: action('read'), resource: page('1') };
    const bad = { ...good, action: action('raed') };
    const single = await service.ask('strict', 'evaluation', bad);
    expect([single.status, single.body.details]).toMatchObject([400, { code: 'UNKNOWN_CODE', path: 'action.name' }]);
    const among = await service.ask('strict', 'evaluations', { evaluations: [good, bad] });
    expect(among.body.details).toMatchObject({ code: 'UNKNOWN_CODE', path: 'evaluations.1.action.name' });
    const typed = await service.ask('strict', 'evaluation', { ...good, resource: { type: 'pgae', id: '1' } });
    expect(typed.body.details).toMatchObject({ code: 'UNKNOWN_CODE', path: 'resource.type' });
    const robot = await service.ask('strict', 'evaluation', { ...bad, subject: { type: 'service', id: 'x' } });
    expect([robot.status, robot.body.decision]).toEqual([200, false]);
  });

  test('evaluations are as fresh as a given revision, and an unknown revision is refused', async () => {
    const { headers } = await evaluate(QUESTION);
    const revision = headers.get('usher-revision') ?? '';
    for (const ask of [
      evaluate,
      (body: object, more: Record<string, string>) => evaluateAll({ evaluations: [body] }, more),
    ]) {
      const fresh = await ask(QUESTION, { 'usher-min-revision': revision });
      expect([fresh.status, fresh.headers.get('usher-revision')]).toEqual([200, revision]);
      for (const never of ['', 'x', `${revision.split('.')[0]}.nonsense`]) {
        const answer = await ask(QUESTION, { 'usher-min-revision': never });
        expect([never, answer.status, answer.body.details?.code]).toEqual([never, 400, 'UNKNOWN_REVISION']);
      }
    }
  });

  test("a body above the endpoint's limit is 413", async () => {
    const asked = { ...QUESTION, context: { x: 'x'.repeat(70_000) } };
    expect((await evaluate(asked)).status).toBe(413);
    expect((await evaluateAll(asked)).status).toBe(200);
    expect((await evaluateAll({ ...asked, context: { x: 'x'.repeat(1 << 20) } })).status).toBe(413);
  });

  test('an evaluation decides random questions like a check', async () => {
    const random = seeded(19);
    const emails = [ADA, BEN, BOSS, ROOT, NOBODY, 'Ada@Example.com', 'ada', 'x@y@z'];
    const permissions = ['pages', 'pay', 'settings', 'undefined.one', 'constructor', 'Bad code'];
    const resources = [page('7'), page('8'), page('a:b/%_\\'), THE_SHOP, { type: 'Bad type', id: '1' }];
    const apps = ['shop', 'shop', 'nowhere'];
    const questions = Array.from({ length: 600 }, () => {
      const resource = pick(random, resources);
      const accessLevel = pick(random, ['any', 'view', 'edit']);
      const app = pick(random, apps);
      const [email, permission] = [pick(random, emails), pick(random, permissions)];
      const isPlain = resource === THE_SHOP && app === 'shop';
      return {
        app,
        asked: {
          subject: user(email),
          action: accessLevel === 'any' ? action(permission) : atLevel(permission, accessLevel),
          resource,
        },
        check: {
          email,
          app,
          permission,
          accessLevel: accessLevel === 'any' ? null : accessLevel,
          ...(isPlain ? {} : { resourceType: resource.type, resourceId: resource.id }),
        },
      };
    });
    const key = { 'x-internal-api-key': KEY };
    const { body } = await service.bare('/api/check/batch', { checks: questions.map(({ check }) => check) }, key);
    const expected = body.data.results.map(
      ({ allowed, source, accessLevel }: { allowed: boolean; source: string; accessLevel: string }) => {
        return { decision: allowed, context: { source, access_level: accessLevel, revision: expect.any(String) } };
      },
    );
    expect(new Set(expected.map((one: { decision: boolean }) => one.decision)).size).toBe(2);
    for (const app of new Set(apps)) {
      const mine = questions.flatMap((question, index) => (question.app === app ? [{ ...question, index }] : []));
      const answer = await service.ask(app, 'evaluations', { evaluations: mine.map(({ asked }) => asked) });
      expect(answer.body.evaluations).toEqual(mine.map(({ index }) => expected[index]));
      for (const { asked, check, index } of mine.slice(0, 150)) {
        const single = await service.bare(pathOf(app, 'evaluation'), asked, key);
        expect([check, single.body]).toEqual([check, expected[index]]);
      }
    }
  }, 60_000);
});
