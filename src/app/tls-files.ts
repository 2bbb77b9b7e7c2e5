/** The files of certificates that the configuration names, and the life of connections at the gRPC port. */

import { readFile } from 'node:fs/promises';
import { type Certificates, checkCertificates, expiryOf } from '../base/tls.ts';
import { type Config, ConfigError, type Fault } from '../config/config.ts';
import { KEYS } from '../config/keys.ts';
import { isOpenHere, type TlsPaths } from '../config/listeners.ts';

/** What the files hold, by what they are for; without those that this process does not need. */
export interface TlsFiles {
  readonly grpc?: Certificates | undefined;
  readonly gateway?: Certificates | undefined;
  /** Of the entries of `listeners`, in their order; absent where none speaks TLS here. */
  readonly listeners?: readonly (Certificates | undefined)[] | undefined;
  /** The authority of an edge's upstream. */
  readonly upstream?: string | undefined;
}

/** What a reload is given. */
export interface ToReload {
  readonly config: Config;
  readonly files: TlsFiles;
}

/**
 * Reads the files of grpc.tls.*, http.tls.*, `listeners` and upstream.ca, where this process needs them. ConfigError names every
 * one that cannot be read.
 */
export async function readTlsFiles(config: Config): Promise<TlsFiles> {
  const { grpc, http, listeners, upstream } = config;
  const isEdge = upstream.address !== null;
  const faults: Fault[] = [];
  const read = (key: string, variable: string, path: string): Promise<string> =>
    readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      const problem = `${path} cannot be read (${error.code ?? error.name}); for example /etc/usher/tls.pem`;
      faults.push({ key, variable, problem });
      return '';
    });
  const pair = async (paths: TlsPaths | null, name: (file: keyof TlsPaths) => [key: string, variable: string]) => {
    if (paths === null) return undefined;
    const { cert, key, clientCa } = paths;
    return {
      cert: await read(...name('cert'), cert),
      key: await read(...name('key'), key),
      clientCa: clientCa === null ? undefined : await read(...name('clientCa'), clientCa),
    };
  };
  const first = (section: 'grpc' | 'http') =>
    pair(section === 'grpc' ? grpc.tls : http.tls, (file) => [
      `${section}.tls.${file}`,
      KEYS[`${section}.tls.${file}`].variable,
    ]);
  const further: (Certificates | undefined)[] = [];
  for (const [index, { for: kind, tls }] of listeners.entries()) {
    const name = (file: string): [string, string] => [`listeners[${index}].tls.${file}`, KEYS.listeners.variable];
    further.push(await pair(isOpenHere(config, kind) ? tls : null, name));
  }
  const files: TlsFiles = {
    grpc: isOpenHere(config, 'grpc') ? await first('grpc') : undefined,
    gateway: isOpenHere(config, 'http') ? await first('http') : undefined,
    listeners: further.some((one) => one !== undefined) ? further : undefined,
    upstream: isEdge && upstream.ca !== null ? await read('upstream.ca', 'UPSTREAM_CA', upstream.ca) : undefined,
  };
  if (faults.length > 0) throw new ConfigError(faults);
  if (files.grpc !== undefined) checkCertificates(files.grpc, 'grpc.tls');
  if (files.gateway !== undefined) checkCertificates(files.gateway, 'http.tls');
  for (const [index, one] of further.entries()) {
    if (one !== undefined) checkCertificates(one, `listeners[${index}].tls`);
  }
  if (files.upstream !== undefined) checkAuthority('upstream.ca', 'UPSTREAM_CA', files.upstream);
  return files;
}

/** A client with an authority that it cannot read would trust nobody, or say so only when it connects. */
function checkAuthority(key: string, variable: string, pem: string): void {
  try {
    expiryOf(pem);
  } catch {
    throw new ConfigError([{ key, variable, problem: 'must be a PEM file of certificates' }]);
  }
}

export function connectionTimes({ connectionAgeMs, connectionGraceMs, connectionIdleMs }: Config['grpc']) {
  return { connectionAgeMs, connectionGraceMs, connectionIdleMs };
}
