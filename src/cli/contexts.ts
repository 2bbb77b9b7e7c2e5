/**
 * Contexts: services by name, each with its URL and a credential, in one file of the user's own. The file has mode 0600, and
 * credentials are never printed.
 */

import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { usherCommand } from '../base/command.ts';
import { isSlug } from '../base/grammar.ts';
import { codeOf, membersOf } from '../base/members.ts';
import { CommandFailed, type Io } from './io.ts';

export interface StoredContext {
  url: string;
  /** At most one of the two; neither for a local issuer. */
  token?: string | undefined;
  key?: string | undefined;
}

export interface Contexts {
  /** The name of the current one, or null. */
  current: string | null;
  /** By name, in the order in which they were first stored. */
  byName: Map<string, StoredContext>;
}

/** The file's path; null where the environment has no directory for it. */
export function contextsFile({ env }: Pick<Io, 'env'>): string | null {
  const home = env.HOME ?? env.USERPROFILE;
  const folder = env.XDG_CONFIG_HOME || env.APPDATA || (home ? join(home, '.config') : '');
  return folder === '' ? null : join(folder, 'usher', 'contexts.json');
}

/** All of them; empty without the file. */
export async function readContexts(io: Pick<Io, 'env'>): Promise<Contexts> {
  const path = contextsFile(io);
  const text = path === null ? null : await readIfThere(path);
  if (path === null || text === null) return { current: null, byName: new Map() };
  const contexts = parse(text);
  if (contexts === null) {
    throw new CommandFailed(
      `${path} is not a valid contexts file: remove it, then store the services again with ${usherCommand('login')}.`,
    );
  }
  return contexts;
}

/** Replaces the file as a whole, so that a killed command leaves the old one. */
export async function writeContexts(io: Pick<Io, 'env'>, { current, byName }: Contexts): Promise<void> {
  const path = contextsFile(io);
  if (path === null) {
    throw new CommandFailed('No folder for contexts: set XDG_CONFIG_HOME or HOME to a folder.');
  }
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const text = `${JSON.stringify({ current, contexts: [...byName].map(([name, context]) => ({ name, ...context })) }, null, 2)}\n`;
  const temporary = `${path}.${randomUUID()}`;
  try {
    await writeFile(temporary, text, { mode: 0o600, flag: 'wx' });
    await rename(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
}

/** The context that `named`, USHER_CONTEXT or `usher context use` chose; null without one. */
export async function chosenContext(io: Pick<Io, 'env'>, named: string | undefined): Promise<StoredContext | null> {
  const contexts = await readContexts(io);
  const name = named ?? (io.env.USHER_CONTEXT || contexts.current);
  return name === null ? null : contextNamed(contexts, name);
}

/** Throws for an unknown name. */
export function contextNamed({ byName }: Contexts, name: string): StoredContext {
  const found = byName.get(name);
  if (found !== undefined) return found;
  const names = byName.size === 0 ? 'none is stored yet' : `there are ${[...byName.keys()].join(', ')}`;
  throw new CommandFailed(`Unknown context ${JSON.stringify(name)}: ${names} (${usherCommand('login')} stores one).`, {
    code: 'NOT_FOUND',
  });
}

/** The owner and the expiry of a credential, without the credential. */
export function describeCredential({ token, key }: Omit<StoredContext, 'url'>): string {
  if (key !== undefined) return 'key';
  if (token === undefined) return 'none';
  const { email, exp } = claimsOf(token);
  const until = exp === null ? '' : ` until ${new Date(exp * 1000).toISOString().slice(0, 19)}Z`;
  return `token${email === null ? '' : ` of ${email}`}${until}`;
}

function claimsOf(token: string): { email: string | null; exp: number | null } {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
    const { email, exp } = membersOf(claims);
    const isTime = typeof exp === 'number' && exp > 0 && exp < 4_000_000_000;
    return { email: typeof email === 'string' ? email : null, exp: isTime ? exp : null };
  } catch {
    // An opaque token, in the provider's own format.
    return { email: null, exp: null };
  }
}

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') return null;
    throw new CommandFailed(`${path} cannot be read (${code}).`);
  }
}

/** Null for text that this program did not write. */
function parse(text: string): Contexts | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const { current, contexts } = membersOf(value);
  if (!Array.isArray(contexts) || !(current === null || typeof current === 'string')) return null;
  const byName = new Map<string, StoredContext>();
  for (const entry of contexts) {
    const { name, url, token, key } = membersOf(entry);
    if (typeof name !== 'string' || !isSlug(name) || typeof url !== 'string') return null;
    if (!isOptionalText(token) || !isOptionalText(key)) return null;
    byName.set(name, { url, token, key });
  }
  // An editor may have removed the current one.
  return { current: current !== null && byName.has(current) ? current : null, byName };
}

function isOptionalText(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}
