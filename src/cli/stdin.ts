import type { Io } from './io.ts';

/** All of standard input, as UTF-8. */
export async function readAll(input: Io['stdin']): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of input) parts.push(typeof part === 'string' ? Buffer.from(part) : part);
  return Buffer.concat(parts).toString('utf8');
}
