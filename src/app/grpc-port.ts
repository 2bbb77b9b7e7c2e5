/** What the configuration says of the gRPC port: its certificate, and the life of its connections. */

import { readFile } from 'node:fs/promises';
import { type Config, ConfigError, type Fault } from '../config/config.ts';
import { checkTls, type GrpcTls } from '../grpc/tls.ts';

/** Reads the files of grpc.tls.*, where this process listens. ConfigError names every one that cannot be read. */
export async function readTls({ grpc, roles, upstream }: Config): Promise<GrpcTls | undefined> {
  if (grpc.tls === null || (upstream.address === null && !roles.includes('rpc'))) return undefined;
  const faults: Fault[] = [];
  const read = (key: string, variable: string, path: string): Promise<string> =>
    readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      const problem = `${path} cannot be read (${error.code ?? error.name}); for example /etc/usher/tls.pem`;
      faults.push({ key, variable, problem });
      return '';
    });
  const { cert, key, clientCa } = grpc.tls;
  const tls = {
    cert: await read('grpc.tls.cert', 'GRPC_TLS_CERT', cert),
    key: await read('grpc.tls.key', 'GRPC_TLS_KEY', key),
    clientCa: clientCa === null ? undefined : await read('grpc.tls.clientCa', 'GRPC_TLS_CLIENT_CA', clientCa),
  };
  if (faults.length > 0) throw new ConfigError(faults);
  checkTls(tls);
  return tls;
}

export function connectionTimes({ connectionAgeMs, connectionGraceMs, connectionIdleMs }: Config['grpc']) {
  return { connectionAgeMs, connectionGraceMs, connectionIdleMs };
}
