/** A guard for calls that the identity provider signs (docs/reference/identity-provider.md#signatures). */

import { signatureIn } from '../../provider/signature.ts';
import type { Services } from '../services.ts';
import type { Guard } from './guards.ts';

/** Who examines signed calls of one kind. */
export interface SignedCalls {
  /** The headers that may carry the signature. */
  readonly signatureHeaders: readonly string[];
  /** Throws NOT_FOUND where such calls are not taken at all. */
  refuseUnconfigured?(): Promise<void>;
  /** Throws for a signature that no body can mend. */
  examine(header: string): Promise<void>;
}

/**
 * A signature over the body. Its form and time, and the presence of a key, are checked before a byte of the body is read; the
 * signature itself, once the body is there. The caller is the value of the header.
 */
export function signed(
  name: string,
  callsOf: (services: Services) => SignedCalls,
  errors: Guard<string>['errors'] = [],
): Guard<string> {
  return {
    kind: 'signature',
    name,
    description:
      'Needs a header of `idp.signatureHeader`, such as `IDP-Signature: t=<unix time>,v1=<hex>`: HMAC-SHA256 over the exact bytes of the body. Not for browsers.',
    scheme: null,
    errors: ['SIGNATURE_INVALID', 'SIGNATURE_EXPIRED', 'BROWSER_NOT_ALLOWED', ...errors],
    browsers: false,
    identify: async (services, request) => {
      const calls = callsOf(services);
      await calls.refuseUnconfigured?.();
      const header = signatureIn(calls.signatureHeaders, (header) => request.header(header));
      await calls.examine(header);
      return header;
    },
    actor: () => null,
  };
}
