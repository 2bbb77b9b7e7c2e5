/** What on the screen may differ after a change by somebody. */

export interface Scope {
  readonly application?: string;
  readonly email?: string;
}

const EVERYTHING = ['/api'];

/** In the form of `refresh`. `own`: the signed-in person, whose rights decide what every answer holds. */
export function concernedBy(scopes: readonly Scope[], own: string | null): readonly string[] {
  const isAnything = ({ application, email }: Scope) =>
    (application === undefined && email === undefined) || (email !== undefined && email === own?.toLowerCase());
  if (scopes.length === 0 || scopes.some(isAnything)) return EVERYTHING;
  return [...new Set(['/api/admin/audit', 'GET /api/admin/overview', ...scopes.flatMap(ofScope)])];
}

function ofScope({ application, email }: Scope): readonly string[] {
  return [
    ...(application === undefined ? [] : ofApplication(application, email)),
    ...(email === undefined ? [] : ofPerson(email)),
  ];
}

/** A change of the application alone, such as of a role, reaches people whom it does not name. */
function ofApplication(code: string, email: string | undefined): readonly string[] {
  const access = ['GET /api/users/{email}/access', 'GET /api/profile/me/access', 'GET /api/profile/me/apps'];
  return [
    `/api/applications/${code}`,
    `/api/users/admins/apps/${code}`,
    'GET /api/applications',
    ...(email === undefined ? access : []),
  ];
}

function ofPerson(email: string): readonly string[] {
  return [`/api/users/${email}`, 'GET /api/users', 'GET /api/users/admins/super'];
}
