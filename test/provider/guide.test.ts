import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { AUDIENCE } from '../support/oidc.ts';
import { SERVICE_TOKEN } from '../support/provider/double.ts';
import { sendSigned } from '../support/provider/notifier.ts';
import { type SmtpSink, startSmtp } from '../support/smtp.ts';
import { useWorld, WEBHOOK_SECRETS } from './fixture.ts';
import { readCurl, stepsOf } from './guide-commands.ts';
import { Logos } from './logos.ts';

/** docs/guides/identity-provider.md, walked from its first command to its last, with the settings that it names. */
const STEPS = stepsOf(readFileSync('docs/guides/identity-provider.md', 'utf8'));
const ORGANIZATION = '285181292935381355';
const API_KEY = 'a-key-of-the-login-component';
const PEOPLE = ['you', 'ada', 'ben'] as const;

describe('the guide to the identity provider', () => {
  const world = useWorld({
    kind: 'pglite',
    env: (idp) => ({
      PUBLIC_URL: 'https://usher.example.com',
      AUTH_ISSUER: idp.url,
      AUTH_AUDIENCE: AUDIENCE,
      SUPERADMINS: 'you@example.com',
      IDP_PUBLIC_URL: idp.url,
      IDP_ORG_TO_APP: JSON.stringify({ [ORGANIZATION]: 'billing' }),
      INTERNAL_API_KEY: API_KEY,
    }),
  });
  const logos = new Logos();
  let sink: SmtpSink;
  beforeAll(async () => {
    sink = await startSmtp({ login: { user: 'usher', password: 'a password' } });
    await logos.start();
  });
  afterAll(async () => {
    await logos.stop();
    await sink?.close();
  });

  const token = (name: string) =>
    world.idp.oidc.mint({ ...world.idp.oidc.claims(name), email: `${name}@example.com`, given_name: name });

  /** What the reader has before the first command: applications, and people at the provider. */
  async function prepare(): Promise<void> {
    for (const code of ['billing', 'atelier']) {
      await world.usher.app.manifests.apply(`application: { code: ${code}, name: ${code} }`, { actor: 'cli' });
    }
    for (const name of PEOPLE) {
      const profile = { givenName: name, familyName: 'Reader', displayName: name };
      world.idp.state.users.push({ id: name, email: `${name}@example.com`, profile, org: ORGANIZATION });
      const headers = { authorization: `Bearer ${await token(name)}` };
      expect((await fetch(`${world.usher.rest}/api/profile/me`, { headers })).status).toBe(200);
    }
  }

  /** Where the guide says that something happens meanwhile, it happens. */
  async function meanwhile(path: string): Promise<void> {
    if (path !== '/api/idp/admin/events') return;
    const [target] = world.idp.state.targets;
    const event = { event_type: 'user.deactivated', aggregateID: 'ada', resourceOwner: ORGANIZATION, sequence: 2 };
    const answer = await sendSigned(
      `${world.usher.rest}/api/idp/events`,
      JSON.stringify(event),
      target?.signingKey ?? '',
    );
    expect([answer.status, answer.body.data]).toEqual([200, { applied: true }]);
    const back = { ...event, event_type: 'user.reactivated', sequence: 3 };
    await sendSigned(`${world.usher.rest}/api/idp/events`, JSON.stringify(back), target?.signingKey ?? '');
  }

  /** What the guide promises of an answer. */
  const promised: Readonly<Record<string, (data: never) => void>> = {
    'POST /api/idp/admin/actions/setup': (data) =>
      expect(data).toMatchObject({ configured: true, hasSigningKey: true }),
    'GET /api/idp/admin/events': (data: { events: unknown[] }) =>
      expect(data.events.slice(0, 2)).toMatchObject([
        { source: 'event', eventType: 'user.reactivated', email: 'ada@example.com', outcome: 'applied' },
        { source: 'event', eventType: 'user.deactivated', email: 'ada@example.com', outcome: 'applied' },
      ]),
    'GET /api/idp/health': (data) => expect(data).toEqual({ idpUrl: world.idp.url, status: 'ok' }),
    'POST /api/idp/webhook': (data) => expect(data).toEqual({ applied: true }),
    'POST /api/idp/reconcile': (data) => expect(data).toMatchObject({ outcome: 'done' }),
    'POST /api/idp/admin/notification-provider/setup': (data) => expect(data).toMatchObject({ configured: true }),
    'PUT /api/internal/auth/registration-locale': (data) => expect(data).toMatchObject({ locale: 'cs' }),
  };

  test('each of its commands does what it says', async () => {
    await prepare();
    const variables = new Map([
      ['USHER', world.usher.rest],
      ['TOKEN', await token('you')],
      ['IDP', world.idp.url],
      ['SERVICE_TOKEN', SERVICE_TOKEN],
      ['IDP_WEBHOOK_SECRET', WEBHOOK_SECRETS[0]],
      ['INTERNAL_API_KEY', API_KEY],
    ]);
    const own = new Set(variables.keys());
    let last: { id?: string } = {};
    let calls = 0;
    for (const step of STEPS) {
      if ('sets' in step) {
        // It stands for a value of the answer before.
        if (!own.has(step.sets)) variables.set(step.sets, last.id ?? '');
        continue;
      }
      const line = step.line
        .replace('"host": "smtp.example.com", "port": 587', `"host": "127.0.0.1", "port": ${sink.port}`)
        .replace('https://atelier.example.com/logo.png', `${logos.url}/logo.png`);
      const { method, url, headers, body } = readCurl(line, variables);
      const { pathname } = new URL(url);
      await meanwhile(pathname);
      const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
      const text = await response.text();
      calls++;
      expect([line, response.status < 300, text]).toEqual([line, true, text]);
      const answer = JSON.parse(text) as { data?: { id?: string }; id?: string };
      last = answer.data ?? answer;
      promised[`${method} ${pathname}`]?.(last as never);
    }
    expect(calls).toBeGreaterThan(20);
    expect((await sink.next()).to).toEqual(['you@example.com']);
    expect(world.idp.state.executions.get('user.deactivated')).toHaveLength(1);
  }, 60_000);
});
