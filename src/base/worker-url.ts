/** Programs of the service that run in threads and processes of their own. */

import { extname } from 'node:path';

/** The program `name` beside the module at `url`, with that module's extension: TypeScript, or JavaScript after a build. */
export function workerUrl(url: string, name: string): URL {
  return new URL(`./${name}${extname(url)}`, url);
}
