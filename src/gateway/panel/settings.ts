/** `/panel/config.json`: what the panel has to know before anybody signs in (docs/reference/service.md#panel). No secrets. */

import type { Config } from '../../config/config.ts';
import type { Services } from '../services.ts';

/** The parts of the configuration that the panel depends on. */
export type PanelConfig = Pick<Config, 'production' | 'panel'> & { readonly auth: Pick<Config['auth'], 'issuer'> };

export interface PanelSettings {
  /** `development`: by `/dev/sign-in`; `oidc`: at the issuer; `unconfigured`: `panel.clientId` is missing. */
  readonly signIn: 'development' | 'oidc' | 'unconfigured';
  readonly issuer: string | null;
  readonly clientId: string | null;
  readonly scope: string;
  /** Further parameters of the authorization request. */
  readonly authorizeParams: Readonly<Record<string, string>>;
  /** Without a trailing slash; the redirect URI is `{publicUrl}/panel/`. */
  readonly publicUrl: string;
  readonly version: string;
  /** The codes of the language registry. */
  readonly languages: readonly string[];
  /** Whether there is a development mailbox, `/dev/mail`. */
  readonly mailbox: boolean;
  readonly production: boolean;
}

/** The registry is read at most this often, in milliseconds: nobody has to sign in for it. */
const LANGUAGES_FRESH_MS = 5_000;

/** Reads the settings; rejects when the database does not answer. */
export function panelSettings(options: {
  config: PanelConfig;
  services: Pick<Services, 'developmentSignIn' | 'languages' | 'mailbox' | 'publicUrl'>;
  version: string;
  /** Milliseconds that never go back. */
  now: () => number;
}): () => Promise<PanelSettings> {
  const { config, services, version, now } = options;
  const { clientId, scope, authorizeParams } = config.panel;
  const { issuer } = config.auth;
  let languages: readonly string[] = [];
  let readAt = Number.NEGATIVE_INFINITY;
  return async () => {
    if (now() - readAt > LANGUAGES_FRESH_MS) {
      languages = (await services.languages.list()).map(({ code }) => code);
      readAt = now();
    }
    return {
      signIn: signInOf(services.developmentSignIn !== null, issuer, clientId),
      issuer,
      clientId,
      scope,
      authorizeParams,
      publicUrl: services.publicUrl(),
      version,
      languages,
      mailbox: services.mailbox !== null,
      production: config.production,
    };
  };
}

function signInOf(local: boolean, issuer: string | null, clientId: string | null): PanelSettings['signIn'] {
  if (local) return 'development';
  return issuer !== null && clientId !== null ? 'oidc' : 'unconfigured';
}
