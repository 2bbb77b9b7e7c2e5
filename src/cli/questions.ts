/** Asking a service what somebody may do: what `check` and `effective` share. */

import { CommandFailed } from './io.ts';
import type { Service } from './service.ts';

/**
 * An item of an effective list. What backends ask says `source` null for what no rule decides, and `override` for a denial by
 * one; what users ask about themselves says `none` for both.
 */
export interface Held {
  code: string;
  type: 'binary' | 'tiered';
  groupName: string | null;
  global: boolean;
  accessLevel: 'allowed' | 'view' | 'edit' | 'none' | null;
  granted: boolean;
  source: 'role' | 'override' | 'superadmin' | 'app_admin' | 'none' | null;
}

export interface Resource {
  resourceType?: string;
  resourceId?: string;
}

/** `TYPE:ID` of `--resource`; the id may hold colons. */
export function readResource(text: string | undefined): Resource {
  if (text === undefined) return {};
  const at = text.indexOf(':');
  if (at < 1 || at === text.length - 1) {
    throw new CommandFailed(`--resource is TYPE:ID, for example project:1042, not ${JSON.stringify(text)}.`);
  }
  return { resourceType: text.slice(0, at), resourceId: text.slice(at + 1) };
}

/**
 * Asks the endpoints for backends, or, with a token alone, the user-scoped ones when the question is about its own user.
 * Answers the payload and the revision that it is true of.
 */
export async function askAbout(
  service: Service,
  what: 'check' | 'effective',
  { email, ...question }: { email: string; app: string } & Record<string, unknown>,
  minRevision?: string,
): Promise<{ payload: unknown; revision: string | null }> {
  const own = asksAboutItself(service, email);
  const root = own ? '/api/profile/me/check' : '/api/check';
  const { body, headers } = await service.json({
    method: 'POST',
    path: what === 'check' ? root : `${root}/effective`,
    body: JSON.stringify(own ? question : { email, ...question }),
    asks: 'checks',
    ...(minRevision === undefined ? {} : { headers: { 'usher-min-revision': minRevision } }),
  });
  const payload = own ? body : (body as { data?: unknown } | null)?.data;
  return { payload, revision: headers.get('usher-revision') };
}

/** Whether the question goes to the endpoints for users: there is a token alone, and it is that person's own. */
export function asksAboutItself({ credentials: { token, key, checkKey } }: Service, email: string): boolean {
  return key === undefined && checkKey === undefined && token !== undefined && sameAddress(emailIn(token), email);
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

/** The rule that decided, in words; `granted` tells an override that grants from one that denies. */
export function reasonOf(source: Held['source'], granted: boolean, accessLevel: Held['accessLevel']): string {
  switch (source) {
    case 'superadmin':
      return 'a SuperAdmin is allowed everything';
    case 'app_admin':
      return 'an administrator of the application is allowed everything in it';
    case 'override':
      return granted ? `an override grants ${accessLevel}` : 'an override denies it';
    case 'role':
      return `a role grants ${accessLevel}`;
    default:
      return 'no rule grants it';
  }
}
