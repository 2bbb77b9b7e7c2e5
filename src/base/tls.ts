/** Certificates of listeners. */

import { X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { UsherError } from './errors.ts';

/** PEM text of the files of a listener. With `clientCa`, clients must present a certificate of that authority. */
export interface Certificates {
  readonly cert: string;
  readonly key: string;
  readonly clientCa?: string | undefined;
}

/** Throws where the texts are not certificates, or the key does not belong to the certificate. `section`: `grpc.tls`. */
export function checkCertificates({ cert, key, clientCa }: Certificates, section = 'grpc.tls'): void {
  try {
    createSecureContext({ cert, key });
    // OpenSSL ignores an authority that it cannot read, and would then refuse every client.
    if (clientCa !== undefined) for (const one of certificatesOf(clientCa)) new X509Certificate(one);
  } catch (error) {
    throw new UsherError(
      'UNAVAILABLE',
      `${section}.cert, ${section}.key and ${section}.clientCa must be PEM, and the key must belong to the certificate.`,
      { cause: error },
    );
  }
}

/** What a context for new connections is made of. */
export function secureContextOf({ cert, key, clientCa }: Certificates): SecureContextOptions {
  return { cert, key, minVersion: 'TLSv1.2', ...(clientCa === undefined ? {} : { ca: clientCa }) };
}

/** The same, and whether clients are asked for a certificate. */
export function tlsOptionsOf(certificates: Certificates) {
  const asks = certificates.clientCa !== undefined;
  return { ...secureContextOf(certificates), ...(asks ? { requestCert: true, rejectUnauthorized: true } : {}) };
}

/** Seconds since the epoch, when the first certificate of a bundle expires. Throws if it holds no certificate. */
export function expiryOf(pem: string): number {
  const ends = certificatesOf(pem).map((one) => Date.parse(new X509Certificate(one).validTo));
  return Math.min(...ends) / 1000;
}

/** The certificates of a bundle; throws for an empty one. */
function certificatesOf(pem: string): string[] {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g);
  if (found === null) throw new Error('no certificate');
  return found;
}
