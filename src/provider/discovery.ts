/** The identity provider's public side: its health and its OpenID metadata. (docs/reference/identity-provider.md#reachability.) */

import { UsherError } from '../base/errors.ts';
import type { Config } from '../config/config.ts';
import { OPERATOR_POLICY, type Outbound, type OutboundResponse } from '../outbound/outbound.ts';
import { fromOutbound, unreachable } from './client.ts';

export interface Health {
  /** Its URL for users; null when none is configured. */
  idpUrl: string | null;
  status: 'ok' | 'unreachable' | 'not_configured';
}

export type Metadata = Readonly<Record<string, unknown>>;

const HEALTH_TIMEOUT_MS = 3000;
const TIMEOUT_MS = 5000;
const MAX_BYTES = 256 * 1024;
const DISCOVERY = '/.well-known/openid-configuration';

export class Discovery {
  readonly #outbound: Outbound;
  readonly #apiUrl: string | null;
  readonly #publicUrl: string | null;
  /** Anonymous callers may ask, and each question costs a request to the provider: concurrent ones share it. */
  #health: Promise<Health> | null = null;
  #metadata: Promise<Metadata> | null = null;

  constructor({ idp, outbound }: { idp: Pick<Config['idp'], 'apiUrl' | 'publicUrl'>; outbound: Outbound }) {
    this.#outbound = outbound;
    this.#apiUrl = idp.apiUrl ?? idp.publicUrl;
    this.#publicUrl = idp.publicUrl ?? idp.apiUrl;
  }

  /** Never rejects: trouble is a status. */
  health(): Promise<Health> {
    this.#health ??= this.#askHealth().finally(() => {
      this.#health = null;
    });
    return this.#health;
  }

  /** The document, unchanged. Throws IDP_NOT_CONFIGURED, IDP_UNREACHABLE. */
  metadata(): Promise<Metadata> {
    this.#metadata ??= this.#askMetadata().finally(() => {
      this.#metadata = null;
    });
    return this.#metadata;
  }

  async #askHealth(): Promise<Health> {
    if (this.#apiUrl === null) return { idpUrl: null, status: 'not_configured' };
    try {
      const probe = await this.#get(`${this.#apiUrl}/debug/healthz`, HEALTH_TIMEOUT_MS);
      // A proxy may hide the probe; then the metadata decides.
      const hidden = probe.status === 404 || probe.status === 403;
      const { status } = hidden ? await this.#get(this.#apiUrl + DISCOVERY, HEALTH_TIMEOUT_MS) : probe;
      return { idpUrl: this.#publicUrl, status: status < 300 ? 'ok' : 'unreachable' };
    } catch {
      return { idpUrl: this.#publicUrl, status: 'unreachable' };
    }
  }

  async #askMetadata(): Promise<Metadata> {
    if (this.#apiUrl === null) {
      throw new UsherError('IDP_NOT_CONFIGURED', 'No identity provider is configured (idp.apiUrl, IDP_API_URL).', {
        retryAfter: 60,
      });
    }
    let document: unknown;
    try {
      const response = await this.#get(this.#apiUrl + DISCOVERY, TIMEOUT_MS);
      if (response.status !== 200) throw unreachable(`it answered ${response.status}`);
      document = response.json();
    } catch (error) {
      throw fromOutbound(error);
    }
    if (typeof document !== 'object' || document === null || Array.isArray(document)) {
      throw unreachable('its metadata is not a JSON object');
    }
    return document as Metadata;
  }

  #get(url: string, timeoutMs: number): Promise<OutboundResponse> {
    const headers = { accept: 'application/json' };
    return this.#outbound.send({ url, headers, policy: OPERATOR_POLICY, timeoutMs, maxBytes: MAX_BYTES });
  }
}
