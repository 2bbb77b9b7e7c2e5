import { ConnectError, createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { Client, credentials, type Metadata } from '@grpc/grpc-js';
import { expect } from '@jest/globals';
import { type Decision, InvalidQuestionError } from '../../clients/typescript/src/index.ts';
import type { LocalUsher } from '../../clients/typescript/src/local.ts';
import { ErrorInfoSchema } from '../../src/gen/google/rpc/error_details_pb.ts';
import {
  AccessLevel,
  type DecisionSource,
  PermissionService,
  PermissionType,
} from '../../src/gen/usher/permission/v1/permission_pb.ts';
import { call, detailsOf } from '../grpc/support.ts';
import type { OracleQuestion } from '../oracle/oracle.ts';
import { numberOf } from '../support/revisions.ts';
import type { RunningUsher } from '../support/usher.ts';
import { proxyDoors } from './proxy-doors.ts';

/** What a door says of one permission; a field is undefined where the door does not tell it. */
export interface Said {
  permission: string;
  allowed: boolean;
  accessLevel?: 'allowed' | 'view' | 'edit' | null;
  source?: string | null;
  /** Of effective answers. */
  type?: 'binary' | 'tiered';
  groupName?: string | null;
  global?: boolean;
}

export interface Reply {
  said: Said[];
  revision: number;
}

/** UNKNOWN_CODE, as the doors' callers see it. */
export class Refused extends Error {
  readonly path: unknown;
  readonly known: unknown;
  constructor({ path, known }: { path?: unknown; known?: unknown }) {
    super(`refused: ${String(path)}`);
    this.path = path;
    this.known = known ?? null;
  }
}

/** Rejects with Refused for what an RPC door answers to an unknown code. */
async function orRefused<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    const info = error instanceof ConnectError ? error.findDetails(ErrorInfoSchema)[0] : grpcDetails(error);
    if (info?.reason !== 'UNKNOWN_CODE') throw error;
    expect((error as { code: unknown }).code).toBe(3);
    throw new Refused(info.metadata ?? {});
  }
}

function grpcDetails(error: unknown): ReturnType<typeof detailsOf> | undefined {
  const { metadata } = error as { metadata?: Metadata };
  return metadata === undefined || metadata.get('grpc-status-details-bin').length === 0
    ? undefined
    : detailsOf(metadata);
}

/** What a door calls the refused code of its question; `index` is that of the permission. */
export function pathIn({ name, kind, paths }: Door, field: 'type' | 'permission', index = 0): string {
  if (paths !== undefined) return kind === 'batch' ? `evaluations.${index}.${paths[field]}` : paths[field];
  const rest = name.startsWith('REST');
  const item = (list: string) => (rest ? `${list}.${index}` : `${list}[${index}]`);
  if (kind === 'bulk' && field === 'permission') return item('permissions');
  const code = field === 'permission' ? 'permission' : rest ? 'resourceType' : 'resource_type';
  return kind === 'batch' ? `${item('checks')}.${code}` : code;
}

/** A way to ask: `permissions` are asked about in one call, or one by one where a door takes one. */
export interface Door {
  name: string;
  /** 'one': the first permission only; 'batch': a check for each; 'effective': all that the application defines, whatever was asked. */
  kind: 'one' | 'bulk' | 'batch' | 'effective';
  /** Whether unknown codes are answered where the application is strict, as Explain does. */
  lenient?: boolean;
  /** What AuthZEN calls the codes. */
  paths?: Readonly<Record<'type' | 'permission', string>>;
  /** Whether `none` stands for everything not granted (the user-scoped surface). */
  userScoped: boolean;
  ask(question: OracleQuestion, permissions: readonly string[], level: 'view' | 'edit' | null): Promise<Reply>;
}

const LEVELS = [null, 'allowed', 'view', 'edit'] as const;
const SOURCES = [null, 'role', 'override', 'superadmin', 'app_admin'] as const;
const levelOf = (level: AccessLevel) => LEVELS[level] ?? null;
const sourceOf = (source: DecisionSource) => SOURCES[source] ?? null;
const ASKED = { view: AccessLevel.VIEW, edit: AccessLevel.EDIT } as const;

/** Every door of a running service, and what closes them. */
export async function openDoors(
  usher: RunningUsher,
  emails: readonly string[],
): Promise<{ doors: Door[]; close: () => void }> {
  const grpc = new Client(usher.grpc, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  const base = { baseUrl: usher.rest, httpVersion: '1.1' as const };
  const connect = createClient(PermissionService, createConnectTransport({ ...base, useBinaryFormat: false }));
  const binary = createClient(PermissionService, createConnectTransport({ ...base, useBinaryFormat: true }));
  const web = createClient(PermissionService, createGrpcWebTransport(base));
  const tokens = new Map(await Promise.all(emails.map(async (email) => [email, await usher.token(email)] as const)));
  const doors = [
    ...rpcDoors('gRPC', rpcsOver(grpc)),
    ...rpcDoors('Connect JSON', connect),
    ...rpcDoors('Connect binary', binary),
    ...rpcDoors('gRPC-Web', web),
    ...restDoors('REST', '/api/check', usher.rest, (email) => ({ fields: { email }, headers: {} })),
    ...restDoors('REST user-scoped', '/api/profile/me/check', usher.rest, (email) => ({
      fields: {},
      headers: { authorization: `Bearer ${tokens.get(email)}` },
    })),
    ...proxyDoors(usher, tokens),
  ];
  return { doors, close: () => grpc.close() };
}

/** The doors of a gRPC port alone, asked with a key where it asks for one. */
export function openGrpcDoors(name: string, address: string, key?: string): { doors: Door[]; close: () => void } {
  const client = new Client(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  return { doors: rpcDoors(name, rpcsOver(client, key)), close: () => client.close() };
}

function rpcsOver(client: Client, key?: string): Rpc {
  const options = key === undefined ? {} : { metadata: { 'x-internal-api-key': key } };
  return {
    check: async (request) => (await call(client, 'Check', request, options)).message,
    bulkCheck: async (request) => (await call(client, 'BulkCheck', request, options)).message,
    effective: async (request) => (await call(client, 'Effective', request, options)).message,
    batchCheck: async (request) => (await call(client, 'BatchCheck', request, options)).message,
    explain: async (request) => (await call(client, 'Explain', request, options)).message,
  };
}

/** The doors of a client that decides in this process. */
export function localDoors(local: LocalUsher): Door[] {
  const said = (permission: string, { allowed, level, source }: Omit<Decision, 'revision'>): Said => {
    return { permission, allowed, accessLevel: level, source };
  };
  const asked = ({ email, app, resourceType, resourceId }: OracleQuestion) => ({
    email,
    app,
    ...(resourceType === '' ? {} : { resource: { type: resourceType, id: resourceId } }),
  });
  const orRefusal = async <T>(answer: Promise<T>): Promise<T> => {
    try {
      return await answer;
    } catch (error) {
      if (!(error instanceof InvalidQuestionError) || error.reason !== 'UNKNOWN_CODE') throw error;
      throw new Refused(error.details);
    }
  };
  const common = { userScoped: false };
  return [
    {
      ...common,
      name: 'local check',
      kind: 'one',
      ask: async (question, [permission = ''], level) => {
        const answer = await orRefusal(local.check({ ...asked(question), permission, level: level ?? undefined }));
        return { said: [said(permission, answer)], revision: numberOf(answer.revision) };
      },
    },
    {
      ...common,
      name: 'local batchCheck',
      kind: 'batch',
      ask: async (question, permissions, level) => {
        const checks = permissions.map((permission) => ({ ...asked(question), permission, level: level ?? undefined }));
        const answers = await orRefusal(local.batchCheck(checks));
        const [{ revision } = { revision: '' }] = answers;
        return {
          said: answers.map((answer, index) => said(permissions[index] as string, answer)),
          revision: numberOf(revision),
        };
      },
    },
    {
      ...common,
      name: 'local effective',
      kind: 'effective',
      ask: async (question) => {
        const { permissions, revision } = await orRefusal(local.effective(asked(question)));
        return {
          said: permissions.map(({ permission, tiered, group, global, ...held }) => {
            const type = tiered ? 'tiered' : 'binary';
            return { ...said(permission, held), type, groupName: group, global };
          }),
          revision: numberOf(revision),
        };
      },
    },
  ];
}

type Rpc = Pick<
  ReturnType<typeof createClient<typeof PermissionService>>,
  'check' | 'bulkCheck' | 'effective' | 'batchCheck' | 'explain'
>;

/** Throws unless exactly the rule that is named decides, and by itself gives what is held. */
function checkRules(decisive: readonly (readonly [rule: number, level: unknown])[], rule: number, held: unknown): void {
  expect(decisive).toEqual([[rule, held]]);
}

function rpcDoors(name: string, rpc: Rpc): Door[] {
  const asked = ({ email, app, resourceType, resourceId }: OracleQuestion) => ({
    email,
    app,
    resourceType,
    resourceId,
  });
  const least = (level: 'view' | 'edit' | null) => (level === null ? {} : { accessLevel: ASKED[level] });
  return [
    {
      name: `${name} Check`,
      kind: 'one',
      userScoped: false,
      ask: async (question, [permission = ''], level) => {
        const answer = await orRefused(rpc.check({ ...asked(question), permission, ...least(level) }));
        const said = {
          permission,
          allowed: answer.allowed,
          accessLevel: levelOf(answer.accessLevel),
          source: sourceOf(answer.source),
        };
        return { said: [said], revision: numberOf(answer.revision) };
      },
    },
    {
      name: `${name} BulkCheck`,
      kind: 'bulk',
      userScoped: false,
      ask: async (question, permissions, level) => {
        const answer = await orRefused(
          rpc.bulkCheck({ ...asked(question), permissions: [...permissions], ...least(level) }),
        );
        const said = answer.results.map(({ permission, allowed, accessLevel, source }) => {
          return { permission, allowed, accessLevel: levelOf(accessLevel), source: sourceOf(source) };
        });
        return { said, revision: numberOf(answer.revision) };
      },
    },
    {
      name: `${name} BatchCheck`,
      kind: 'batch',
      userScoped: false,
      ask: async (question, permissions, level) => {
        const checks = permissions.map((permission) => ({ ...asked(question), permission, ...least(level) }));
        const answer = await orRefused(rpc.batchCheck({ checks }));
        const said = answer.results.map(({ allowed, accessLevel, source }, index) => {
          const permission = permissions[index] as string;
          return { permission, allowed, accessLevel: levelOf(accessLevel), source: sourceOf(source) };
        });
        return { said, revision: numberOf(answer.revision) };
      },
    },
    {
      name: `${name} Explain`,
      kind: 'one',
      userScoped: false,
      lenient: true,
      ask: async (question, [permission = ''], level) => {
        const answer = await orRefused(rpc.explain({ check: { ...asked(question), permission, ...least(level) } }));
        const { allowed, accessLevel, source, rules, revision } = answer;
        const decisive = rules.filter(({ decides }) => decides).map((one) => [one.rule, one.accessLevel] as const);
        checkRules(decisive, rules.find(({ applies }) => applies)?.rule ?? 0, accessLevel);
        const said = { permission, allowed, accessLevel: levelOf(accessLevel), source: sourceOf(source) };
        return { said: [said], revision: numberOf(revision) };
      },
    },
    {
      name: `${name} Effective`,
      kind: 'effective',
      userScoped: false,
      ask: async (question) => {
        const answer = await orRefused(rpc.effective(asked(question)));
        const said = answer.permissions.map((item) => ({
          permission: item.code,
          allowed: item.granted,
          accessLevel: levelOf(item.accessLevel),
          source: sourceOf(item.source),
          type: item.type === PermissionType.TIERED ? ('tiered' as const) : ('binary' as const),
          groupName: item.groupName ?? null,
          global: item.global,
        }));
        return { said, revision: numberOf(answer.revision) };
      },
    },
  ];
}

interface EffectiveItem extends Required<Omit<Said, 'permission' | 'allowed'>> {
  code: string;
  granted: boolean;
}

interface Explained extends Required<Pick<Said, 'allowed' | 'accessLevel' | 'source'>> {
  rule: number;
  rules: { rule: number; decides: boolean; accessLevel: Said['accessLevel'] }[];
}

function restDoors(
  name: string,
  path: string,
  rest: string,
  who: (email: string) => { fields: Record<string, string>; headers: Record<string, string> },
): Door[] {
  const userScoped = name !== 'REST';
  const bodyOf = ({ email, app, resourceType, resourceId }: OracleQuestion, more: object) => {
    const resource = resourceType === '' ? {} : { resourceType, resourceId };
    return { ...who(email).fields, app, ...resource, ...more };
  };
  const post = (at: string, question: OracleQuestion, more: object) => send(at, question.email, bodyOf(question, more));
  const postBatch = async (question: OracleQuestion, permissions: readonly string[], more: object) => {
    const checks = permissions.map((permission) => bodyOf(question, { permission, ...more }));
    const { payload, revision } = await send(`${path}/batch`, question.email, { checks });
    return { payload: payload as { results: Omit<Said, 'permission'>[] }, revision };
  };
  const send = async (at: string, email: string, sent: object) => {
    const response = await fetch(rest + at, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...who(email).headers },
      body: JSON.stringify(sent),
    });
    const body = (await response.json()) as { data: unknown };
    const { details } = body as { details?: { code?: string; path?: string; known?: string } };
    if (response.status === 400 && details?.code === 'UNKNOWN_CODE') throw new Refused(details);
    if (response.status !== 200) throw new Error(`${at}: ${response.status} ${JSON.stringify(body)}`);
    return { payload: userScoped ? body : body.data, revision: numberOf(response.headers.get('usher-revision')) };
  };
  const least = (level: 'view' | 'edit' | null) => (level === null ? {} : { accessLevel: level });
  const explain: Door = {
    name: `${name} explain`,
    kind: 'one',
    userScoped,
    lenient: true,
    ask: async (question, [permission = ''], level) => {
      const { payload, revision } = await post(`${path}/explain`, question, { permission, ...least(level) });
      const { allowed, accessLevel, source, rule, rules } = payload as Explained;
      const decisive = rules.filter(({ decides }) => decides).map((one) => [one.rule, one.accessLevel] as const);
      checkRules(decisive, rule, accessLevel);
      return { said: [{ permission, allowed, accessLevel, source }], revision };
    },
  };
  return [
    {
      name: `${name} check`,
      kind: 'one',
      userScoped,
      ask: async (question, [permission = ''], level) => {
        const { payload, revision } = await post(path, question, { permission, ...least(level) });
        return { said: [{ permission, allowed: (payload as { allowed: boolean }).allowed }], revision };
      },
    },
    {
      name: `${name} bulk`,
      kind: 'bulk',
      userScoped,
      ask: async (question, permissions, level) => {
        const { payload, revision } = await post(`${path}/bulk`, question, { permissions, ...least(level) });
        const said = Object.entries(payload as Record<string, boolean>).map(([permission, allowed]) => ({
          permission,
          allowed,
        }));
        return { said, revision };
      },
    },
    {
      name: `${name} batch`,
      kind: 'batch',
      userScoped,
      ask: async (question, permissions, level) => {
        const { payload, revision } = await postBatch(question, permissions, least(level));
        const said = payload.results.map((result, index) => ({ permission: permissions[index] as string, ...result }));
        return { said, revision };
      },
    },
    ...(userScoped ? [] : [explain]),
    {
      name: `${name} effective`,
      kind: 'effective',
      userScoped,
      ask: async (question) => {
        const { payload, revision } = await post(`${path}/effective`, question, {});
        const said = (payload as EffectiveItem[]).map(({ code, granted, ...item }) => ({
          permission: code,
          allowed: granted,
          ...item,
        }));
        return { said, revision };
      },
    },
  ];
}
