// What was built: the page's files, and the page as a server renders it, where everything is denied.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [react] = process.argv.slice(2);
const { html, refusals } = await import(new URL('./server/server.js', import.meta.url).href);

assert.match(html, /<p>Wait<\/p>/);
assert.doesNotMatch(html, /Archive/);
assert.match(html, /aria-label="Notifications"/);
assert.match(html, /false.*false,false.*none/);
assert.deepEqual(refusals, [
  "UsherError: level: must be 'view' or 'edit', not 'write'",
  'UsherError: resourceType: unknown member; write resource: {type, id}',
]);
assert.match(createRequire(import.meta.url)('react').version, new RegExp(`^${react}\\.`));
const [style] = globSync('dist/assets/*.css');
assert.match(readFileSync(style, 'utf8'), /--usher-surface/);
// One React: that of the application.
assert.deepEqual(globSync('node_modules/@usher-service/react/node_modules/*'), []);
console.log(`ok, with React ${react}`);
