import { ConnectError, createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { Level } from '../../src/engine/types.ts';
import { BadRequestSchema, ErrorInfoSchema } from '../../src/gen/google/rpc/error_details_pb.ts';
import { AccessLevel, PermissionService, ResourceScope } from '../../src/gen/usher/permission/v1/permission_pb.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { insertApplication, insertOverride, insertUserRole, personId } from '../support/rows.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/** Who can, and what somebody can reach: the same at every door, and the same refusals. */

const KEY = 'a-key-that-may-ask-checks';
const OTHER_KEY = 'a-key-that-may-only-notify';
const BOSS = 'boss@example.com';
const ROOT = 'root@example.com';
const ADA = 'ada@example.com';
const PLAIN = 'plain@example.com';

interface SubjectsAsked {
  app?: string;
  permission?: string;
  resourceType?: string | undefined;
  resourceId?: string | undefined;
  accessLevel?: 'view' | 'edit' | undefined;
  limit?: number;
  cursor?: string;
  minRevision?: string;
}
interface ResourcesAsked extends Omit<SubjectsAsked, 'resourceId'> {
  email?: string;
}

interface Said {
  said: unknown;
  next: string;
  revision: string;
}

/** What a door refuses with: the reason, and the field that it names, in its own words. */
class Refusal extends Error {
  readonly reason: string | undefined;
  readonly path: string | undefined;
  readonly status: number;
  constructor(status: number, reason: string | undefined, path: string | undefined) {
    super(`${status} ${reason} ${path}`);
    this.status = status;
    this.reason = reason;
    this.path = path;
  }
}

interface Door {
  name: string;
  /** What its protocol calls the fields. */
  names: { limit: string; cursor: string; resourceType: string };
  /** Whether the application stands in the question; else in the path. */
  namesApp: boolean;
  subjects?: (asked: SubjectsAsked) => Promise<Said>;
  resources: (asked: ResourcesAsked) => Promise<Said>;
}

const LEVELS = [null, 'allowed', 'view', 'edit'];
const SOURCES = [null, 'role', 'override', 'superadmin', 'app_admin'];

function rpcDoor(name: string, transport: ReturnType<typeof createConnectTransport>): Door {
  const client = createClient(PermissionService, transport);
  const options = { headers: { 'x-internal-api-key': KEY } };
  const fields = ({ limit, cursor, accessLevel, ...asked }: ResourcesAsked) => ({
    ...asked,
    ...(accessLevel === undefined ? {} : { accessLevel: accessLevel === 'view' ? AccessLevel.VIEW : AccessLevel.EDIT }),
    ...(limit === undefined ? {} : { pageSize: limit }),
    ...(cursor === undefined ? {} : { pageToken: cursor }),
  });
  const refused = (error: unknown): never => {
    if (!(error instanceof ConnectError)) throw error;
    const [violation] = error.findDetails(BadRequestSchema)[0]?.fieldViolations ?? [];
    const info = error.findDetails(ErrorInfoSchema)[0];
    throw new Refusal(error.code, info?.reason, violation?.field ?? info?.metadata.path);
  };
  return {
    name,
    names: { limit: 'page_size', cursor: 'page_token', resourceType: 'resource_type' },
    namesApp: true,
    subjects: async (asked) => {
      const answer = await client.listSubjects(fields(asked) as object, options).catch(refused);
      const said = answer.subjects.map(({ email, accessLevel, source }) => {
        return { email, accessLevel: LEVELS[accessLevel], source: SOURCES[source] };
      });
      return { said: { subjects: said }, next: answer.nextPageToken, revision: answer.revision };
    },
    resources: async (asked) => {
      const answer = await client.listResources(fields(asked) as object, options).catch(refused);
      const { scope, resourceIds } = answer;
      const word = scope === ResourceScope.ALL_EXCEPT ? 'all' : scope === ResourceScope.ONLY ? 'only' : 'unknown';
      return { said: { scope: word, resourceIds }, next: answer.nextPageToken, revision: answer.revision };
    },
  };
}

function restDoor(
  name: string,
  rest: Rest,
  { path, namesApp, key }: { path: (app: string) => string; namesApp: boolean; key?: string },
): Door {
  const ask = async (what: string, asked: ResourcesAsked): Promise<Said> => {
    const { minRevision, app = 'shop', ...body } = asked;
    const headers = {
      ...(key === undefined ? {} : { 'x-internal-api-key': key }),
      ...(minRevision === undefined ? {} : { 'usher-min-revision': minRevision }),
    };
    const sent = namesApp ? { ...('app' in asked ? { app: asked.app } : {}), ...body } : body;
    const answer = await rest.post(`${path(app)}/${what}`, sent, headers);
    if (answer.status !== 200) {
      const { details } = answer.body as { details?: { code?: string; path?: string; issues?: { path: string }[] } };
      throw new Refusal(answer.status, details?.code, details?.issues?.[0]?.path ?? details?.path);
    }
    const { success, data, page, ...bare } = answer.body as {
      success?: boolean;
      data?: object;
      page: { nextCursor: string | null };
    };
    expect(success).toBe(data === undefined ? undefined : true);
    return { said: data ?? bare, next: page.nextCursor ?? '', revision: answer.headers.get('usher-revision') ?? '' };
  };
  return {
    name,
    names: { limit: 'limit', cursor: 'cursor', resourceType: 'resourceType' },
    namesApp,
    subjects: (asked) => ask('subjects', asked),
    resources: (asked) => ask('resources', asked),
  };
}

async function openDoors(usher: RunningUsher): Promise<Door[]> {
  const base = { baseUrl: usher.rest, httpVersion: '1.1' as const };
  const nobody = await Rest.as(usher);
  const path = (app: string) => `/api/applications/${app}`;
  const own = restDoor('REST user-scoped', await Rest.as(usher, ADA), {
    path: () => '/api/profile/me/check',
    namesApp: true,
  });
  return [
    rpcDoor('gRPC', createGrpcTransport({ baseUrl: `http://${usher.grpc}` })),
    rpcDoor('Connect JSON', createConnectTransport({ ...base, useBinaryFormat: false })),
    rpcDoor('Connect binary', createConnectTransport({ ...base, useBinaryFormat: true })),
    rpcDoor('gRPC-Web', createGrpcWebTransport(base)),
    restDoor('REST', nobody, { path: () => '/api/check', namesApp: true, key: KEY }),
    restDoor('REST of an application admin', await Rest.as(usher, BOSS), { path, namesApp: false }),
    restDoor('REST of a SuperAdmin', await Rest.as(usher, ROOT), { path, namesApp: false }),
    {
      ...own,
      subjects: undefined as never,
      resources: (asked) => own.resources(without(asked, 'email')),
    },
  ];
}

const withSubjects = (doors: readonly Door[]) =>
  doors.filter(({ subjects }) => subjects !== undefined) as Required<Door>[];

async function refusal(asking: Promise<unknown>): Promise<Refusal> {
  const error = await asking.then(
    () => new Error('answered'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Refusal)) throw error;
  return error;
}

const WHO = { app: 'shop', permission: 'pages' };
const WHAT = { email: ADA, app: 'shop', permission: 'pages', resourceType: 'page' };
/** Of identifiers that a pattern, a path or a key made of parts would trip over. */
const ODD = ['%', '100%', '_', 'a\\b', 'a:b', 'a/b?c#d', "'; --", 'ř"{}', '\u{1f600}'];

describe('lists at every door', () => {
  let storage: TestStorage;
  let usher: RunningUsher;
  let second: RunningUsher;
  let doors: Door[];
  let doorsOfSecond: Door[];

  const change = (email: string, work: string) =>
    usher.app.database.change(async (tx) => {
      await sql.raw(work).execute(tx.kysely);
      return { result: null, scopes: [`m:shop:${email}`] };
    });

  beforeAll(async () => {
    storage = await createStorage('postgresql');
    const env = { INTERNAL_API_KEY: `asks:check:${KEY},sends:notify:${OTHER_KEY}`, SUPERADMINS: ROOT };
    usher = await startUsher(storage, { env });
    await usher.app.database.change(async (tx) => {
      const app = await insertApplication(tx, 'shop', {
        permissions: { pages: { tiered: true }, pay: {}, settings: { tiered: true, global: true } },
        roles: {
          reader: { pages: Level.VIEW, settings: Level.VIEW },
          editor: { pages: Level.EDIT, pay: Level.ALLOWED },
        },
      });
      for (const email of [ADA, 'ben@example.com', 'gone@example.com']) await insertUserRole(tx, app, email, 'reader');
      await insertUserRole(tx, app, 'cyd@example.com', 'editor');
      const boss = await personId(tx, BOSS);
      await tx.kysely.insertInto('app_admin').values({ person_id: boss, application_id: app.id }).execute();
      await sql`update person set blocked = true where email = 'gone@example.com'`.execute(tx.kysely);
      const override = { type: 'page', tiered: true, permission: 'pages' };
      for (const id of ODD) await insertOverride(tx, app, ADA, { ...override, id, level: Level.NONE });
      await insertOverride(tx, app, ADA, { ...override, id: '7', level: Level.EDIT });
      await insertOverride(tx, app, 'only@example.com', { ...override, id: '100%', level: Level.VIEW });
      await insertOverride(tx, app, ADA, { ...override, id: '7', permission: 'settings', level: Level.NONE });
      const strict = await insertApplication(tx, 'strict', { permissions: { pages: {} } });
      await sql`update application set strict_codes = true where id = ${strict.id}`.execute(tx.kysely);
      await sql`insert into entity (application_id, code, name) values (${strict.id}, 'page', 'Page')`.execute(
        tx.kysely,
      );
      return { result: null, scopes: ['*'] };
    });
    second = await startUsher(storage, { env });
    doors = await openDoors(usher);
    doorsOfSecond = await openDoors(second);
  }, 120_000);

  afterAll(async () => {
    await second?.close();
    await usher?.close();
    await storage?.remove();
  }, 60_000);

  const subject = (email: string, accessLevel: string, source: string) => ({ email, accessLevel, source });

  test.each<[string, SubjectsAsked, unknown[]]>([
    [
      'by role, administrators and SuperAdmins included, inactive people not',
      WHO,
      [
        subject(ROOT, 'edit', 'superadmin'),
        subject(ADA, 'view', 'role'),
        subject('ben@example.com', 'view', 'role'),
        subject('cyd@example.com', 'edit', 'role'),
        subject(BOSS, 'edit', 'app_admin'),
      ],
    ],
    [
      'for one record: an override that denies takes somebody out, one that grants puts a stranger in',
      { ...WHO, resourceType: 'page', resourceId: '100%' },
      [
        subject(ROOT, 'edit', 'superadmin'),
        subject('ben@example.com', 'view', 'role'),
        subject('cyd@example.com', 'edit', 'role'),
        subject(BOSS, 'edit', 'app_admin'),
        subject('only@example.com', 'view', 'override'),
      ],
    ],
    [
      'for one record and a level: a higher level by override counts, a lower one by role does not',
      { ...WHO, resourceType: 'page', resourceId: '7', accessLevel: 'edit' },
      [
        subject(ROOT, 'edit', 'superadmin'),
        subject(ADA, 'edit', 'override'),
        subject('cyd@example.com', 'edit', 'role'),
        subject(BOSS, 'edit', 'app_admin'),
      ],
    ],
    [
      'a global permission ignores overrides',
      { ...WHO, permission: 'settings', resourceType: 'page', resourceId: '7' },
      [
        subject(ROOT, 'edit', 'superadmin'),
        subject(ADA, 'view', 'role'),
        subject('ben@example.com', 'view', 'role'),
        subject(BOSS, 'edit', 'app_admin'),
      ],
    ],
    [
      'a binary permission ignores the level',
      { ...WHO, permission: 'pay', accessLevel: 'edit' },
      [
        subject(ROOT, 'edit', 'superadmin'),
        subject('cyd@example.com', 'allowed', 'role'),
        subject(BOSS, 'allowed', 'app_admin'),
      ],
    ],
    [
      'of a permission that is not defined, administrators',
      { ...WHO, permission: 'undefined', accessLevel: 'edit' },
      [subject(ROOT, 'edit', 'superadmin'), subject(BOSS, 'allowed', 'app_admin')],
    ],
    ['of a permission whose code is malformed, nobody', { ...WHO, permission: 'no code' }, []],
  ])('who can: %s', async (_, asked, subjects) => {
    const answers = await Promise.all(withSubjects(doors).map((door) => door.subjects(asked)));
    const { revision } = usher.app.engine;
    expect(answers).toEqual(answers.map(() => ({ said: { subjects }, next: '', revision })));
  });

  test.each<[string, ResourcesAsked, unknown]>([
    ['all but what overrides deny', WHAT, { scope: 'all', resourceIds: ODD.toSorted(byBytes) }],
    [
      'only what an override raises to the level',
      { ...WHAT, accessLevel: 'edit' },
      { scope: 'only', resourceIds: ['7'] },
    ],
    [
      'of a global permission all, whatever overrides say',
      { ...WHAT, permission: 'settings' },
      { scope: 'all', resourceIds: [] },
    ],
    ['of a type without overrides', { ...WHAT, resourceType: 'invoice' }, { scope: 'all', resourceIds: [] }],
    ['of a permission that is not held', { ...WHAT, permission: 'pay' }, { scope: 'only', resourceIds: [] }],
    ['in an application that does not exist', { ...WHAT, app: 'nowhere' }, { scope: 'only', resourceIds: [] }],
    ['of a malformed type', { ...WHAT, resourceType: 'a b' }, { scope: 'only', resourceIds: [] }],
  ])('what somebody can reach: %s', async (_, asked, said) => {
    const asking = asked.app === 'shop' ? doors : doors.filter(({ namesApp }) => namesApp);
    const answers = await Promise.all(asking.map((door) => door.resources(asked)));
    const { revision } = usher.app.engine;
    expect(answers).toEqual(answers.map(() => ({ said, next: '', revision })));
  });

  test('nobody but SuperAdmins holds anything in an application that does not exist, and administrators are told that', async () => {
    for (const door of withSubjects(doors)) {
      const asking = door.subjects({ ...WHO, app: 'nowhere' });
      if (door.namesApp) expect((await asking).said).toEqual({ subjects: [subject(ROOT, 'edit', 'superadmin')] });
      else expect((await refusal(asking)).status).toBe(door.name.includes('SuperAdmin') ? 404 : 403);
    }
  });

  test('page after page, a cursor of one door and instance serves at all that ask the same question', async () => {
    for (const [asks, what] of [
      [withSubjects(doors).map((door) => door.subjects), WHO],
      [doors.map((door) => door.resources), WHAT],
    ] as const) {
      const whole = Object.values((await asks[0]?.(what as never))?.said as object).at(-1) as unknown[];
      const others = withSubjects(doorsOfSecond).map((door) =>
        asks.length === doors.length ? door.resources : door.subjects,
      );
      const pages: unknown[] = [];
      let cursor: string | undefined;
      for (let turn = 0; cursor !== '' && turn < 50; turn++) {
        const ask = [...asks, ...others][turn % (asks.length + others.length)];
        const page = await ask?.({ ...what, limit: 1, ...(cursor === undefined ? {} : { cursor }) } as never);
        const listed = Object.values(page?.said as object).at(-1) as unknown[];
        expect(listed.length).toBeLessThanOrEqual(1);
        pages.push(...listed);
        cursor = page?.next ?? '';
        expect(cursor.length).toBeLessThanOrEqual(512);
      }
      expect(pages).toEqual(whole);
    }
  });

  test.each<[string, Partial<ResourcesAsked>, string, string]>([
    ['a limit beyond the largest', { limit: 10_001 }, 'VALIDATION_FAILED', 'limit'],
    ['a negative limit', { limit: -1 }, 'VALIDATION_FAILED', 'limit'],
    ['a cursor that is none', { cursor: 'AAAA' }, 'VALIDATION_FAILED', 'cursor'],
    ['a cursor beyond 512 characters', { cursor: 'A'.repeat(513) }, 'VALIDATION_FAILED', 'cursor'],
    ['control characters', { permission: 'a\u0000b' }, 'VALIDATION_FAILED', 'permission'],
    ['a code that is too long', { resourceType: 'a'.repeat(65) }, 'VALIDATION_FAILED', 'resourceType'],
    [
      'a cursor beside a question that names nothing',
      { permission: 'a b', cursor: 'AAAA' },
      'VALIDATION_FAILED',
      'cursor',
    ],
    ['a revision that is none', { minRevision: 'x' }, 'UNKNOWN_REVISION', ''],
    ['a revision of the future', { minRevision: '999999.1' }, 'UNKNOWN_REVISION', ''],
  ])('%s is refused', async (_, wrong, reason, field) => {
    for (const door of doors) {
      const path = field === '' ? undefined : (door.names[field as keyof Door['names']] ?? field);
      const refused = [await refusal(door.resources({ ...WHAT, ...wrong }))];
      if (wrong.resourceType === undefined && door.subjects !== undefined) {
        refused.push(await refusal(door.subjects({ ...WHO, ...wrong } as SubjectsAsked)));
      }
      for (const one of refused) expect([door.name, one.reason, one.path]).toEqual([door.name, reason, path]);
    }
  });

  test('half a record, or none where one is needed, is refused', async () => {
    for (const door of withSubjects(doors)) {
      expect(await refusal(door.subjects({ ...WHO, resourceType: 'page' }))).toMatchObject({
        reason: 'INCOMPLETE_RESOURCE',
      });
      expect(await refusal(door.subjects({ ...WHO, resourceId: '7' }))).toMatchObject({
        reason: 'INCOMPLETE_RESOURCE',
      });
    }
    const { resourceType: _, ...none } = WHAT;
    for (const door of doors) {
      expect(await refusal(door.resources(none))).toMatchObject({
        reason: 'VALIDATION_FAILED',
        path: door.names.resourceType,
      });
    }
  });

  test('fields that a question does not have are refused, as is the question of a user about another', async () => {
    const root = await Rest.as(usher, ROOT);
    const ada = await Rest.as(usher, ADA);
    const nobody = await Rest.as(usher);
    const key = { 'x-internal-api-key': KEY };
    const { app, ...who } = WHO;
    const { app: _, email, ...what } = WHAT;
    const wrong = await Promise.all([
      nobody.post('/api/check/subjects', { ...WHO, email }, key),
      nobody.post('/api/check/resources', { ...WHAT, resourceId: '7' }, key),
      root.post('/api/applications/shop/subjects', { ...who, app }),
      root.post('/api/applications/shop/resources', { ...what, email, app }),
      ada.post('/api/profile/me/check/resources', { ...what, app, email: ROOT }),
    ]);
    for (const { status, body } of wrong) {
      expect([status, (body as { details: { code: string } }).details.code]).toEqual([400, 'VALIDATION_FAILED']);
    }
  });

  test('strict codes: a misspelled permission or type is refused with the nearest one', async () => {
    for (const door of doors.filter(({ name }) => !name.includes('application admin'))) {
      const misspelled = [
        [() => door.resources({ ...WHAT, app: 'strict', permission: 'page' }), 'permission'],
        [() => door.resources({ ...WHAT, app: 'strict', resourceType: 'pagge' }), door.names.resourceType],
        ...(door.subjects === undefined
          ? []
          : [[() => (door as Required<Door>).subjects({ app: 'strict', permission: 'page' }), 'permission'] as const]),
      ] as const;
      for (const [ask, path] of misspelled) {
        expect(await refusal(ask())).toMatchObject({ reason: 'UNKNOWN_CODE', path });
      }
    }
  });

  test('an answer is at least as fresh as the revision asked for, in the other instance too', async () => {
    const { revision } = await change('new@example.com', `insert into person (email) values ('new@example.com')`);
    for (const door of doorsOfSecond) {
      expect((await door.resources({ ...WHAT, minRevision: revision })).revision).toBe(revision);
      if (door.subjects) expect((await door.subjects({ ...WHO, minRevision: revision })).revision).toBe(revision);
    }
  });

  test('callers without the right learn nothing, by cursor or otherwise', async () => {
    const { next: cursor } = await (doors[0] as Required<Door>).subjects({ ...WHO, limit: 1 });
    const plain = await Rest.as(usher, PLAIN);
    const nobody = await Rest.as(usher);
    const { app: _, ...who } = WHO;
    for (const [answer, status] of [
      [await plain.post('/api/applications/shop/subjects', { ...who, cursor }), 403],
      [await plain.post('/api/applications/nowhere/subjects', { ...who, cursor }), 403],
      [await plain.post('/api/applications/shop/resources', WHAT), 403],
      [await nobody.post('/api/check/subjects', { ...WHO, cursor }), 401],
      [await nobody.post('/api/check/resources', WHAT, { 'x-internal-api-key': OTHER_KEY }), 403],
      [await plain.get(`/api/users/${ADA}/access`), 403],
      [await plain.get('/api/users/never-mentioned@example.com/access'), 403],
    ] as const) {
      expect(answer.status).toBe(status);
    }
    // A user's own question has nothing in it of others: a cursor of theirs does not open.
    const { next } = await (doors[0] as Door).resources({ ...WHAT, limit: 1 });
    const { email: __, ...what } = WHAT;
    const tried = await plain.post('/api/profile/me/check/resources', { ...what, cursor: next });
    expect(tried).toMatchObject({ status: 400, body: { details: { code: 'VALIDATION_FAILED' } } });
  });

  describe('cursors', () => {
    const question = { ...WHAT, limit: 1 };
    let door: Required<Door>;
    beforeAll(() => {
      door = doors[0] as Required<Door>;
    });

    test('open beside the same question alone', async () => {
      const who = (await door.subjects({ ...WHO, limit: 1 })).next;
      const what = (await door.resources(question)).next;
      const wrong = [
        () => door.subjects({ ...WHO, permission: 'pay', cursor: who }),
        () => door.subjects({ ...WHO, app: 'strict', cursor: who }),
        () => door.subjects({ ...WHO, accessLevel: 'edit', cursor: who }),
        () => door.subjects({ ...WHO, resourceType: 'page', resourceId: '1', cursor: who }),
        () => door.subjects({ ...WHO, cursor: what }),
        () => door.resources({ ...WHAT, cursor: who }),
        () => door.resources({ ...WHAT, email: 'ben@example.com', cursor: what }),
        () => door.resources({ ...WHAT, app: 'strict', cursor: what }),
        () => door.resources({ ...WHAT, permission: 'settings', cursor: what }),
        () => door.resources({ ...WHAT, resourceType: 'invoice', cursor: what }),
        () => door.resources({ ...WHAT, accessLevel: 'view', cursor: what }),
      ];
      for (const ask of wrong) {
        expect(await refusal(ask())).toMatchObject({ reason: 'VALIDATION_FAILED', path: 'page_token' });
      }
      // The number on a page, and the spelling of the address, are no part of the question.
      expect((await door.resources({ ...WHAT, email: ADA.toUpperCase(), limit: 5, cursor: what })).said).toMatchObject({
        scope: 'all',
      });
    });

    test('are refused when one character of them is another, or they are cut', async () => {
      for (const ask of [door.subjects, door.resources]) {
        const what = ask === door.subjects ? WHO : WHAT;
        const { next } = await ask({ ...what, limit: 1 });
        const damaged = [next.slice(0, -1), `${next}A`, ` ${next}`, `${next}=`];
        for (let at = 0; at < next.length; at += 7) {
          damaged.push(`${next.slice(0, at)}${next[at] === 'A' ? 'B' : 'A'}${next.slice(at + 1)}`);
        }
        for (const cursor of damaged) {
          expect(await refusal(ask({ ...what, cursor }))).toMatchObject({ reason: 'VALIDATION_FAILED' });
        }
      }
    });

    test('tell nothing of what is in them', async () => {
      const { next } = await door.resources(question);
      expect(Buffer.from(next, 'base64url').toString('latin1')).not.toMatch(/shop|ada@|page|example/);
      expect((await door.resources(question)).next).not.toBe(next);
    });

    test.each([
      [
        'an override of the person',
        ADA,
        `update resource_override set level = 0 where resource_id = '7'`,
        `m:shop:${ADA}`,
      ],
      ['what the person is', ADA, 'select 1', `u:${ADA}`],
      ['the policy of the application', ADA, 'select 1', 'p:shop'],
      ['the application', ADA, 'select 1', 'a:shop'],
    ] as const)('of records say LIST_CHANGED at every door when %s has changed', async (_, __, work, scope) => {
      const { next: cursor } = await door.resources(question);
      await usher.app.database.change(async (tx) => {
        await sql.raw(work).execute(tx.kysely);
        return { result: null, scopes: [scope] };
      });
      for (const one of doors) {
        const refused = await refusal(one.resources({ ...question, cursor }));
        // ABORTED, and 409.
        expect([refused.reason, refused.status]).toEqual(['LIST_CHANGED', one.name.startsWith('REST') ? 409 : 10]);
      }
    });

    test('of records go on when other people, and other applications, change', async () => {
      let { next: cursor } = await door.resources(question);
      const others = [
        'm:shop:ben@example.com',
        'u:ben@example.com',
        `m:strict:${ADA}`,
        'p:strict',
        'a:strict',
      ] as const;
      for (const scope of others) {
        await usher.app.database.change(() => Promise.resolve({ result: null, scopes: [scope] }));
        cursor = (await door.resources({ ...question, cursor })).next;
      }
      expect(cursor).not.toBe('');
    });

    test('of people go on whatever changes', async () => {
      await usher.app.database.change(async (tx) => {
        await personId(tx, 'late@example.com');
        return { result: null, scopes: [] };
      });
      const { next: cursor } = await door.subjects({ ...WHO, limit: 1 });
      await change(
        'late@example.com',
        `insert into user_role (person_id, application_id, role_id)
        select p.id, r.application_id, r.id from person p, role r where p.email = 'late@example.com' and r.code = 'reader'`,
      );
      const { said } = await door.subjects({ ...WHO, cursor });
      expect((said as { subjects: unknown[] }).subjects).toContainEqual(subject('late@example.com', 'view', 'role'));
    });

    test('from before a restore are refused', async () => {
      const who = (await door.subjects({ ...WHO, limit: 1 })).next;
      const what = (await door.resources(question)).next;
      const refused = async () => {
        const asking = [() => door.subjects({ ...WHO, cursor: who }), () => door.resources({ ...WHAT, cursor: what })];
        for (const ask of asking)
          expect(await refusal(ask())).toMatchObject({ reason: 'VALIDATION_FAILED', path: 'page_token' });
      };
      // Another history under the same numbers.
      await usher.app.database.change(async (tx) => {
        await sql`update policy_change set nonce = 'other' where revision = (select max(revision) from policy_change)`.execute(
          tx.kysely,
        );
        return { result: null, scopes: [] };
      });
      await refused();
      // Fewer revisions than the cursor knows.
      await usher.app.database.change(async (tx) => {
        await sql`delete from policy_change where revision = (select max(revision) from policy_change)`.execute(
          tx.kysely,
        );
        return { result: null, scopes: [] };
      });
      await refused();
    });
  });
});

function without(asked: ResourcesAsked, field: keyof ResourcesAsked): ResourcesAsked {
  return Object.fromEntries(Object.entries(asked).filter(([name]) => name !== field));
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
