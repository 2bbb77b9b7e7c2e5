/**
 * Why a decision is what it is, out of what a service answers today: the check itself, the list of what is held at the same
 * revision, and what the caller may read as an administrator. Where these leave several causes open, the reason names them all.
 */

import { isApplicationCode, isPermissionCode, isSlug, normalizeEmail } from '../base/grammar.ts';
import { CommandFailed } from './io.ts';
import { askAbout, asksAboutItself, type Held, type Resource, reasonOf } from './questions.ts';
import type { Service } from './service.ts';

export interface Subject extends Resource {
  email: string;
  app: string;
}

export interface Explained {
  allowed: boolean;
  /** What is held; null when nothing is. */
  accessLevel: 'allowed' | 'view' | 'edit' | null;
  source: 'role' | 'override' | 'superadmin' | 'app_admin' | null;
  reason: string;
  revision: string | null;
}

/** What one revision says: the decision, and everything that is held. */
interface Facts {
  allowed: boolean;
  items: readonly Held[];
  /** Where the application defines nothing: what is held in `auth`, which always defines something. */
  elsewhere: readonly Held[];
  revision: string | null;
}

const TRIES = 5;
const NOTHING = { accessLevel: null, source: null } as const;

/** The decision of the check itself, with its reason. */
export async function explain(
  service: Service,
  subject: Subject,
  permission: string,
  level: string | undefined,
): Promise<Explained> {
  for (let tries = 1; ; tries++) {
    const question = { ...subject, permission, ...(level === undefined ? {} : { accessLevel: level }) };
    const check = await askAbout(service, 'check', question);
    const { allowed } = check.payload as { allowed: boolean };
    const facts = await readFacts(service, subject, allowed, check.revision);
    if (facts !== null) {
      return { allowed, ...(await describe(service, subject, permission, level, facts)), revision: check.revision };
    }
    // A policy changed between the questions. All are asked again, because the reason must be that of the answer.
    if (tries === TRIES) {
      const reason = 'unknown, because policies change faster than the reason can be read: ask again';
      return { allowed, ...NOTHING, reason, revision: check.revision };
    }
  }
}

/** Null when the answers are not all of one revision. */
async function readFacts(
  service: Service,
  subject: Subject,
  allowed: boolean,
  revision: string | null,
): Promise<Facts | null> {
  const list = await askAbout(service, 'effective', { ...subject }, revision ?? undefined);
  const items = list.payload as readonly Held[];
  if (list.revision !== revision) return null;
  if (!allowed || items.length > 0) return { allowed, items, elsewhere: [], revision };
  const other = await askAbout(service, 'effective', { email: subject.email, app: 'auth' }, revision ?? undefined);
  if (other.revision !== revision) return null;
  return { allowed, items, elsewhere: other.payload as readonly Held[], revision };
}

type Described = Pick<Explained, 'accessLevel' | 'source' | 'reason'>;

async function describe(
  service: Service,
  subject: Subject,
  permission: string,
  level: string | undefined,
  { allowed, items, elsewhere }: Facts,
): Promise<Described> {
  const malformed = malformedPart(subject, permission);
  if (!allowed && malformed !== null) return { ...NOTHING, reason: malformed };
  const held = items.find(({ code }) => code === permission);
  const undefinedHere = `${subject.app} defines no permission ${permission}`;
  if (allowed && held === undefined) {
    // SuperAdmins and administrators of the application are allowed what nobody has defined, each with a level of their own.
    const rule = [...items, ...elsewhere].some(({ source }) => source === 'superadmin') ? SUPERADMIN : APP_ADMIN;
    return { ...rule, reason: `${reasonOf(rule.source, true, null)} (${undefinedHere})` };
  }
  if (held !== undefined && (held.granted || held.source === 'override')) {
    const source = held.source === 'none' ? null : held.source;
    const accessLevel = held.accessLevel === 'none' ? null : held.accessLevel;
    const short = held.granted && !allowed ? [`${level ?? 'another level'} is needed`] : [];
    const notes = allowed ? [] : await resourceNotes(service, subject, held);
    const parts = [reasonOf(source, held.granted, accessLevel), ...short, ...notes];
    return { accessLevel, source, reason: parts.join(', ') };
  }
  return { ...NOTHING, reason: await whyNothing(service, subject, held ?? null, items, undefinedHere) };
}

const SUPERADMIN = { accessLevel: 'edit', source: 'superadmin' } as const;
const APP_ADMIN = { accessLevel: 'allowed', source: 'app_admin' } as const;

/** A code or an address that can name nothing is denied to everybody, before any rule is looked at. */
function malformedPart({ email, app, resourceType }: Subject, permission: string): string | null {
  const codes = 'lower-case letters and digits, joined by . _ or -, at most 64';
  if (normalizeEmail(email) === null) return `${JSON.stringify(email)} is not an e-mail address`;
  if (!isSlug(app)) return `${JSON.stringify(app)} cannot be an application code (${codes})`;
  if (!isPermissionCode(permission)) {
    return `${JSON.stringify(permission)} cannot be a permission code (letters and digits, joined by . _ or -, at most 128)`;
  }
  if (resourceType !== undefined && !isSlug(resourceType)) {
    return `${JSON.stringify(resourceType)} cannot be a resource type (${codes})`;
  }
  return null;
}

/** Why nothing is held of a permission: an inactive account, an override that only administrators see, or no rule at all. */
async function whyNothing(
  service: Service,
  subject: Subject,
  held: Held | null,
  items: readonly Held[],
  undefinedHere: string,
): Promise<string> {
  const person = await standing(service, subject.email, items);
  if (person.inactive !== null) return person.inactive;
  const causes: string[] = [];
  if (held === null)
    causes.push(items.length > 0 ? undefinedHere : await whyNoPermissions(service, subject.app, undefinedHere));
  else {
    const denial = await hiddenDenial(service, subject, held);
    if (denial === 'yes') return reasonOf('override', false, null);
    causes.push(`no rule grants it${person.known === false ? `: ${subject.email} is not known here` : ''}`);
    if (denial === 'perhaps') causes.push('an override denies it');
  }
  if (person.known === null) causes.push('the account is inactive');
  const open = causes.length > 1 ? " (an administrator's token tells which)" : '';
  return [`${causes.join(', or ')}${open}`, ...(held === null ? [] : await resourceNotes(service, subject, held))].join(
    ', ',
  );
}

interface Standing {
  /** The sentence for an inactive account; null for an active one, and where that cannot be seen. */
  inactive: string | null;
  /** Whether the account is certain to be active: true, or false when the address has no record; null when it cannot be seen. */
  known: boolean | null;
}

const ACTIVE: Standing = { inactive: null, known: true };

/** Whether the account is inactive, which denies everything and shows in no list. */
async function standing(service: Service, email: string, items: readonly Held[]): Promise<Standing> {
  // Nothing comes from any rule for an inactive account.
  if (items.some(({ source }) => source !== null && source !== 'none')) return ACTIVE;
  const seen = await look(service, `/api/users/${encodeURIComponent(email)}`);
  if (seen.state === 'missing') return { inactive: null, known: false };
  if (seen.state === 'withheld') {
    if (!asksAboutItself(service, email)) return { inactive: null, known: null };
    // Callers who ask about themselves: an active one is refused for lack of a level, an inactive one for being that.
    if (seen.code === 'USER_INACTIVE') return { inactive: 'the account is inactive', known: null };
    return seen.code === 'FORBIDDEN' || seen.code === 'NO_APPLICATION_LEVEL' ? ACTIVE : { inactive: null, known: null };
  }
  const { active, blocked } = seen.data as { active: boolean; blocked?: boolean };
  if (active) return ACTIVE;
  const by = blocked ? 'an administrator blocked it' : 'the identity provider deactivated it';
  return { inactive: `the account is inactive: ${by}`, known: true };
}

async function whyNoPermissions(service: Service, app: string, undefinedHere: string): Promise<string> {
  const seen = isApplicationCode(app)
    ? await look(service, `/api/applications/${encodeURIComponent(app)}`)
    : ({ state: 'missing' } as const);
  if (seen.state === 'found') return undefinedHere;
  if (seen.state === 'missing') return `there is no application ${app}`;
  return `there is no application ${app}, or it defines no permissions`;
}

/** What users see of themselves does not tell an override that denies from the absence of any rule. */
async function hiddenDenial(service: Service, subject: Subject, held: Held): Promise<'yes' | 'no' | 'perhaps'> {
  if (held.source !== 'none' || held.global || subject.resourceType === undefined) return 'no';
  const overrides = await readOverrides(service, subject);
  if (overrides === null) return 'perhaps';
  return overrides.some(({ code, granted }) => code === held.code && !granted) ? 'yes' : 'no';
}

/** What is about the record that was named, and not about the rules: an override that does not count, a type that is not listed. */
async function resourceNotes(service: Service, subject: Subject, held: Held): Promise<string[]> {
  const { app, resourceType, resourceId } = subject;
  if (resourceType === undefined) return [];
  if (held.global) {
    const dormant = (await readOverrides(service, subject))?.some(({ code }) => code === held.code) === true;
    const what = dormant
      ? `the override for ${resourceType}:${resourceId} does not count`
      : 'overrides for single records do not count';
    return [`and ${what}, because ${held.code} is global`];
  }
  if (held.source === 'override') return [];
  const seen = await look(service, `/api/applications/${encodeURIComponent(app)}/entities`);
  const types = seen.state === 'found' ? (seen.data as { code: string }[]).map(({ code }) => code) : [];
  if (types.length === 0 || types.includes(resourceType)) return [];
  const shown = types.length > MOST_TYPES ? `${types.slice(0, MOST_TYPES).join(', ')} and more` : types.join(', ');
  return [`and ${app} lists no resource type ${resourceType} (it lists ${shown})`];
}

const MOST_TYPES = 10;

/** Null where the caller may not see them. */
async function readOverrides(
  service: Service,
  { email, app, resourceType = '', resourceId = '' }: Subject,
): Promise<{ code: string; granted: boolean }[] | null> {
  const [user, application, type, id] = [email, app, resourceType, resourceId].map(encodeURIComponent);
  const seen = await look(service, `/api/users/${user}/apps/${application}/resources/${type}/${id}/permissions`);
  if (seen.state === 'missing') return [];
  return seen.state === 'found'
    ? (seen.data as { permissions: { code: string; granted: boolean }[] }).permissions
    : null;
}

type Seen = { state: 'found'; data: unknown } | { state: 'missing' } | { state: 'withheld'; code: string };

/** The refusals that mean "not for this caller"; every other failure is one of the command. */
const WITHHELD = new Set([
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'NO_APPLICATION_LEVEL',
  'USER_INACTIVE',
  'KEY_SCOPE',
  'IDENTITY_CONFLICT',
  'EMAIL_NOT_VERIFIED',
]);

/** Reads what an administrator may see. Without a token nothing is asked. */
async function look(service: Service, path: string): Promise<Seen> {
  if (service.credentials.token === undefined) return { state: 'withheld', code: 'UNAUTHENTICATED' };
  try {
    const { body } = await service.json({ method: 'GET', path });
    return { state: 'found', data: (body as { data?: unknown }).data };
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    if (error.code === 'NOT_FOUND') return { state: 'missing' };
    if (WITHHELD.has(error.code)) return { state: 'withheld', code: error.code };
    throw error;
  }
}
