/**
 * Preloaded by the scripts of package.json. JavaScript, and before main.ts: whose own types would otherwise be stripped anew by
 * every start, and loading what strips them takes longer than all else of it (4 MB of source, and WebAssembly).
 */

import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/usher', import.meta.url)));
