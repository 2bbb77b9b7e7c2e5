// Serves this folder on http://localhost:8090, or the port that is its argument: a service worker needs https, or localhost.

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';

const FILES = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/page.js': ['page.js', 'text/javascript; charset=utf-8'],
  '/problems.js': ['problems.js', 'text/javascript; charset=utf-8'],
  '/sw.js': ['sw.js', 'text/javascript; charset=utf-8'],
};
const PORT = Number(process.argv[2] ?? 8090);

createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  if (pathname === '/answers' && isOwnPage(request)) {
    const answers = await answersAt(searchParams.get('at') ?? '');
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answers));
    return;
  }
  const [file, type] = FILES[pathname] ?? [];
  if (file === undefined) {
    response.writeHead(404).end();
    return;
  }
  const content = await readFile(join(import.meta.dirname, file));
  response.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' }).end(content);
}).listen(PORT, 'localhost', () => console.log(`http://localhost:${PORT}`));

/** Other pages, and names that were made to resolve to here, send no requests through this server. */
function isOwnPage({ headers }) {
  return headers['sec-fetch-site'] === 'same-origin' && headers.host === `localhost:${PORT}`;
}

/** Whether something answers there. The page asks when its own request failed, to tell a refused origin from a service that is away. */
async function answersAt(usher) {
  try {
    await fetch(new URL('/healthz', usher), { redirect: 'manual', signal: AbortSignal.timeout(3000) });
    return true;
  } catch {
    return false;
  }
}
