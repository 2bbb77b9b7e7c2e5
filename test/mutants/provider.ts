import { type Mutant, mutant } from './mutant.ts';

const NATIVE_EVENTS = 'provider/native-events.ts';
const AUTH_MAILS = 'provider/mail/auth-mails.ts';
const TIME_OF_SIGNATURE = 'Number(/t=(\\d+)/.exec(header)?.[1]) * 1000';

/** Who is let in by a provider of many organizations, and what it sends. */
export const PROVIDER: readonly Mutant[] = [
  mutant(
    'a token that is bound to a key is accepted as a bearer',
    'identity/claims.ts',
    'if (claims.cnf !== undefined) {',
    "if (claims.cnf === '') {",
    'identity/bad-tokens',
  ),
  mutant(
    'a token of any organization may rule',
    'directory/accounts.ts',
    '?? (await isOnlyOrganization(tx, organization, binding.configured));',
    '?? ((await isOnlyOrganization(tx, organization, binding.configured)) || true);',
    'directory/organizations',
  ),
  mutant(
    'the organization of a token is not compared with those whose accounts may rule',
    'directory/accounts.ts',
    'return organization !== null && adminOrganizations.has(organization);',
    'return organization !== null;',
    'directory/organizations',
  ),
  mutant(
    'an account that was bound before its address ruled may rule',
    'directory/accounts.ts',
    'if (!(await mayRule(tx, organization, binding))) throw new IdentityConflict(null);',
    '',
    'directory/organizations',
  ),
  mutant(
    'a narrowed key may ask about another application',
    'identity/api-keys.ts',
    '(asked.length > 0 && asked.every((app) => apps.has(app)))',
    'asked.length > 0',
    'identity/api-keys',
  ),
  mutant(
    'a narrowed key may ask about all applications',
    'identity/api-keys.ts',
    'asked.length > 0 && ',
    '',
    'identity/api-keys',
  ),
  mutant(
    'gRPC does not look what a narrowed key asks about',
    'identity/api-keys.ts',
    'if (request !== undefined) refuseOtherApplications(holder, about(request));',
    '',
    'identity/api-keys',
  ),
  mutant(
    'REST does not look what a narrowed key asks about',
    'gateway/router.ts',
    'if (holder != null && holder.apps !== null) refuseOtherApplications(holder, concerns(input));',
    'void [holder, concerns, refuseOtherApplications];',
    'matrix/narrowed-keys',
  ),
  mutant(
    'Connect does not look what a narrowed key asks about',
    'gateway/connect/connect.ts',
    'if (caller !== null) refuseOtherApplications(caller as KeyHolder, apps);',
    'void [caller, apps, refuseOtherApplications];',
    'matrix/narrowed-keys',
  ),
  mutant(
    'a route about all applications is open to narrowed keys',
    'gateway/middleware/admit.ts',
    "if (concerns === null || concerns === 'path')",
    "if (concerns === 'path')",
    'matrix/narrowed-keys',
  ),
  mutant(
    'events of the provider need no signature',
    NATIVE_EVENTS,
    'verifySignature({ header, body, keys: await this.#keys(), scheme, now: clock.now() });',
    'void [header, body, scheme, clock, verifySignature];',
    'provider/native-events',
  ),
  {
    name: 'an event with a stale signature is taken',
    file: NATIVE_EVENTS,
    edits: [
      ['scheme, now: clock.now() });', `scheme, now: ${TIME_OF_SIGNATURE} });`],
      ['await this.#keys(), this.#options.clock.now());', `await this.#keys(), ${TIME_OF_SIGNATURE});`],
    ],
    tests: ['provider/native-events'],
  },
  mutant(
    'an older event undoes a newer one',
    NATIVE_EVENTS,
    'if (!isNews) return false;',
    '',
    'provider/native-events',
  ),
  mutant(
    'one of several users with an address deactivates the person',
    NATIVE_EVENTS,
    'if (says === false && (await hasOtherActive(tx, person, account))) return false;',
    'void hasOtherActive;',
    'provider/native-events',
  ),
  mutant(
    'an event about nobody known is lost',
    NATIVE_EVENTS,
    'await keepUnresolved(tx, kept);',
    'void [keepUnresolved, kept];',
    'provider/native-events',
  ),
  mutant(
    'a name with NUL keeps somebody active whom an event deactivates',
    'gateway/routes/native-events.ts',
    'parseJson(body, { unstorable: true })',
    'parseJson(body)',
    'provider/native-events',
  ),
  mutant(
    'a name with NUL keeps somebody active whom the webhook deactivates',
    'gateway/routes/provider.ts',
    "json(WebhookBody, 'record', { unstorable: true })",
    "json(WebhookBody, 'record')",
    'provider/webhook',
  ),
  mutant(
    'a header value with NUL is given to grpc-js',
    'packages/http2-front/src/other-calls.ts',
    'return list.values.some((value) => CONTROL.test(value)) ? Verdict.UNREADABLE : Verdict.PASS;',
    'return Verdict.PASS;',
    'grpc/front/door',
  ),
  mutant(
    'a refused mail that was sent is still one that waits',
    AUTH_MAILS,
    'await settleRefusedMail(tx, hash);',
    'void settleRefusedMail;',
    'provider/mail/refused',
  ),
  {
    name: 'a refused mail that two send at once goes out twice',
    file: AUTH_MAILS,
    edits: [
      ['return await this.#alone(hash, async () => this.#once(', 'return await (async () => this.#once('],
      [
        'await readPayload(parse(body), this.#origins()), by));',
        'await readPayload(parse(body), this.#origins()), by))();',
      ],
      ["if (claim.kind === 'busy') throw", "if (claim.kind === 'busy' && hash === '') throw"],
    ],
    tests: ['provider/mail/refused'],
  },
  mutant(
    'a refused mail is refused as often as it is delivered',
    AUTH_MAILS,
    "if (isKnown) return { status: 'refused', reason };",
    '',
    'provider/mail/refused',
  ),
  mutant(
    'the doctor overlooks signing keys that cannot be opened',
    'app/doctor/provider-calls.ts',
    'sealing.openText(context, sealed) === null',
    "sealing.openText(context, sealed) === ''",
    'cli/doctor-provider',
  ),
];
