/** Answers in fewer bytes, for callers that accept it (docs/reference/http.md#compression). */

import { promisify } from 'node:util';
import { type BrotliOptions, brotliCompress, constants, gzip, type InputType, type ZlibOptions } from 'node:zlib';
import type { Request } from 'express';

export type Coding = 'br' | 'gzip';

/** A shorter body fits into one packet as it is. */
const MIN_BYTES = 1024;
/** Compresses JSON as well as gzip at 6 in half of its time; the default is for files that are compressed once. */
const BROTLI: BrotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };
const GZIP: ZlibOptions = { level: 6 };

const brotliAsync = promisify<InputType, BrotliOptions, Buffer>(brotliCompress);
const gzipAsync = promisify<InputType, ZlibOptions, Buffer>(gzip);

/** Whether a body of that size is worth compressing. */
export function isLarge(bytes: number): boolean {
  return bytes > MIN_BYTES;
}

/** The coding that the caller prefers to none; of several, `br`. Null for a caller that names neither. */
export function codingFor(req: Request): Coding | null {
  for (const coding of ['br', 'gzip'] as const) if (req.acceptsEncodings(coding, 'identity') === coding) return coding;
  return null;
}

/** By a thread of libuv's pool: a manifest of 32 MiB must not hold up a check. Rejects only for a defect. */
export function compress(coding: Coding, body: string | Buffer): Promise<Buffer> {
  return coding === 'br' ? brotliAsync(body, BROTLI) : gzipAsync(body, GZIP);
}
