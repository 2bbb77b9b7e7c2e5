/** The files that `*_FILE` variables name: the values of secrets (docs/operations/configuration.md#secrets-in-files). */

import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { SecretFile } from '../config/resolve.ts';
import { fileVariables } from '../config/secrets.ts';
import type { Io } from './io.ts';

/** Of a file, in bytes. */
export const MAX_SECRET = 65_536;

/** By variable. A file that cannot be used has its problem, which never shows what it holds. */
export async function readSecretFiles(io: Pick<Io, 'env' | 'cwd'>): Promise<ReadonlyMap<string, SecretFile>> {
  const named = fileVariables().flatMap((variable) => {
    const path = io.env[variable];
    return path === undefined || path.trim() === '' ? [] : [{ variable, path: resolve(io.cwd, path) }];
  });
  const read = named.map(async ({ variable, path }) => [variable, await readSecret(path)] as const);
  return new Map(await Promise.all(read));
}

async function readSecret(path: string): Promise<SecretFile> {
  let bytes: Buffer;
  try {
    bytes = await readStart(path);
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException;
    return { problem: `the file ${path} cannot be read (${code ?? name})` };
  }
  if (bytes.length > MAX_SECRET) return { problem: `the file ${path} is larger than ${MAX_SECRET} bytes` };
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return { text: text.replace(/\r?\n$/, '') };
  } catch {
    return { problem: `the file ${path} is not text in UTF-8` };
  }
}

/** No more than one byte beyond the limit, whatever the file is. */
async function readStart(path: string): Promise<Buffer> {
  await using file = await open(path);
  const bytes = Buffer.alloc(MAX_SECRET + 1);
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}
