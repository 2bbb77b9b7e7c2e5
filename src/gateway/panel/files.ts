/**
 * The built files of the panel, read once (docs/reference/service.md#panel). Requests are answered from this map alone, so no
 * path of a request reaches the file system, and a rebuild under a running service never mixes two builds.
 */

import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { codeOf } from '../../base/members.ts';
import { entriesOf } from '../../base/own-keys.ts';
import type { Coding } from '../middleware/compress.ts';

/** One form in which a file is sent. */
export interface Representation {
  readonly bytes: Buffer;
  /** Without quotes. Differs between the forms of one file: the tag is a strong one (RFC 9110, 8.8.1). */
  readonly etag: string;
}

export interface PanelFile {
  readonly plain: Representation;
  /** By coding, from the files that the build wrote beside it. */
  readonly packed: Readonly<Partial<Record<Coding, Representation>>>;
}

/** How the build names them. Browsers take brotli by TLS and from loopback, gzip everywhere. */
const ENDINGS: Readonly<Record<Coding, string>> = { br: '.br', gzip: '.gz' };

/** By path below `/panel/`, such as `assets/index-Bx1.js`. */
export type PanelFiles = ReadonlyMap<string, PanelFile>;

/** A folder without this file is not a build. */
const ENTRY = 'index.html';

/** The folder of the built panel. */
export class PanelFolder {
  readonly #path: string;
  #files: Promise<PanelFiles | null> | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  /** The files; null while the panel was not built. The next call looks again then. */
  async files(): Promise<PanelFiles | null> {
    this.#files ??= readFolder(this.#path);
    let files: PanelFiles | null = null;
    try {
      files = await this.#files;
    } finally {
      if (files === null) this.#files = null;
    }
    return files;
  }
}

async function readFolder(folder: string): Promise<PanelFiles | null> {
  const paths = await filesBelow(folder);
  const bytes = new Map(
    await Promise.all(paths.map(async (path) => [path, await readFile(join(folder, path))] as const)),
  );
  if (!bytes.has(ENTRY)) return null;
  const files = new Map<string, PanelFile>();
  for (const [path, plain] of bytes) {
    if (Object.values(ENDINGS).some((ending) => path.endsWith(ending))) continue;
    const packed: Partial<Record<Coding, Representation>> = {};
    for (const [coding, ending] of entriesOf(ENDINGS)) {
      const beside = bytes.get(path + ending);
      if (beside !== undefined) packed[coding] = represent(beside);
    }
    files.set(path, { plain: represent(plain), packed });
  }
  return files;
}

/** Hidden files are the build's own. */
async function filesBelow(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile() && !entry.name.startsWith('.'));
    return files.map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, '/'));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

function represent(bytes: Buffer): Representation {
  return { bytes, etag: createHash('sha256').update(bytes).digest('base64url') };
}
