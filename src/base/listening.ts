/** Addresses at which this process listens: of the network, and UNIX sockets (docs/guides/listeners.md). */

import { access, constants, lstat, rm } from 'node:fs/promises';
import { connect, type Server } from 'node:net';
import { dirname } from 'node:path';
import { UsherError } from './errors.ts';
import { codeOf } from './members.ts';

/** `mode` are the permissions of the socket file: who may connect. With `ipv6Only`, `::` leaves IPv4 to others. */
export type ListenAddress =
  | { readonly host: string; readonly port: number; readonly ipv6Only?: boolean }
  | { readonly path: string; readonly mode: number };

/** `10.0.0.5:8443`, `[::1]:8443`, `unix:/run/usher/http.sock`: as the configuration writes it. */
export function addressText(at: ListenAddress): string {
  if ('path' in at) return `unix:${at.path}`;
  return `${at.host.includes(':') ? `[${at.host}]` : at.host}:${at.port}`;
}

/** The same where a client can reach it: a wildcard address can be listened on, not called. */
export function reachableText(at: ListenAddress): string {
  if ('path' in at || (at.host !== '0.0.0.0' && at.host !== '::')) return addressText(at);
  return addressText({ ...at, host: 'localhost' });
}

/** Listens. Resolves to the address with the port that it got. Rejects with the error of the system, or UsherError for a socket file. */
export async function listenAt(server: Server, at: ListenAddress): Promise<ListenAddress> {
  if ('path' in at) await claim(at.path);
  await listening(server, at);
  const bound = server.address();
  return 'port' in at && typeof bound === 'object' && bound !== null ? { ...at, port: bound.port } : at;
}

function listening(server: Server, at: ListenAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    const listens = (): void => {
      server.off('error', reject);
      resolve();
    };
    if ('port' in at) {
      server.listen(at, listens);
      return;
    }
    // The file has its permissions from its first moment on: a chmod after it would leave a moment to others. `listen` binds a
    // path before it returns, so nothing else of this thread makes a file meanwhile.
    const before = process.umask(0o777 & ~at.mode);
    try {
      server.listen(at.path, listens);
    } finally {
      process.umask(before);
    }
  });
}

/**
 * Removes the socket that a process which was killed left behind. Nothing but a socket is removed, and none that somebody answers.
 * Two starts at one moment meet at `http.port` before: the second never comes here.
 */
async function claim(path: string): Promise<void> {
  const state = await socketState(path);
  if (state === 'ENOTSOCK')
    throw unavailableSocket(`${path} is there and is not a socket: remove it, or name another path.`);
  if (state === 'EADDRINUSE') {
    throw unavailableSocket(`${path} is the socket of another process: stop it, or name another path.`);
  }
  if (state === null) await rm(path, { force: true });
  else throw Object.assign(new Error(`${path}: ${state}`), { code: state });
}

/** Null where a socket can be made at the path, also in place of one that nobody answers; else a code as the system has it. */
export async function socketState(path: string): Promise<string | null> {
  try {
    const found = await lstat(path);
    if (!found.isSocket()) return 'ENOTSOCK';
    return (await answerOf(path)) === 'ECONNREFUSED' ? null : 'EADDRINUSE';
  } catch (error) {
    const code = codeOf(error) ?? 'unknown';
    if (code !== 'ENOENT') return code;
    // Nothing is at the path; whether a file can be made there, its folder says.
    return await access(dirname(path), constants.W_OK | constants.X_OK).then(
      () => null,
      (refused: NodeJS.ErrnoException) => refused.code ?? 'unknown',
    );
  }
}

const unavailableSocket = (problem: string): UsherError => new UsherError('UNAVAILABLE', problem);

/** Null if somebody accepts the connection. */
function answerOf(path: string): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(null);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.name));
  });
}

/** Why `at` cannot be listened on, for an operator; `key` is its place in the configuration. */
export function cannotListen(error: unknown, at: ListenAddress, key: string): UsherError {
  if (error instanceof UsherError) return new UsherError('UNAVAILABLE', `${key}: ${error.message}`, { cause: error });
  const { code = 'unknown', message } = error as NodeJS.ErrnoException;
  const problem =
    PROBLEMS[code] ?? ('path' in at ? `cannot be made (${code})` : `cannot be listened on (${code}: ${message})`);
  return new UsherError('UNAVAILABLE', `${key}: ${addressText(at)} ${problem}.`, { cause: error });
}

const PROBLEMS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is taken by another process; stop it, or choose another address',
  EADDRNOTAVAIL: 'is not an address of this machine',
  ENOTFOUND: 'is not an address of this machine',
  EACCES: 'needs more rights than this user has',
  ENOENT: 'lies in a folder that does not exist; make it, and let this user write to it',
};
