/**
 * Keeps compiled code and stripped types for the next start: half of the time of a start. Beside the packages, not in a shared
 * temporary folder, where others could put code. Node.js does without where the folder cannot be written.
 *
 * main.ts imports it, and the scripts of package.json preload it, in JavaScript: otherwise each start would strip the types of
 * main.ts anew, and to load the code that strips them (4 MB of source, and WebAssembly) takes longer than the rest.
 */

import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/usher', import.meta.url)));
