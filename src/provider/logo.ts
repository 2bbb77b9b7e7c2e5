/** Fetches a logo from a URL that an administrator gave: the server there may be an attacker's. */

import { type UsherError, validationFailed } from '../base/errors.ts';
import { INTERNET_POLICY, type Outbound, OutboundError, type Policy } from '../outbound/outbound.ts';

export interface Logo {
  readonly name: string;
  readonly media: string;
  readonly bytes: Buffer;
}

/** The provider's limit. */
const MAX_BYTES = 512 * 1024;
const TIMEOUT_MS = 4000;

/** In development a logo may come from this machine, like entity lists. */
const DEVELOPMENT_POLICY: Policy = { reach: 'loopback', http: true, anyPort: true };

/** Recognized by their first bytes; the server's media type counts for nothing. No SVG: it can contain scripts, and the login page shows it. */
const KINDS: readonly { media: string; extension: string; fits: (bytes: Buffer) => boolean }[] = [
  { media: 'image/png', extension: 'png', fits: (b) => b.subarray(0, 8).toString('latin1') === '\x89PNG\r\n\x1a\n' },
  { media: 'image/jpeg', extension: 'jpg', fits: (b) => b.subarray(0, 3).toString('latin1') === '\xff\xd8\xff' },
  { media: 'image/gif', extension: 'gif', fits: (b) => /^GIF8[79]a/.test(b.subarray(0, 6).toString('latin1')) },
  { media: 'image/webp', extension: 'webp', fits: (b) => /^RIFF....WEBP/s.test(b.subarray(0, 12).toString('latin1')) },
];

/** Throws VALIDATION_FAILED for `logoUrl` when the file cannot be fetched or is not such an image. */
export async function fetchLogo(outbound: Outbound, url: string, production: boolean): Promise<Logo> {
  const bytes = await download(outbound, url, production);
  const kind = KINDS.find(({ fits }) => fits(bytes));
  if (kind === undefined) throw refused('must be a PNG, JPEG, GIF or WebP image');
  return { name: `logo.${kind.extension}`, media: kind.media, bytes };
}

async function download(outbound: Outbound, url: string, production: boolean): Promise<Buffer> {
  try {
    const response = await outbound.send({
      url,
      headers: { accept: 'image/*' },
      policy: production ? INTERNET_POLICY : DEVELOPMENT_POLICY,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
    });
    if (response.status !== 200) throw refused(`cannot be fetched: it answered ${response.status}`);
    return response.body;
  } catch (error) {
    if (error instanceof OutboundError) throw refused(`cannot be fetched: ${error.message}`);
    throw error;
  }
}

function refused(message: string): UsherError {
  return validationFailed([{ path: 'logoUrl', message }]);
}
