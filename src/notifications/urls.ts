/** The URLs of notifications (docs/reference/names.md#urls). The `icon` of a push may be a path. */

import { validationFailed } from '../base/errors.ts';
import { hasForbiddenCharacters, isStorableUrl, LIMITS } from '../base/grammar.ts';

/** A URL that may be stored, or a path within the application's own pages. */
export function isTarget(text: string, allowHttp: boolean): boolean {
  return isStorableUrl(text, allowHttp) || isPath(text);
}

/** A path that a browser does not read as another host. */
function isPath(text: string): boolean {
  return /^\/(?![/\\])[^\s\\]*$/.test(text) && text.length <= LIMITS.url && !hasForbiddenCharacters(text);
}

/** Throws VALIDATION_FAILED naming the field. */
export function refuseTarget(field: string, text: string | null | undefined, allowHttp: boolean): void {
  if (text === null || text === undefined || isTarget(text, allowHttp)) return;
  throw validationFailed([{ path: field, message: targetRule(allowHttp) }]);
}

/** The rule of `isTarget`, for error messages. */
export function targetRule(allowHttp: boolean): string {
  return `must be a URL with ${allowHttp ? 'http or https' : 'https'} and no credentials, or a path`;
}
