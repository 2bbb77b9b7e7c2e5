/** Files of commands: why one cannot be read or written, and the faults in one. */

import { readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { codeOf } from '../base/members.ts';
import { CommandFailed, type Io } from './io.ts';

/** The text of a file. Rejects with the failure that `failed` makes of the reason. */
export async function readText(
  { cwd }: Pick<Io, 'cwd'>,
  name: string,
  failed: (reason: string) => Error = (reason) => new CommandFailed(`${name} ${reason}.`),
): Promise<string> {
  try {
    return await readFile(resolve(cwd, name), 'utf8');
  } catch (error) {
    const code = codeOf(error);
    throw failed(code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`);
  }
}

/** Writes a file. Rejects with CommandFailed. */
export async function writeText({ cwd }: Pick<Io, 'cwd'>, name: string, text: string): Promise<void> {
  try {
    await writeFile(resolve(cwd, name), text);
  } catch (error) {
    throw new CommandFailed(`${name} cannot be written (${codeOf(error)}).`);
  }
}

/** A fault in a file. Faults that a service reports may have no place. */
export interface Issue {
  readonly path: string;
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
}

/** Faults in the form that editors and terminals link: `file:line:column: path: message`. */
export function issueLines(name: string, issues: readonly Issue[]): string[] {
  return issues.map(({ path, message, line, column }) => {
    const place = line === undefined ? name : `${name}:${line}:${column}`;
    return `${place}: ${path === '' ? '' : `${path}: `}${message}`;
  });
}
