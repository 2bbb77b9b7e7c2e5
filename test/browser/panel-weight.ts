import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';

const BUILT = new URL('../../dist', import.meta.url).pathname;

/** What a page has asked for since it was watched. */
export interface Load {
  /** Kilobytes of the panel's files, as gzip would send them. */
  readonly gzip: () => number;
  /** Requests of the API, without the stream of changes. Signing in for development is not of it. */
  readonly requests: () => readonly string[];
}

export function watchLoad(page: Page): Load {
  const files = new Set<string>();
  const requests: string[] = [];
  page.on('request', (request) => {
    const { pathname, search } = new URL(request.url());
    if (pathname.startsWith('/panel/')) files.add(pathname);
    else if (pathname.startsWith('/api/') && pathname !== '/api/admin/stream') requests.push(pathname + search);
  });
  return { gzip: () => gzipOf([...files]), requests: () => [...requests] };
}

/** Every path that is not of a file is a view, whose file is the page itself. */
function gzipOf(paths: readonly string[]): number {
  const files = paths
    .filter((path) => path !== '/panel/config.json')
    .map((path) => join(BUILT, isFile(path) ? path : '/panel/index.html'));
  return files.reduce((sum, file) => sum + gzipSync(readFileSync(file), { level: 9 }).length, 0) / 1000;
}

function isFile(path: string): boolean {
  return statSync(join(BUILT, path), { throwIfNoEntry: false })?.isFile() === true;
}
