/**
 * Secrets at rest under BRAND_SMTP_KEY: AES-256-GCM with a random nonce; the owner of a secret is bound to it as additional
 * data, so that a copy in another row does not open. (docs/reference/brands.md#secrets-at-rest.)
 */

import { createCipheriv, createDecipheriv, hash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';

/** A sealed secret, and the name of the key that sealed it. */
export interface Sealed {
  key: string;
  text: string;
}

interface Key {
  readonly id: string;
  readonly secret: Buffer;
}

const NONCE = 12;
const TAG = 16;

export class Sealing {
  readonly #keys: readonly Key[];
  readonly #clock: Pick<Clock, 'bytes'>;

  /** Keys are base64 of 32 bytes: the first seals, all open. */
  constructor(keys: readonly string[], clock: Pick<Clock, 'bytes'>) {
    this.#keys = keys.map((key) => {
      const secret = Buffer.from(key, 'base64');
      if (secret.length !== 32) throw new Error('a sealing key has 32 bytes');
      // Names the key without revealing anything about it.
      return {
        id: hash('sha256', Buffer.concat([Buffer.from('usher sealing key\0'), secret]), 'hex').slice(0, 16),
        secret,
      };
    });
    this.#clock = clock;
  }

  /** The name of the key that seals; null where no key is configured. */
  get current(): string | null {
    return this.#keys[0]?.id ?? null;
  }

  /** Whether secrets sealed with that key can be opened. */
  knows(key: string): boolean {
    return this.#keys.some(({ id }) => id === key);
  }

  /** Throws when no key is configured: check `current` first. */
  seal(context: string, secret: string): Sealed {
    const key = this.#keys[0];
    if (key === undefined) throw new Error('no sealing key is configured');
    const nonce = this.#clock.bytes(NONCE);
    const cipher = createCipheriv('aes-256-gcm', key.secret, nonce);
    cipher.setAAD(Buffer.from(context));
    const body = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
    return { key: key.id, text: Buffer.concat([nonce, body, cipher.getAuthTag()]).toString('base64url') };
  }

  /** Null when it cannot be opened: the key is not configured, or the text was not sealed in this context. */
  open(context: string, sealed: Sealed): string | null {
    const key = this.#keys.find(({ id }) => id === sealed.key);
    const bytes = Buffer.from(sealed.text, 'base64url');
    if (key === undefined || bytes.length < NONCE + TAG) return null;
    const decipher = createDecipheriv('aes-256-gcm', key.secret, bytes.subarray(0, NONCE), { authTagLength: TAG });
    decipher.setAAD(Buffer.from(context));
    decipher.setAuthTag(bytes.subarray(-TAG));
    try {
      return Buffer.concat([decipher.update(bytes.subarray(NONCE, -TAG)), decipher.final()]).toString('utf8');
    } catch {
      // GCM says only that authentication failed.
      return null;
    }
  }

  /** `seal` as one text, `KEY.SECRET`. */
  sealText(context: string, secret: string): string {
    const { key, text } = this.seal(context, secret);
    return `${key}.${text}`;
  }

  /** The same secret under the current key; null where it is sealed with that already, or cannot be opened. */
  renewText(context: string, sealed: string): string | null {
    if (this.current === null || sealed.startsWith(`${this.current}.`)) return null;
    const secret = this.openText(context, sealed);
    return secret === null ? null : this.sealText(context, secret);
  }

  /** The inverse of `sealText`; null when it cannot be opened. */
  openText(context: string, sealed: string): string | null {
    const [key = '', text = '', more] = sealed.split('.');
    return more === undefined ? this.open(context, { key, text }) : null;
  }
}

/** The context that a brand's SMTP password is bound to. */
export function passwordContext(brandId: number): string {
  return `brand:${brandId}:smtp-password`;
}

/** The context that the client secret of a brand's OAuth client is bound to. */
export function clientSecretContext(brandId: number): string {
  return `brand:${brandId}:smtp-client-secret`;
}

/** The context that the refresh token which an administrator set is bound to. */
export function refreshTokenContext(brandId: number): string {
  return `brand:${brandId}:smtp-refresh-token`;
}

/** What a refresh token was given for. */
export interface RefreshedAt {
  readonly tokenUrl: string | null;
  readonly clientId: string | null;
  readonly refreshToken: string;
}

/** The context of a refresh token that a token endpoint gave in place of `at.refreshToken`: once another is configured, or another endpoint, it no longer opens. */
export function renewedTokenContext(brandId: number, at: RefreshedAt): string {
  const configured = JSON.stringify([at.tokenUrl, at.clientId, at.refreshToken]);
  return `brand:${brandId}:smtp-renewed-token:${hash('sha256', configured, 'hex')}`;
}

/** The context that the provider's signing key is bound to (setting `idp.notification-provider`, member `signingKey`). */
export const SIGNING_KEY_CONTEXT = 'idp:notification-provider:signing-key';

/** The same for the key of the provider's events (setting `idp.event-target`, member `signingKey`). */
export const EVENT_KEY_CONTEXT = 'idp:event-target:signing-key';
