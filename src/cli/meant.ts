/** "Did you mean", for the codes of a question that a check answers with no: nobody refuses them, so the command looks for itself. */

import type { Explanation } from '../gen/api.ts';
import { CommandFailed } from './io.ts';
import { askEffective } from './questions.ts';
import type { Service } from './service.ts';

/** The code that was most likely meant by the one that is unknown, among those that the caller may see; null for none. */
export async function meantBy(
  service: Service,
  { email, app, permission }: { readonly email: string; readonly app: string; readonly permission: string },
  known: Pick<Explanation['known'], 'application' | 'permission'>,
): Promise<string | null> {
  if (!known.application) return await applicationMeant(service, app);
  if (known.permission) return null;
  try {
    const { items } = await askEffective(service, { email, app });
    // Loaded for those who err alone.
    const { nearest } = await import('../base/nearest.ts');
    return nearest(
      permission,
      items.map(({ code }) => code),
    );
  } catch (error) {
    // Who may ask about one permission need not be one who may list them.
    if (error instanceof CommandFailed) return null;
    throw error;
  }
}

/** The same for an application that is perhaps unknown: its refusal names the nearest to an administrator. */
export async function applicationMeant(service: Service, app: string): Promise<string | null> {
  if (service.credentials.token === undefined) return null;
  try {
    await service.call('GET /api/applications/{appCode}', { path: { appCode: app } });
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    // Any other refusal leaves the answer as it is.
    if (error.code === 'NOT_FOUND' && typeof error.details?.known === 'string') return error.details.known;
  }
  return null;
}

/** The end of a sentence about an unknown code: nothing, or what was most likely meant. */
export function endOf(meant: string | null): string {
  return meant === null ? '' : `; did you mean ${meant}?`;
}
