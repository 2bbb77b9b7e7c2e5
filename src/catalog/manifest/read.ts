/** A manifest's plain values as a Manifest, or every fault in it. Knows the form only: nothing of the database. Pure. */

import {
  isApplicationCode,
  isLanguageCode,
  isPermissionCode,
  isResourceId,
  isSlug,
  isStorableUrl,
  normalizeEmail,
  RULES,
} from '../../base/grammar.ts';
import { describe, type Faults, Fields, isMap, prose, type Rule, readText, words } from './fields.ts';
import {
  type AccessLevel,
  DEFAULT_TEMPLATE_KEY,
  type Manifest,
  type ManifestApplication,
  type ManifestAssignment,
  type ManifestEntity,
  type ManifestNotificationType,
  type ManifestOverride,
  type ManifestPermission,
  type ManifestRole,
  type ManifestTemplate,
  type Path,
  type Plain,
  SECTIONS,
  type Section,
  TEMPLATE_LIMITS,
  TEXT_LIMITS,
} from './format.ts';
import { overrideKey } from './state.ts';
import { templateKey } from './templates.ts';

const SLUG: Rule = {
  test: isSlug,
  says: `is no code: ${RULES.slug}`,
};
const APPLICATION: Rule = { test: isApplicationCode, says: `is no application code: ${RULES.applicationCode}` };
const PERMISSION: Rule = {
  test: isPermissionCode,
  says: `is no permission code: ${RULES.permissionCode}`,
};
const RESOURCE_ID: Rule = {
  test: isResourceId,
  says: `must be ${RULES.resourceId}`,
};
const LANGUAGE: Rule = { test: isLanguageCode, says: `must be ${RULES.language}` };
const URL: Rule = {
  test: (text) => isStorableUrl(text, true),
  says: `must be ${RULES.url}`,
};
const DESCRIPTION = words(TEXT_LIMITS.description, true);
const LEVELS = ['allowed', 'view', 'edit'] as const;

/** Reads the whole as far as it fits; null when not even the application is known. */
export function readManifest(value: Plain, faults: Faults): Manifest | null {
  if (!isMap(value)) {
    faults.add([], `a manifest is a map that begins with application:, not ${describe(value)}`);
    return null;
  }
  for (const name of Object.keys(value)) {
    if (name !== 'application' && !SECTIONS.includes(name as Section)) {
      faults.addUnknown([name], 'section', ['application', ...SECTIONS]);
    }
  }
  const sections = Fields.of(value, [], faults, Object.keys(value));
  if (sections === null) return null;
  const application = readApplication(value.application, faults);
  const spoiled = new Set<string>();
  const each = <T>(section: Section, read: Read<T>, key: (item: T) => string) =>
    readSection({ sections, section, faults, spoiled }, read, key);
  const manifest = {
    entities: each('entities', readEntity, (entity) => entity.code),
    permissions: each('permissions', readPermission, (permission) => permission.code),
    roles: each('roles', readRole, (role) => role.code),
    notificationTypes: each('notificationTypes', readNotificationType, (type) => type.code),
    templates: each('templates', readTemplate, templateKey),
    admins: each('admins', readEmail, (email) => email),
    assignments: each('assignments', readAssignment, (assignment) => assignment.email),
    overrides: each('overrides', readOverride, overrideKey),
  };
  refuseTooMuch(manifest.templates ?? [], faults);
  return application === null ? null : { application, ...manifest, spoiled };
}

type Read<T> = (item: Plain, path: Path, faults: Faults) => T | null;

function readSection<T>(
  { sections, section, faults, spoiled }: { sections: Fields; section: Section; faults: Faults; spoiled: Set<string> },
  read: Read<T>,
  key: (item: T) => string,
): (T | null)[] | null {
  const items = sections.list(section);
  if (items === null) return null;
  const first = new Map<string, number>();
  return items.map((item, at) => {
    const path = [section, at];
    const record = read(item, path, faults);
    if (record === null) {
      if (isMap(item) && typeof item.code === 'string') spoiled.add(`${section}:${item.code}`);
      return null;
    }
    const name = key(record);
    const earlier = first.get(name);
    if (earlier !== undefined) {
      faults.add(path, `${name} is named before, in ${section}.${earlier}; name each once`);
      return null;
    }
    first.set(name, at);
    return record;
  });
}

function readApplication(value: Plain | undefined, faults: Faults): ManifestApplication | null {
  if (value === undefined) {
    faults.add(
      [],
      'application is missing: application: {code, name, description?, supportedLanguages?, strictCodes?}',
    );
    return null;
  }
  const fields = Fields.of(value, ['application'], faults, [
    'code',
    'name',
    'description',
    'supportedLanguages',
    'strictCodes',
  ]);
  if (fields === null) return null;
  const code = fields.text('code', APPLICATION);
  const name = fields.optional('name', words(TEXT_LIMITS.name));
  const description = fields.optional('description', DESCRIPTION);
  const supportedLanguages = readTexts(fields, 'supportedLanguages', LANGUAGE, faults);
  const strictCodes = fields.flag('strictCodes') ?? false;
  return code === null ? null : { code, name, description, supportedLanguages, strictCodes };
}

/** A list of texts, each once. What does not fit is left out and noted. */
function readTexts(fields: Fields, name: string, rule: Rule, faults: Faults): string[] {
  const found: string[] = [];
  (fields.list(name) ?? []).forEach((item, at) => {
    const path = [...fields.path, name, at];
    const text = readText(item, path, rule, faults);
    if (text !== null && found.includes(text)) faults.add(path, `${describe(text)} is listed twice`);
    else if (text !== null) found.push(text);
  });
  return found;
}

function readEntity(value: Plain, path: Path, faults: Faults): ManifestEntity | null {
  const fields = Fields.of(value, path, faults, ['code', 'name', 'description', 'idLabel', 'listEndpoint']);
  if (fields === null) return null;
  const code = fields.text('code', SLUG);
  const name = fields.text('name', words(TEXT_LIMITS.name));
  const description = fields.optional('description', DESCRIPTION);
  const idLabel = fields.optional('idLabel', words(TEXT_LIMITS.idLabel));
  const listEndpoint = fields.optional('listEndpoint', URL);
  return code === null || name === null ? null : { code, name, description, idLabel, listEndpoint };
}

function readPermission(value: Plain, path: Path, faults: Faults): ManifestPermission | null {
  const known = ['code', 'type', 'description', 'groupName', 'parent', 'global'];
  const fields = Fields.of(value, path, faults, known);
  if (fields === null) return null;
  const code = fields.text('code', PERMISSION);
  if (!fields.has('type')) faults.add(path, 'type is missing: binary or tiered');
  const type = fields.oneOf('type', ['binary', 'tiered']);
  const description = fields.optional('description', DESCRIPTION);
  const groupName = fields.optional('groupName', words(TEXT_LIMITS.groupName));
  const parent = fields.optional('parent', PERMISSION);
  const global = fields.flag('global') ?? false;
  return code === null || type === null ? null : { code, type, description, groupName, parent, global };
}

function readRole(value: Plain, path: Path, faults: Faults): ManifestRole | null {
  const fields = Fields.of(value, path, faults, ['code', 'description', 'permissions']);
  if (fields === null) return null;
  const code = fields.text('code', SLUG);
  const description = fields.optional('description', DESCRIPTION);
  const permissions = new Map<string, AccessLevel>();
  const given = fields.raw('permissions') ?? Object.create(null);
  if (isMap(given)) {
    for (const [permission, level] of Object.entries(given)) {
      const at = [...path, 'permissions', permission];
      const known = LEVELS.find((name) => name === level);
      if (readText(permission, at, PERMISSION, faults) === null) continue;
      if (known) permissions.set(permission, known);
      else faults.add(at, `must be allowed, view or edit, not ${describe(level)}`, { code: 'INVALID_ACCESS_LEVEL' });
    }
  } else faults.add([...path, 'permissions'], `must be a map such as {invoice.read: view}, not ${describe(given)}`);
  return code === null ? null : { code, description, permissions };
}

function readNotificationType(value: Plain, path: Path, faults: Faults): ManifestNotificationType | null {
  const flags = ['emailEnabled', 'pushEnabled', 'userCanDisable', 'defaultEmail', 'defaultPush', 'selfServiceEnabled'];
  const known = ['code', 'name', 'description', ...flags, 'system', 'emailFromName'];
  const fields = Fields.of(value, path, faults, known);
  if (fields === null) return null;
  const code = fields.text('code', SLUG);
  const name = fields.text('name', words(TEXT_LIMITS.name));
  const read = {
    description: fields.optional('description', DESCRIPTION),
    emailEnabled: fields.flag('emailEnabled') ?? true,
    pushEnabled: fields.flag('pushEnabled') ?? true,
    userCanDisable: fields.flag('userCanDisable') ?? true,
    defaultEmail: fields.flag('defaultEmail') ?? true,
    defaultPush: fields.flag('defaultPush') ?? true,
    selfServiceEnabled: fields.flag('selfServiceEnabled') ?? true,
    system: fields.flag('system') ?? false,
    emailFromName: fields.optional('emailFromName', words(TEXT_LIMITS.emailFromName)),
  };
  return code === null || name === null ? null : { code, name, ...read };
}

const SUBJECT = words(TEMPLATE_LIMITS.subject, true);
const VARIABLE = words(TEMPLATE_LIMITS.variable, true);

function readTemplate(value: Plain, path: Path, faults: Faults): ManifestTemplate | null {
  const parts = ['subject', 'html', 'text', 'pushTitle', 'pushBody', 'url'];
  const fields = Fields.of(value, path, faults, ['type', 'key', 'locale', ...parts, 'requiredVariables']);
  if (fields === null) return null;
  const known = faults.list.length;
  const type = fields.text('type', SLUG);
  const key = fields.optional('key', SLUG) ?? DEFAULT_TEMPLATE_KEY;
  const locale = fields.text('locale', LANGUAGE);
  const subject = fields.text('subject', SUBJECT);
  const html = fields.text('html', prose(TEMPLATE_LIMITS.html));
  const more = {
    text: fields.optional('text', prose(TEMPLATE_LIMITS.text)),
    pushTitle: fields.optional('pushTitle', prose(TEMPLATE_LIMITS.pushTitle)),
    pushBody: fields.optional('pushBody', prose(TEMPLATE_LIMITS.pushBody)),
    url: fields.optional('url', prose(TEMPLATE_LIMITS.url)),
    requiredVariables: readTexts(fields, 'requiredVariables', VARIABLE, faults),
  };
  if (more.requiredVariables.length > TEMPLATE_LIMITS.variables) {
    faults.add([...path, 'requiredVariables'], `names more than ${TEMPLATE_LIMITS.variables} variables`);
  }
  // One whose key did not fit would be taken for the default one.
  if (faults.list.length > known || type === null || locale === null || subject === null || html === null) return null;
  return { type, key, locale, subject, html, ...more };
}

function refuseTooMuch(templates: readonly (ManifestTemplate | null)[], faults: Faults): void {
  const size = (template: ManifestTemplate | null): number =>
    template === null ? 0 : template.html.length + (template.text ?? '').length;
  if (templates.reduce((sum, template) => sum + size(template), 0) <= TEMPLATE_LIMITS.together) return;
  faults.add(['templates'], `are longer than ${TEMPLATE_LIMITS.together} characters together`);
}

function readEmail(value: Plain | undefined, path: Path, faults: Faults): string | null {
  if (value === undefined || value === null) {
    faults.add(path, 'email is missing');
    return null;
  }
  const text = readText(value, path, { test: () => true, says: '' }, faults);
  if (text === null) return null;
  const email = normalizeEmail(text);
  if (email === null) faults.add(path, `${describe(text)} must be ${RULES.email}`);
  return email;
}

function readAssignment(value: Plain, path: Path, faults: Faults): ManifestAssignment | null {
  const fields = Fields.of(value, path, faults, ['email', 'roles']);
  if (fields === null) return null;
  const email = readEmail(fields.raw('email'), fields.has('email') ? [...path, 'email'] : path, faults);
  if (fields.raw('roles') === undefined) faults.add(path, 'roles is missing: a list of role codes');
  const roles = readTexts(fields, 'roles', SLUG, faults);
  return email === null ? null : { email, roles };
}

function readOverride(value: Plain, path: Path, faults: Faults): ManifestOverride | null {
  const known = ['email', 'resourceType', 'resourceId', 'permission', 'granted', 'accessLevel'];
  const fields = Fields.of(value, path, faults, known);
  if (fields === null) return null;
  const email = readEmail(fields.raw('email'), fields.has('email') ? [...path, 'email'] : path, faults);
  const resourceType = fields.text('resourceType', SLUG);
  const resourceId = fields.text('resourceId', RESOURCE_ID);
  const permission = fields.text('permission', PERMISSION);
  if (!fields.has('granted')) faults.add(path, 'granted is missing: true or false');
  const granted = fields.flag('granted');
  const level = fields.raw('accessLevel') ?? null;
  const accessLevel = LEVELS.find((name) => name === level) ?? null;
  if (level !== null && accessLevel === null) {
    faults.add([...path, 'accessLevel'], `must be allowed, view or edit, not ${describe(level)}`, {
      code: 'INVALID_ACCESS_LEVEL',
    });
  } else if (granted === false && accessLevel !== null) {
    faults.add([...path, 'accessLevel'], 'a denial has no accessLevel: leave it out beside granted: false', {
      code: 'INVALID_ACCESS_LEVEL',
    });
  }
  if (email === null || resourceType === null || resourceId === null || permission === null || granted === null) {
    return null;
  }
  return { email, resourceType, resourceId, permission, granted, accessLevel };
}
