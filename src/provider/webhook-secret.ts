/** The webhook's authentication: the caller must know one of its secrets (docs/reference/identity-provider.md#webhook). */

import { isSameSecret } from '../base/constant-time.ts';
import { UsherError } from '../base/errors.ts';

export class WebhookSecrets {
  readonly #secrets: readonly string[];

  /** Several, so that a secret can be replaced without a gap. */
  constructor(secrets: readonly string[]) {
    this.#secrets = secrets;
  }

  /**
   * Returns for one of the secrets. Throws IDP_NOT_CONFIGURED (503) where none is configured, else UNAUTHENTICATED. Its time
   * does not depend on the secrets.
   */
  authorize(value: string | undefined): void {
    if (this.#secrets.length === 0) {
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
    let found = false;
    for (const known of this.#secrets) if (isSameSecret(known, value)) found = true;
    if (!found) throw new UsherError('UNAUTHENTICATED', 'Unknown webhook secret.');
  }
}
