/** What a record of the audit offers to have back: the draft of the change that undoes it. */

import { actionOf } from '../../../../src/base/audit-sentences.ts';
import type { AuditRecord } from './changes.ts';

type Level = 'allowed' | 'view' | 'edit';

export type Restore =
  | {
      /** The levels of a role. */
      readonly kind: 'role';
      readonly appCode: string;
      readonly role: string;
      readonly permissions: readonly { readonly permission: string; readonly accessLevel: Level }[];
    }
  | { readonly kind: 'roles'; readonly appCode: string; readonly email: string; readonly roles: readonly string[] }
  /** The editor of overrides with the draft. */
  | { readonly kind: 'link'; readonly href: string }
  | { readonly kind: 'template'; readonly appCode: string; readonly template: StoredTemplate };

export interface StoredTemplate {
  readonly type: string;
  readonly key: string;
  readonly locale: string;
  readonly subject: string;
  readonly html: string;
  readonly text: string | null;
  readonly pushTitle: string | null;
  readonly pushBody: string | null;
  readonly url: string | null;
  readonly requiredVariables: string[];
}

type Fields = Readonly<Record<string, unknown>>;

/** Null where the inverse is not plain, or where the record does not hold all of it. */
export function restoreOf(record: AuditRecord): Restore | null {
  const { action, refused } = actionOf(record.action);
  const { appCode, subject } = record;
  if (refused || appCode === null || subject === null) return null;
  const before = fieldsOf(record.before);
  const after = fieldsOf(record.after);
  switch (action) {
    case 'role_permissions.replaced': {
      const permissions = levelsIn(before?.permissions);
      return permissions === null ? null : { kind: 'role', appCode, role: subject, permissions };
    }
    case 'user_roles.replaced': {
      const roles = before?.roles;
      return isTexts(roles) ? { kind: 'roles', appCode, email: subject, roles } : null;
    }
    case 'override.created':
    case 'override.removed':
    case 'override.changed':
    case 'override.replaced':
      return overrideOf(appCode, subject, before, after);
    case 'template.changed':
    case 'template.deleted':
    case 'template.removed': {
      const template = templateOf(before);
      return template === null ? null : { kind: 'template', appCode, template };
    }
    default:
      return null;
  }
}

function overrideOf(appCode: string, email: string, before: Fields | null, after: Fields | null): Restore | null {
  const { resourceType, resourceId } = before ?? after ?? {};
  if (typeof resourceType !== 'string' || typeof resourceId !== 'string') return null;
  const [old, now] = [choicesIn(before), choicesIn(after)];
  const wish = [...new Set([...old.keys(), ...now.keys()])]
    .filter((permission) => old.get(permission) !== now.get(permission))
    .map((permission) => `${permission}:${old.get(permission) ?? ''}`);
  if (wish.length === 0) return null;
  const draft = new URLSearchParams({ edit: '1', of: email, rt: resourceType, rid: resourceId, want: wish.join(',') });
  return { kind: 'link', href: `/applications/${encodeURIComponent(appCode)}/records?${draft}` };
}

/** The overrides on one side, by permission: one, or a list of `project.access: denied`. */
export function choicesIn(value: unknown): Map<string, string> {
  const side = fieldsOf(value);
  if (side === null) return new Map();
  if (typeof side.permission === 'string') {
    const { permission, granted, accessLevel } = side;
    return new Map([[permission, granted === true ? String(accessLevel) : 'denied']]);
  }
  return new Map((isTexts(side.overrides) ? side.overrides : []).map((text) => pairOf(text)));
}

function levelsIn(value: unknown): { permission: string; accessLevel: Level }[] | null {
  if (!isTexts(value)) return null;
  const levels = value.map((text) => {
    const [permission, accessLevel] = pairOf(text);
    return { permission, accessLevel: accessLevel as Level };
  });
  return levels.every(({ accessLevel }) => ['allowed', 'view', 'edit'].includes(accessLevel)) ? levels : null;
}

function pairOf(text: string): [name: string, value: string] {
  const at = text.lastIndexOf(': ');
  return [text.slice(0, at), text.slice(at + 2)];
}

/** How the audit ends a part that it has shortened. */
const SHORTENED = /… \(\d+ characters\)$/;

function templateOf(before: Fields | null): StoredTemplate | null {
  if (before === null) return null;
  const { type, key, locale, subject, html, requiredVariables } = before;
  const whole = Object.values(before).every((part) => typeof part !== 'string' || !SHORTENED.test(part));
  if (!whole || !isTexts([type, key ?? '', locale, subject, html])) return null;
  const part = (name: string) => (typeof before[name] === 'string' ? before[name] : null);
  return {
    type: String(type),
    key: typeof key === 'string' ? key : 'default',
    locale: String(locale),
    subject: String(subject),
    html: String(html),
    text: part('text'),
    pushTitle: part('pushTitle'),
    pushBody: part('pushBody'),
    url: part('url'),
    requiredVariables: isTexts(requiredVariables) ? [...requiredVariables] : [],
  };
}

function fieldsOf(value: unknown): Fields | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
