/** The setting in which setup stores the provider's id and its sealed signing key: `{providerId, signingKey}`. */
export const PROVIDER_SETTING = 'idp.notification-provider';
