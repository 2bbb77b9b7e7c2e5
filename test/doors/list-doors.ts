import { ConnectError, createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { afterAll, beforeAll, expect } from '@jest/globals';
import { sql } from 'kysely';
import { Level } from '../../src/engine/types.ts';
import { BadRequestSchema, ErrorInfoSchema } from '../../src/gen/google/rpc/error_details_pb.ts';
import { AccessLevel, PermissionService, ResourceScope } from '../../src/gen/usher/permission/v1/permission_pb.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { insertApplication, insertOverride, insertUserRole, personId } from '../support/rows.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/** The doors of the lists: at two instances of a service, with people and records to list. */

export const KEY = 'a-key-that-may-ask-checks';
export const OTHER_KEY = 'a-key-that-may-only-notify';
export const BOSS = 'boss@example.com';
export const ROOT = 'root@example.com';
export const ADA = 'ada@example.com';
export const PLAIN = 'plain@example.com';

export interface SubjectsAsked {
  app?: string;
  permission?: string;
  resourceType?: string | undefined;
  resourceId?: string | undefined;
  accessLevel?: 'view' | 'edit' | undefined;
  limit?: number;
  cursor?: string;
  minRevision?: string;
}
export interface ResourcesAsked extends Omit<SubjectsAsked, 'resourceId'> {
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

export interface Door {
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

export const withSubjects = (doors: readonly Door[]) =>
  doors.filter(({ subjects }) => subjects !== undefined) as Required<Door>[];

export async function refusal(asking: Promise<unknown>): Promise<Refusal> {
  const error = await asking.then(
    () => new Error('answered'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Refusal)) throw error;
  return error;
}

export const WHO = { app: 'shop', permission: 'pages' };
export const WHAT = { email: ADA, app: 'shop', permission: 'pages', resourceType: 'page' };
/** Of identifiers that a pattern, a path or a key made of parts would trip over. */
export const ODD = ['%', '100%', '_', 'a\\b', 'a:b', 'a/b?c#d', "'; --", 'ř"{}', '\u{1f600}'];

export const subject = (email: string, accessLevel: string, source: string) => ({ email, accessLevel, source });

/** Called in a describe. What it answers is valid in tests and hooks. */
export function useListDoors() {
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
      await tx.kysely.insertInto('app_admin').values({ personId: boss, applicationId: app.id }).execute();
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

  return {
    get usher() {
      return usher;
    },
    get doors() {
      return doors;
    },
    get doorsOfSecond() {
      return doorsOfSecond;
    },
    change,
  };
}

export function without(asked: ResourcesAsked, field: keyof ResourcesAsked): ResourcesAsked {
  return Object.fromEntries(Object.entries(asked).filter(([name]) => name !== field));
}
