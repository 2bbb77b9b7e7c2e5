/** What the commands that ask questions share. */

import type { EffectivePermission, MyEffectivePermission } from '../gen/api.ts';
import { CommandFailed } from './io.ts';
import type { Answer, Service } from './service.ts';

/**
 * An item of an effective list. The endpoints for backends use `source` null where no rule decides and `override` for a denying
 * override; the endpoints for users about themselves use `none` for both.
 */
export type EffectiveItem = EffectivePermission | MyEffectivePermission;

export interface Resource {
  resourceType?: string;
  resourceId?: string;
}

/** `TYPE:ID` of `--resource`; the id may contain colons. */
export function readResource(text: string | undefined): Resource {
  if (text === undefined) return {};
  const at = text.indexOf(':');
  if (at < 1 || at === text.length - 1) {
    throw new CommandFailed(`--resource must be TYPE:ID, for example project:1042, not ${JSON.stringify(text)}.`);
  }
  return { resourceType: text.slice(0, at), resourceId: text.slice(at + 1) };
}

/**
 * What somebody holds in an application: from the endpoint for backends, or, with a token alone, from the user-scoped one when
 * the question is about its own user. Answers the items and the revision that they are true of.
 */
export async function askEffective(
  service: Service,
  { email, ...question }: { email: string; app: string } & Resource,
): Promise<{ items: readonly EffectiveItem[]; revision: string | null }> {
  const { data: items, revision }: Answer<readonly EffectiveItem[]> = asksAboutItself(service, email)
    ? await service.call('POST /api/profile/me/check/effective', { body: question })
    : await service.call('POST /api/check/effective', { body: { email, ...question } }, { asks: 'checks' });
  return { items, revision };
}

/** A question in words: `project.access in atelier for project:1042`. */
export function questionInWords(permission: string, app: string, resource?: string): string {
  return `${permission} in ${app}${resource === undefined ? '' : ` for ${resource}`}`;
}

/** Whether the question goes to the endpoints for users: there is a token alone, and it is that person's own. */
export function asksAboutItself(service: Service, email: string): boolean {
  return isTokenAlone(service) && ownToken(service, email);
}

/** Whether there is a token of that person, whatever there is beside it. */
export function ownToken({ credentials: { token } }: Service, email: string): boolean {
  return token !== undefined && sameAddress(emailIn(token), email);
}

/** Whether a question about others goes to the endpoints for administrators: with a token alone the others refuse it. */
export function asksAsAdministrator(service: Service): boolean {
  return isTokenAlone(service);
}

function isTokenAlone({ credentials: { token, key, checkKey } }: Service): boolean {
  return key === undefined && checkKey === undefined && token !== undefined;
}

/** The address in a token, unverified: it only chooses the endpoint. */
function emailIn(token: string): string | null {
  try {
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')) as {
      email?: unknown;
    };
    return typeof claims.email === 'string' ? claims.email : null;
  } catch {
    return null;
  }
}

function sameAddress(a: string | null, b: string): boolean {
  return a !== null && a.trim().toLowerCase() === b.trim().toLowerCase();
}

/** The deciding rule in words; `granted` distinguishes a granting override from a denying one. */
export function reasonOf(
  source: EffectiveItem['source'],
  granted: boolean,
  accessLevel: EffectiveItem['accessLevel'],
): string {
  switch (source) {
    case 'superadmin':
      return 'a SuperAdmin is allowed everything';
    case 'app_admin':
      return 'an application admin is allowed everything in the application';
    case 'override':
      return granted ? `an override grants ${accessLevel}` : 'an override denies it';
    case 'role':
      return `a role grants ${accessLevel}`;
    default:
      return 'no rule grants it';
  }
}
