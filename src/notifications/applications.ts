/** The application that a notification or a template is of. */

import { UsherError } from '../base/errors.ts';

export function unknownApplication(code: string): UsherError {
  return new UsherError('NOT_FOUND', `There is no application ${code}.`);
}
