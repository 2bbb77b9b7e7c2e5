/** Programs of ours that run beside the service, in threads and processes. */

import { extname } from 'node:path';

/** The program `name` beside the module at `url`, as that one stands there: TypeScript, or what the build made of it. */
export function programBeside(url: string, name: string): URL {
  return new URL(`./${name}${extname(url)}`, url);
}
