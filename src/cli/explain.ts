/**
 * Decisions with their reasons. The verdict is a batch of one check, which returns the level and the rule and refuses
 * undefined codes of a strict application. When no rule grants anything, Explain gives the reason.
 */

import { isPermissionCode, isSlug, normalizeEmail } from '../base/grammar.ts';
import type { LevelName, SourceName } from '../base/level-names.ts';
import type { CheckResult, Explanation, MyCheckResult } from '../gen/api.ts';
import { CommandFailed } from './io.ts';
import { endOf, meantBy } from './meant.ts';
import { asksAboutItself, asksAsAdministrator, type Resource, reasonOf } from './questions.ts';
import type { Answer, Service } from './service.ts';

export interface Subject extends Resource {
  email: string;
  app: string;
}

export interface Checked {
  allowed: boolean;
  /** What is held; null when nothing is. */
  accessLevel: LevelName;
  source: SourceName;
  reason: string;
  revision: string | null;
}

/** A question about one permission, from the arguments of a command. */
export interface Question extends Subject {
  permission: string;
  accessLevel?: 'view' | 'edit';
}

/** One decision, as Check makes it, with its reason. */
export async function check(service: Service, question: Question): Promise<Checked> {
  const { email, ...mine } = question;
  const asked: Promise<Answer<{ results: (CheckResult | MyCheckResult)[] }>> = asksAboutItself(service, email)
    ? service.call('POST /api/profile/me/check/batch', { body: { checks: [mine] } })
    : service.call('POST /api/check/batch', { body: { checks: [question] } }, { asks: 'checks' });
  const { data, revision } = await asked.catch((error: unknown) => {
    throw withAnotherWay(withoutPlace(error), service);
  });
  const [result] = data.results;
  if (result === undefined) throw new CommandFailed('The service answered no result.');
  const { allowed, accessLevel, source: said } = result;
  const source = said === 'none' ? null : said;
  const answer = { allowed, accessLevel, source, revision };
  const reason = source === null ? await whyNothing(service, question) : because(question, answer);
  return { ...answer, reason };
}

/** The result of each of the six rules for a question, for backends and administrators. */
export async function explain(
  service: Service,
  question: Question,
): Promise<{ explained: Explanation; revision: string | null }> {
  const { app, ...inApp } = question;
  const { key, checkKey } = service.credentials;
  const byKey = key !== undefined || checkKey !== undefined;
  const { data: explained, revision } = byKey
    ? await service.call('POST /api/check/explain', { body: question }, { asks: 'checks' })
    : await service.call('POST /api/applications/{appCode}/explain', { path: { appCode: app }, body: inApp });
  return { explained, revision };
}

/** The reason of an answer that Explain has given. An unknown code is named with the nearest that the caller may see. */
export async function reasonFor(service: Service, question: Question, explained: Explanation): Promise<string> {
  const { email, app, permission } = question;
  const { source, rule, rules, known } = explained;
  const undefinedHere = `${app} defines no permission ${permission}`;
  if (rule === 1) return 'the account is inactive';
  if (source !== null) {
    const note = known.permission || rule > 3 ? '' : ` (${undefinedHere})`;
    return `${because(question, explained)}${note}`;
  }
  const malformed = malformedPart(question);
  if (malformed !== null) return malformed;
  if (!known.application || !known.permission) {
    const unknown = known.application ? undefinedHere : `there is no application ${app}`;
    return `${unknown}${endOf(await meantBy(service, question, known))}`;
  }
  const isStranger = !known.user && rules.every(({ roles = [] }) => roles.length === 0);
  return `no rule grants it${isStranger ? `: ${email} is unknown` : ''}`;
}

/** The rule that decided, with the required level if it was not reached. */
function because(
  { accessLevel: needed }: Question,
  { allowed, accessLevel, source }: Pick<Checked, 'allowed' | 'accessLevel' | 'source'>,
): string {
  const granted = accessLevel !== null;
  const short = granted && !allowed ? `, ${needed ?? 'another level'} is needed` : '';
  return `${reasonOf(source, granted, accessLevel)}${short}`;
}

/** The reason for a denial, as far as the caller may see it. */
async function whyNothing(service: Service, question: Question): Promise<string> {
  const malformed = malformedPart(question);
  if (malformed !== null) return malformed;
  try {
    const { explained } = await explain(service, question);
    // A policy changed between the two questions, so the explanation is of a different answer.
    return explained.source === null ? await reasonFor(service, question, explained) : 'no rule granted it';
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    if (error.code === 'NOT_FOUND') return `there is no application ${question.app}`;
    if (WITHHELD.has(error.code)) return UNSEEN;
    throw error;
  }
}

const UNSEEN =
  "no rule grants it, or an override denies it, or the account is inactive (an administrator's token tells which)";

/** The refusals that mean "not for this caller"; any other failure ends the command. */
const WITHHELD = new Set([
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'NO_APPLICATION_LEVEL',
  'USER_INACTIVE',
  'KEY_SCOPE',
  'IDENTITY_CONFLICT',
  'EMAIL_NOT_VERIFIED',
]);

/** A question with a malformed code or address is denied to everybody, before any rule. */
function malformedPart({ email, app, permission, resourceType }: Question): string | null {
  const codes = 'lower-case letters and digits, joined by . _ or -, at most 64';
  if (normalizeEmail(email) === null) return `${JSON.stringify(email)} is not an e-mail address`;
  if (!isSlug(app)) return `${JSON.stringify(app)} is not an application code (${codes})`;
  if (!isPermissionCode(permission)) {
    return `${JSON.stringify(permission)} is not a permission code (letters and digits, joined by . _ : / or -, at most 128)`;
  }
  if (resourceType !== undefined && !isSlug(resourceType)) {
    return `${JSON.stringify(resourceType)} is not a resource type (${codes})`;
  }
  return null;
}

/** With a token alone backends' questions about others are refused; Explain has a door for administrators. */
function withAnotherWay(error: unknown, service: Service): unknown {
  if (!(error instanceof CommandFailed) || error.code !== 'UNAUTHENTICATED' || !asksAsAdministrator(service))
    return error;
  const { code, details, lines } = error;
  return new CommandFailed(`${error.message} For \`usher explain\` an administrator's token is enough.`, {
    code,
    details,
    lines,
  });
}

/** The failure under the names that its fields have on the command line: the index of the only check is left out. */
function withoutPlace(error: unknown): unknown {
  if (!(error instanceof CommandFailed)) return error;
  const { code, details } = error;
  const bare = (text: string) => text.replace(/^checks\.0\./, '');
  return new CommandFailed(bare(error.message), { code, lines: error.lines.map(bare), details });
}
