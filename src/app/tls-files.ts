/** The files of certificates that the configuration names, and the life of connections at the gRPC port. */

import { readFile } from 'node:fs/promises';
import { type Certificates, checkCertificates, expiryOf } from '../base/tls.ts';
import { type Config, ConfigError, type Fault } from '../config/config.ts';

/** What the files hold, by what they are for; without those that this process does not need. */
export interface TlsFiles {
  readonly grpc?: Certificates | undefined;
  readonly gateway?: Certificates | undefined;
  /** The authority of an edge's upstream. */
  readonly upstream?: string | undefined;
}

/** What a reload is given. */
export interface ToReload {
  readonly config: Config;
  readonly files: TlsFiles;
}

/**
 * Reads the files of grpc.tls.*, http.tls.* and upstream.ca, where this process needs them. ConfigError names every one that cannot
 * be read.
 */
export async function readTlsFiles(config: Config): Promise<TlsFiles> {
  const { grpc, http, roles, upstream } = config;
  const isEdge = upstream.address !== null;
  const faults: Fault[] = [];
  const read = (key: string, variable: string, path: string): Promise<string> =>
    readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      const problem = `${path} cannot be read (${error.code ?? error.name}); for example /etc/usher/tls.pem`;
      faults.push({ key, variable, problem });
      return '';
    });
  const listener = async (section: 'grpc' | 'http', needed: boolean): Promise<Certificates | undefined> => {
    const paths = section === 'grpc' ? grpc.tls : http.tls;
    if (paths === null || !needed) return undefined;
    const { cert, key, clientCa } = paths;
    const prefix = `${section.toUpperCase()}_TLS`;
    return {
      cert: await read(`${section}.tls.cert`, `${prefix}_CERT`, cert),
      key: await read(`${section}.tls.key`, `${prefix}_KEY`, key),
      clientCa: clientCa === null ? undefined : await read(`${section}.tls.clientCa`, `${prefix}_CLIENT_CA`, clientCa),
    };
  };
  const files: TlsFiles = {
    grpc: await listener('grpc', isEdge || roles.includes('rpc')),
    gateway: await listener('http', !isEdge && roles.includes('gateway')),
    upstream: isEdge && upstream.ca !== null ? await read('upstream.ca', 'UPSTREAM_CA', upstream.ca) : undefined,
  };
  if (faults.length > 0) throw new ConfigError(faults);
  if (files.grpc !== undefined) checkCertificates(files.grpc, 'grpc.tls');
  if (files.gateway !== undefined) checkCertificates(files.gateway, 'http.tls');
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
