/** Signing in to the panel in development: people worth being, and their tokens. Not mounted in production. */

import { z } from 'zod';
import { UsherError } from '../../base/errors.ts';
import type { DevelopmentSignIn } from '../../identity/development-sign-in.ts';
import { isLocalHost } from '../middleware/local-host.ts';
import { createRateLimit } from '../middleware/rate-limit.ts';
import { email, timestamp } from '../route/fields.ts';
import { type Guard, open } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { defineRoute, type Route } from '../route/route.ts';
import type { Services } from '../services.ts';

const PATH = '/dev/sign-in';
/** Wrong codes in a minute. All callers are on this machine, so they are counted together. */
const GUESSES = 10;
const GUESSER = 'development';

/** Pages of this service, opened under a loopback name. The code is checked by the handler: guards see no query. */
const ownPage: Guard<null> = {
  ...open,
  name: 'ownPage',
  description:
    'Needs no credentials but the `code` that the start printed; answers pages of this service at `localhost` and loopback addresses only.',
  errors: ['FORBIDDEN', 'BROWSER_NOT_ALLOWED', 'NOT_FOUND'],
  // It gives tokens: pages of other origins get none, even origins that CORS allows.
  browsers: false,
  identify: ({ developmentSignIn }, request) => {
    if (developmentSignIn === null) throw new UsherError('NOT_FOUND', 'People sign in at the identity provider here.');
    if (!isLocalHost(request.header('host'))) {
      throw new UsherError('FORBIDDEN', 'The development sign-in is open to localhost only.');
    }
    // Browsers set it, and no page can. A page of another port or name is `same-site` or `cross-site`, an address bar `none`.
    if (request.header('sec-fetch-site') !== 'same-origin') {
      throw new UsherError('FORBIDDEN', 'The development sign-in is open to pages of this service only.');
    }
    return null;
  },
};

const query = z.strictObject({
  code: z.string().max(200).default('').meta({ description: 'From the link that the start printed.' }),
});

const Persona = record('Persona', {
  email: z.string(),
  name: z.string(),
  role: z.enum(['superadmin', 'app_admin', 'panel_edit', 'panel_view', 'user']),
  description: z.string(),
});

/** The routes; none in production. */
export function devSignInRoutes(production: boolean): readonly Route[] {
  if (production) return [];
  const limit = createRateLimit(GUESSES);

  /** The sign-in, for a caller with the code. Over the limit even the right code is refused, or it would be recognizable. */
  const admitted = async ({ developmentSignIn }: Services, code: string): Promise<DevelopmentSignIn> => {
    if (developmentSignIn === null) throw new UsherError('NOT_FOUND', 'People sign in at the identity provider here.');
    await limit?.refuseGuesser(GUESSER);
    try {
      developmentSignIn.admit(code);
    } catch (error) {
      await limit?.guessed(GUESSER);
      throw error;
    }
    return developmentSignIn;
  };

  const listPeople = defineRoute({
    method: 'get',
    path: PATH,
    operation: 'listDevelopmentPeople',
    tag: 'Operations',
    summary: 'People to be in development',
    description: 'Outside production only, and only without `auth.issuer`.',
    guard: ownPage,
    query,
    response: z.strictObject({ people: z.array(Persona).max(8) }),
    errors: ['UNAUTHENTICATED'],
    handle: async (services, { query: { code } }) => {
      await admitted(services, code);
      return { people: await services.personas.list() };
    },
  });

  const signIn = defineRoute({
    method: 'post',
    path: PATH,
    operation: 'signInInDevelopment',
    tag: 'Operations',
    summary: 'A token of somebody, in development',
    description: 'Outside production only, and only without `auth.issuer`. The token is valid for an hour.',
    guard: ownPage,
    query,
    body: z.strictObject({ email }),
    response: z.strictObject({ token: z.string(), expiresAt: timestamp }),
    holdsSecret: true,
    errors: ['UNAUTHENTICATED'],
    example: { body: { email: 'admin@example.com' } },
    handle: async (services, { query: { code }, body }) => {
      return (await admitted(services, code)).token(body.email);
    },
  });

  return [listPeople, signIn];
}
