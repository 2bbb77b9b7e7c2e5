/** The targets to which the double hands its mails. */

import {
  type ApiAnswer,
  type Body,
  details,
  type Handler,
  newKey,
  present,
  refuseDenied,
  required,
  settled,
} from './api.ts';
import { ApiError, type EmailProviderRow, type IdpState, newId } from './state.ts';

function shownProvider({ revealsKeys }: IdpState, { id, active, description, endpoint, signingKey }: EmailProviderRow) {
  const state = active ? 'EMAIL_PROVIDER_ACTIVE' : 'EMAIL_PROVIDER_INACTIVE';
  return { id, details, state, description, http: { endpoint, ...(revealsKeys ? { signingKey } : {}) } };
}

function readEmailProvider(state: IdpState, _body: Body, [id]: string[]): ApiAnswer {
  const row = present(
    state.emailProviders.find((one) => one.id === id),
    'SMTP configuration not found (QUERY-fwofw)',
  );
  return { body: { config: shownProvider(state, row) } };
}

function createEmailProvider(state: IdpState, { endpoint, description }: Body): ApiAnswer {
  const row = {
    id: newId(),
    active: false,
    description: typeof description === 'string' ? description : '',
    endpoint: required(endpoint, 'endpoint'),
    signingKey: newKey(),
  };
  refuseDenied(state, row.endpoint, 'Errors.NotificationProvider.Blocked.Endpoint (COMMAND-Uf0294nKls)');
  state.emailProviders.push(row);
  state.madeAt.set(row, Date.now());
  return { body: { details, id: row.id, signingKey: state.signsMails ? row.signingKey : '' } };
}

function updateEmailProvider(state: IdpState, body: Body, [id]: string[]): ApiAnswer {
  const row = present(
    state.emailProviders.find((one) => one.id === id),
    'SMTP configuration not found (COMMAND-H5VqE)',
  );
  const swap = body.expirationSigningKey === '0s';
  const endpoint = required(body.endpoint, 'endpoint');
  const description = typeof body.description === 'string' ? body.description : '';
  Object.assign(row, { endpoint, description });
  // The old key is worth nothing from now on.
  if (swap) row.signingKey = newKey();
  return { body: { details, signingKey: swap && state.signsMails ? row.signingKey : '' } };
}

function activateEmailProvider(state: IdpState, _body: Body, [id]: string[]): ApiAnswer {
  const row = present(
    state.emailProviders.find((one) => one.id === id),
    'SMTP configuration not found (COMMAND-kg8yr)',
  );
  if (row.active) throw new ApiError(9, 'SMTP provider is already active (COMMAND-vUHBS)');
  for (const other of state.emailProviders) other.active = other === row;
  return { body: { details } };
}

export const EMAIL_PROVIDER_HANDLERS: readonly (readonly [string, RegExp, Handler])[] = [
  [
    'POST',
    /^\/admin\/v1\/email\/_search$/,
    (state) => {
      const result = settled(state, state.emailProviders).map((row) => shownProvider(state, row));
      const counted = { totalResult: String(result.length), viewTimestamp: details.changeDate };
      return { body: { details: counted, result } };
    },
  ],
  ['POST', /^\/admin\/v1\/email\/http$/, createEmailProvider],
  ['GET', /^\/admin\/v1\/email\/([^/]+)$/, readEmailProvider],
  ['PUT', /^\/admin\/v1\/email\/http\/([^/]+)$/, updateEmailProvider],
  ['POST', /^\/admin\/v1\/email\/([^/]+)\/_activate$/, activateEmailProvider],
];
