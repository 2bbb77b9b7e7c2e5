/** Times as people and manifests write them (docs/reference/time.md#windows-in-requests). */

import { z } from 'zod';

/** Completes "must be" and "is not". */
export const MOMENT = 'a time in ISO 8601 with a zone, as 2026-12-04T18:00:00+01:00';

/** With or without seconds. */
const FORMS = [z.iso.datetime({ offset: true }), z.iso.datetime({ offset: true, precision: -1 })];

/** Whether it is one. A day that no month has is refused. */
export function isMoment(text: string): boolean {
  return FORMS.some((form) => form.safeParse(text).success);
}
