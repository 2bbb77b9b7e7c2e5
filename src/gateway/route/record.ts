/** Records as schemas of the OpenAPI document (docs/reference/service.md#documents). */

import { z } from 'zod';

/**
 * A record with a name of its own in the document: every route that answers or takes it refers to that schema. One name is
 * of one schema; a record that is answered and taken in two forms has two names.
 */
export function record<Shape extends z.core.$ZodLooseShape>(name: string, shape: Shape) {
  return z.strictObject(shape).meta({ id: name });
}
