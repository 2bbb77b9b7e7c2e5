/** The certificates of the gRPC port. */

import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { UsherError } from '../base/errors.ts';

/** PEM text of the files in grpc.tls.*. With `clientCa`, clients must present a certificate of that authority. */
export interface GrpcTls {
  cert: string;
  key: string;
  clientCa?: string | undefined;
}

/** Throws where the texts are not certificates, or the key does not belong to the certificate. */
export function checkTls({ cert, key, clientCa }: GrpcTls): void {
  try {
    createSecureContext({ cert, key });
    // OpenSSL ignores an authority that it cannot read, and would then refuse every client.
    if (clientCa !== undefined) for (const one of certificatesOf(clientCa)) new X509Certificate(one);
  } catch (error) {
    throw new UsherError(
      'UNAVAILABLE',
      'gRPC: grpc.tls.cert, grpc.tls.key and grpc.tls.clientCa must be PEM, and the key must belong to the certificate.',
      { cause: error },
    );
  }
}

/** The certificates of a bundle; throws for an empty one. */
function certificatesOf(pem: string): string[] {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g);
  if (found === null) throw new Error('no certificate');
  return found;
}
