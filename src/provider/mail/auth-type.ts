/** The one system type of the provider's e-mails (specification, "Default seed"). */
export const AUTH_TYPE = { app: 'auth', code: 'auth_idp', name: 'Sign-in e-mails', fromName: 'Auth' } as const;
