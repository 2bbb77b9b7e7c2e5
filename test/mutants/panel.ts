// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they stand in the code that is searched.
import { type Mutant, mutant } from './mutant.ts';

/** What the panel asks of REST, and the door through which it comes. */
export const PANEL: readonly Mutant[] = [
  mutant(
    'orphans are judged by what the caller may not see',
    'persistence/directory/users.ts',
    'superadmins: orphansOf === null',
    'superadmins: true',
    'directory/user-lists',
  ),
  mutant(
    'a search finds what the caller may not see',
    'persistence/directory/search.ts',
    'apps === null ? sql`true` : sql`t.application_id',
    'apps !== undefined ? sql`true` : sql`t.application_id',
    'directory/search',
  ),
  mutant(
    'a person is not found as the subject of a record',
    'persistence/audit.ts',
    '[sql`true`, ...(which === null ? [] : [which]), ...common]',
    'which === null ? [sql`true`, ...common] : [which]',
    'administration/audit-by-person',
  ),
  mutant(
    'a person with two logins at one moment is listed twice',
    'persistence/people/person-order.ts',
    'select distinct on (s.key, s.person_id) s.key',
    'select s.key',
    'persistence/person-order',
  ),
  mutant(
    'an app admin writes auth mails by a manifest',
    'catalog/manifest/own.ts',
    'template: ({ before, after }) => before?.type === AUTH_TYPE || after?.type === AUTH_TYPE,',
    'template: byAdministrators,',
    'catalog/manifest/own',
  ),
  mutant(
    'who loses the seat while an apply waits still applies',
    'catalog/manifest/manifests.ts',
    'if (revoked) return',
    'if (revoked === undefined) return',
    'catalog/manifest/own',
  ),
  mutant(
    "a manifest of another application is applied by the path of one's own",
    'catalog/manifest/manifests.ts',
    'manifest.application.code !== within',
    "manifest.application.code === ''",
    'catalog/manifest/own',
  ),
  mutant(
    'any code opens the sign-in for development',
    'identity/development-sign-in.ts',
    'if (isSameSecret(code, given)) return;',
    "if (given !== '') return;",
    'gateway/dev-sign-in',
  ),
  mutant(
    'a page of another origin gets a token of the local issuer',
    'gateway/routes/dev-sign-in.ts',
    "request.header('sec-fetch-site') !== 'same-origin'",
    "request.header('sec-fetch-site') === 'cross-site'",
    'gateway/dev-sign-in',
  ),
  mutant(
    'every script of the preview of mails is allowed',
    'gateway/panel/headers.ts',
    `scripts.length === 1 ? scripts[0] : "'none'"`,
    "scripts.join(' ')",
    'gateway/panel',
  ),
  mutant(
    'who may only view an application retries its sends',
    'notifications/all-sends.ts',
    'return superadmin || (level === Level.EDIT && code !== PANEL_APP);',
    'return superadmin || level >= Level.VIEW;',
    'notifications/all-sends',
  ),
  mutant(
    'a change of an application is told to people who may not see it',
    'administration/changed-scopes.ts',
    'if (application !== undefined && codes.has(application)) return scope;',
    'if (application !== undefined) return scope;',
    'administration/change-stream',
  ),
  mutant(
    'answers that hold tokens are compressed',
    'gateway/middleware/answer.ts',
    'isLarge(bytes) && !this.#route.holdsSecret',
    'isLarge(bytes)',
    'gateway/compression',
  ),
];
