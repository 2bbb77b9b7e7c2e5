// Serves this folder on http://localhost:8090, or the port that is its argument: a service worker needs https, or localhost.

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';

const FILES = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/page.js': ['page.js', 'text/javascript; charset=utf-8'],
  '/sw.js': ['sw.js', 'text/javascript; charset=utf-8'],
};
const PORT = Number(process.argv[2] ?? 8090);

createServer(async (request, response) => {
  const [file, type] = FILES[new URL(request.url, 'http://localhost').pathname] ?? [];
  if (file === undefined) {
    response.writeHead(404).end();
    return;
  }
  const content = await readFile(join(import.meta.dirname, file));
  response.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' }).end(content);
}).listen(PORT, 'localhost', () => console.log(`http://localhost:${PORT}`));
