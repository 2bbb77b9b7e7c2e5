/** The one system type of the provider's e-mails (specification, "Default seed"); the catalog's seed makes it. */
export const AUTH_TYPE = { app: 'auth', code: 'auth_idp' } as const;

/** The setting in which setup keeps the provider's id and its sealed signing key: `{providerId, signingKey}`. */
export const PROVIDER_SETTING = 'idp.notification-provider';
