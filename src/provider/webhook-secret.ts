/** Who may tell of users' lives: whoever knows one of the webhook's secrets (contract 4, 8). */

import { hash, timingSafeEqual } from 'node:crypto';
import { UsherError } from '../errors.ts';

export class WebhookSecrets {
  readonly #digests: readonly Buffer[];

  /** Several, so that they can be changed without a gap. */
  constructor(secrets: readonly string[]) {
    this.#digests = secrets.map(digest);
  }

  /**
   * Passes for one of the secrets. Throws IDP_NOT_CONFIGURED (503) where there is none to compare with, else UNAUTHENTICATED. Its time
   * depends on no secret.
   */
  authorize(value: string | undefined): void {
    if (this.#digests.length === 0) {
      throw new UsherError(
        'IDP_NOT_CONFIGURED',
        'No webhook secret is configured (idp.webhookSecret, IDP_WEBHOOK_SECRET).',
        {
          retryAfter: 60,
        },
      );
    }
    if (value === undefined) {
      throw new UsherError('UNAUTHENTICATED', 'This call needs the secret in the header X-Webhook-Secret.');
    }
    const given = digest(value);
    let found = false;
    for (const known of this.#digests) if (timingSafeEqual(known, given)) found = true;
    if (!found) throw new UsherError('UNAUTHENTICATED', 'The webhook secret is none that is known here.');
  }
}

/** Of one length whatever was sent. */
function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
