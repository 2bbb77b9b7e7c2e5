// Builds the example and serves it on http://localhost:8091, or the port that is its argument, with tokens of a development start.
// An application of your own is built by its own tools, and its people sign in at an identity provider.

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'vite';

const PORT = Number(process.argv[2] ?? 8091);
const USHER_URL = process.env.USHER_URL ?? 'http://localhost:8080';
const ROOT = resolve(import.meta.dirname, '../..');
const CLIENT = join(ROOT, 'clients/react/src');
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };
// Taken before the build, which sets NODE_ENV. Without it: a command for production makes no tokens.
const { NODE_ENV: _, ...ENVIRONMENT } = process.env;

const { output } = await build({
  root: import.meta.dirname,
  configFile: false,
  logLevel: 'error',
  define: { 'import.meta.env.VITE_USHER_URL': JSON.stringify(USHER_URL) },
  // An application installs the package instead.
  resolve: {
    alias: {
      '@usher-service/react/styles.css': join(CLIENT, 'styles.css'),
      '@usher-service/react': join(CLIENT, 'index.ts'),
    },
  },
  build: { write: false },
});
const files = new Map(output.map((file) => [`/${file.fileName}`, file.type === 'chunk' ? file.code : file.source]));
files.set('/', files.get('/index.html'));
files.set('/push-worker.js', readFileSync(join(CLIENT, 'push-worker.js')));

createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  if (pathname === '/token' && isOwnPage(request)) {
    const token = await tokenOf(searchParams.get('email') ?? '');
    response.writeHead(token === null ? 503 : 200, { 'content-type': 'application/json', 'cache-control': 'no-store' });
    response.end(JSON.stringify({ token }));
    return;
  }
  const content = files.get(pathname);
  if (content === undefined) {
    response.writeHead(404).end();
    return;
  }
  const type = TYPES[extname(pathname)] ?? 'text/html';
  response.writeHead(200, { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-store' }).end(content);
}).listen(PORT, 'localhost', () => console.log(`http://localhost:${PORT}`));

/** Other pages, and names that were made to resolve to here, get no tokens. */
function isOwnPage({ headers }) {
  return headers['sec-fetch-site'] === 'same-origin' && headers.host === `localhost:${PORT}`;
}

/** By the command line of the service on this machine: it finds the key of the development start in its data directory. */
async function tokenOf(email) {
  try {
    const command = [join(ROOT, 'src/main.ts'), 'token', email];
    const { stdout } = await promisify(execFile)(process.execPath, command, { cwd: ROOT, env: ENVIRONMENT });
    return stdout.trim();
  } catch (error) {
    console.error(error.stderr ?? error);
    return null;
  }
}
