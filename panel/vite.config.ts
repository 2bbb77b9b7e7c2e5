/** How the panel is built: see build.mjs. `npx vite --config panel/vite.config.ts` serves it while it is being developed. */

import optimizeLocales from '@react-aria/optimize-locales-plugin';
import { defineConfig } from 'vite';

/** The service that the development server asks. */
const SERVICE = process.env.USHER_URL ?? 'http://localhost:8080';

export default defineConfig({
  root: import.meta.dirname,
  base: '/panel/',
  publicDir: 'static',
  logLevel: 'error',
  plugins: [{ ...optimizeLocales.vite({ locales: ['en-US', 'cs-CZ'] }), enforce: 'pre' }],
  build: {
    outDir: '../dist/panel',
    emptyOutDir: true,
    target: 'es2024',
    // A chunk that is small enough would otherwise be written into the style sheet as a data: URL.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: { '/api': SERVICE, '/dev': SERVICE, '/panel/config.json': SERVICE } },
});
