import type { OracleQuestion } from '../oracle/oracle.ts';
import { numberOf } from '../support/revisions.ts';
import type { RunningUsher } from '../support/usher.ts';
import { type Door, Refused, type Said } from './doors.ts';

/** The doors for proxies and gateways: a check by its status, and AuthZEN. */

const METHODS = ['GET', 'POST', 'DELETE', 'OPTIONS', 'PATCH'];

/** Both kinds. */
export function proxyDoors(usher: RunningUsher, tokens: ReadonlyMap<string, string>): Door[] {
  return [...statusDoors(usher, tokens), ...authzenDoors(usher)];
}

/** 204 or 403, of the owner of a token and of a user whom a proxy names. The services here have no keys: they are open. */
function statusDoors(usher: RunningUsher, tokens: ReadonlyMap<string, string>): Door[] {
  let turn = 0;
  const door = (name: string, who: (email: string) => Record<string, string>): Door => ({
    name: `REST by status, ${name}`,
    kind: 'one',
    userScoped: false,
    ask: async ({ email, app, resourceType, resourceId }, [permission = ''], level) => {
      const query = new URLSearchParams({
        permission,
        ...(resourceType === '' ? {} : { resourceType, resourceId }),
        ...(level === null ? {} : { accessLevel: level }),
      });
      const below = ['', '/', '/orders/7'][turn % 3];
      const method = METHODS[turn++ % METHODS.length] as string;
      const response = await fetch(`${usher.rest}/api/gateway/${app}/check${below}?${query.toString()}`, {
        method,
        headers: who(email),
      });
      const text = await response.text();
      if (response.status !== 204 && response.status !== 403) throwRefusal(response.status, text);
      const allowed = response.status === 204;
      const said = (header: string) => response.headers.get(`x-usher-${header}`);
      const accessLevel = said('access-level') as Said['accessLevel'];
      return {
        said: [{ permission, allowed, accessLevel: accessLevel ?? null, source: said('source') }],
        revision: numberOf(response.headers.get('usher-revision')),
      };
    },
  });
  return [
    door('by token', (email) => ({ authorization: `Bearer ${tokens.get(email)}` })),
    door('by name', (email) => ({ 'x-auth-request-email': email })),
  ];
}

interface Evaluated {
  decision: boolean;
  context: { source: string | null; access_level: Exclude<Said['accessLevel'], undefined> };
}

/** Evaluations of AuthZEN, one by one and several at once. */
function authzenDoors(usher: RunningUsher): Door[] {
  const evaluationOf = (
    { email, app, resourceType, resourceId }: OracleQuestion,
    permission: string,
    level: 'view' | 'edit' | null,
  ) => ({
    subject: { type: 'user', id: email },
    action: { name: permission, ...(level === null ? {} : { properties: { accessLevel: level } }) },
    resource: resourceType === '' ? { type: 'usher:application', id: app } : { type: resourceType, id: resourceId },
  });
  const ask = async (app: string, endpoint: string, body: object) => {
    const response = await fetch(`${usher.rest}/authzen/${app}/access/v1/${endpoint}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (response.status !== 200) throwRefusal(response.status, text);
    return { body: JSON.parse(text) as unknown, revision: numberOf(response.headers.get('usher-revision')) };
  };
  const saidOf = (permission: string, { decision, context }: Evaluated): Said => {
    return { permission, allowed: decision, accessLevel: context.access_level, source: context.source };
  };
  const common = { userScoped: false, paths: { type: 'resource.type', permission: 'action.name' } };
  return [
    {
      ...common,
      name: 'AuthZEN evaluation',
      kind: 'one',
      ask: async (question, [permission = ''], level) => {
        const { body, revision } = await ask(question.app, 'evaluation', evaluationOf(question, permission, level));
        return { said: [saidOf(permission, body as Evaluated)], revision };
      },
    },
    {
      ...common,
      name: 'AuthZEN evaluations',
      kind: 'batch',
      ask: async (question, permissions, level) => {
        const evaluations = permissions.map((permission) => evaluationOf(question, permission, level));
        const { body, revision } = await ask(question.app, 'evaluations', { evaluations });
        const all = (body as { evaluations: Evaluated[] }).evaluations;
        return { said: all.map((one, index) => saidOf(permissions[index] as string, one)), revision };
      },
    },
  ];
}

function throwRefusal(status: number, text: string): never {
  const { details } = (text === '' ? {} : JSON.parse(text)) as { details?: { code?: string; path?: string } };
  if (status === 400 && details?.code === 'UNKNOWN_CODE') throw new Refused(details);
  throw new Error(`${status} ${text}`);
}
