/** How the panel is built: see build.mjs. `npm run dev --workspace panel` serves it while it is being developed. */

import optimizeLocales from '@react-aria/optimize-locales-plugin';
import { defineConfig, type HtmlTagDescriptor, type Plugin } from 'vite';

/** The service that the development server asks. */
const SERVICE = process.env.USHER_URL ?? 'http://localhost:8080';

/**
 * What a first view needs, in few files: a browser asks for six at a time. Everything else is a chunk where it is imported on
 * demand. `begin` runs while `frame` is loaded; parts that most views share are of the frame.
 */
const CHUNKS = [
  { name: 'begin', tags: ['$initial' as const], priority: 2 },
  { name: 'words-en', test: /panel\/src\/(words|shell|session)\/en\.ts$/, priority: 1 },
  { name: 'words-cs', test: /panel\/src\/(words|shell|session)\/cs\.ts$/, priority: 1 },
  {
    // What the views of a place share: its logic and looks, each far too small for a file of its own.
    name: (id: string) =>
      /places\/([\w-]+)\/(?!en\.|cs\.)([\w-]+\.(module\.css|ts)|state-badges\.tsx)$/.exec(id)?.[1] ?? null,
    minShareCount: 2,
  },
  {
    name: 'frame',
    test: /node_modules\/(react-dom|scheduler)\/|panel\/src\/(api\/csv|shell\/(actions|layout|panel-app|recents|rights)|parts\/(badge|button|copy|field|filters|list|page|problem|search-field|toolbar))\./,
  },
];

/**
 * The page names the code that draws, which its first script imports on demand: both are loaded at the same time. As scripts, since
 * a browser compiles a `modulepreload` at once, and the first script would wait for that.
 */
const preloadFrame: Plugin = {
  name: 'preload-frame',
  transformIndexHtml: {
    order: 'post',
    handler: (_html, { bundle = {} }): HtmlTagDescriptor[] => {
      const chunks = Object.values(bundle).filter((file) => file.type === 'chunk');
      const drawing = chunks.find(({ facadeModuleId }) => facadeModuleId?.endsWith('/src/app.tsx'));
      const initial = new Set(
        chunks.filter(({ isEntry }) => isEntry).flatMap((entry) => [entry.fileName, ...entry.imports]),
      );
      const files = drawing === undefined ? [] : [drawing.fileName, ...drawing.imports];
      return files
        .filter((file) => !initial.has(file))
        .map((file) => ({
          tag: 'link',
          injectTo: 'head',
          attrs: { rel: 'preload', as: 'script', crossorigin: true, href: `/panel/${file}` },
        }));
    },
  },
};

export default defineConfig({
  root: import.meta.dirname,
  base: '/panel/',
  publicDir: 'static',
  logLevel: 'error',
  plugins: [preloadFrame, { ...optimizeLocales.vite({ locales: ['en-US', 'cs-CZ'] }), enforce: 'pre' }],
  // React has had this hook since 18; wouter brings it for those before.
  resolve: { alias: { 'use-sync-external-store/shim/index.js': 'react', 'use-sync-external-store/shim': 'react' } },
  build: {
    outDir: '../dist/panel',
    emptyOutDir: true,
    target: 'es2024',
    // A chunk that is small enough would otherwise be written into the style sheet as a data: URL.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: { output: { codeSplitting: { groups: CHUNKS } } },
  },
  server: { proxy: { '/api': SERVICE, '/dev': SERVICE, '/panel/config.json': SERVICE } },
});
