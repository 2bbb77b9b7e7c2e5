import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { cellsOf, localesOf, MAILS } from '../../panel/src/places/sign-in/mail-matrix.ts';
import { type Facts, isSet, stepsOf } from '../../panel/src/places/sign-in/status.ts';

const value = (key: string, value: unknown) => ({
  key,
  variable: key.toUpperCase().replaceAll('.', '_'),
  value,
  source: 'default' as const,
});
const NOTHING: Facts = {
  config: [
    value('publicUrl', null),
    value('auth.issuer', null),
    value('auth.audience', []),
    value('panel.clientId', null),
    value('idp.apiUrl', null),
    value('idp.publicUrl', null),
    value('idp.serviceAccountToken', null),
    value('idp.webhookSecret', []),
  ],
  health: { idpUrl: null, status: 'not_configured' },
  notificationProvider: {
    configured: false,
    providerId: null,
    endpoint: 'http://localhost/api/idp/notifications/email',
    hasSigningKey: false,
    serviceAccountConfigured: false,
  },
  events: { events: [], fallbacks: [], unknownOrganizations: [], unresolved: [], emailChanges: [] },
};
const EVERYTHING: Facts = {
  ...NOTHING,
  config: NOTHING.config.map((one) => ({ ...one, value: 'set' })),
  health: { idpUrl: 'https://idp.example.com', status: 'ok' },
  notificationProvider: { ...NOTHING.notificationProvider, configured: true, hasSigningKey: true },
};
const states = (facts: Facts) => Object.fromEntries(stepsOf(facts).map(({ name, state }) => [name, state]));

describe('the steps of sign-in', () => {
  test('name the keys that are missing, with their variables', () => {
    const [tokens, , api] = stepsOf(NOTHING);
    expect(new Set(Object.values(states(NOTHING)))).toEqual(new Set(['open']));
    expect(tokens?.missing).toEqual([
      { key: 'auth.issuer', variable: 'AUTH_ISSUER' },
      { key: 'auth.audience', variable: 'AUTH_AUDIENCE' },
    ]);
    expect(api?.missing.map(({ key }) => key)).toEqual(['idp.apiUrl', 'idp.serviceAccountToken']);
  });

  test('are done when everything is set, masked secrets too', () => {
    expect(new Set(Object.values(states(EVERYTHING)))).toEqual(new Set(['done']));
    expect([isSet('***'), isSet(['***']), isSet(false), isSet({ a: 1 }), isSet({}), isSet('')]).toEqual([
      true,
      true,
      true,
      true,
      false,
      false,
    ]);
  });

  test('are done without a webhook where the provider sends its own events', () => {
    const webhook = (facts: Facts) => stepsOf(facts).find(({ name }) => name === 'webhook');
    const bare = { ...EVERYTHING, config: [...NOTHING.config, value('idp.eventSigningKeys', [])] };
    expect(webhook(bare)).toMatchObject({ state: 'open', missing: [{ key: 'idp.webhookSecret' }], lastAt: null });
    const config = [...NOTHING.config, value('idp.eventSigningKeys', ['***'])];
    expect(webhook({ ...bare, config })).toMatchObject({ state: 'done', missing: [] });
    const at = '2026-01-01T00:00:00Z';
    const event = { id: 1, at, eventType: 'user.removed', orgId: null, email: null, reason: null, leftOut: [] };
    const heard = { ...NOTHING.events, events: [{ ...event, source: 'event' as const, outcome: 'applied' as const }] };
    expect(webhook({ ...bare, events: heard })).toMatchObject({ state: 'done', missing: [], lastAt: at });
  });

  test('are wrong where something is configured and does not work', () => {
    const events = {
      ...NOTHING.events,
      unknownOrganizations: [{ orgId: '7', count: 1, lastAt: '2026-01-01T00:00:00Z' }],
    };
    const health = { ...EVERYTHING.health, status: 'unreachable' as const };
    expect(states({ ...EVERYTHING, events, health })).toMatchObject({ api: 'wrong', brands: 'wrong', tokens: 'done' });
  });
});

describe('the mails of the provider', () => {
  const template = (key: string, locale: string) => ({ type: 'auth_idp', key, locale });
  const languages = [
    { code: 'en', fallback: null },
    { code: 'cs', fallback: 'en' },
    { code: 'sk', fallback: 'cs' },
    { code: 'a', fallback: 'b' },
    { code: 'b', fallback: 'a' },
  ];

  test('are those of the guide, with their events', () => {
    const guide = readFileSync('docs/guides/auth-emails.md', 'utf8');
    for (const [key, events] of MAILS) expect(guide).toContain(`| ${key} | ${events.join(', ')} |`);
    const rows = guide.split('\n').filter((line) => /^\| \w+ \| \w+\.\w+/.test(line));
    expect(rows).toHaveLength(MAILS.length);
  });

  test('without a template in a language are sent as in what it falls back to', () => {
    const templates = [template('otp_email', 'cs'), template('otp_email', 'de'), template('password_reset', 'sk')];
    expect(localesOf(templates)).toEqual(['cs', 'de', 'en', 'sk']);
    const sent = cellsOf('otp_email', { templates, languages }).map(({ locale, own, sent: by }) => [locale, own, by]);
    expect(sent).toEqual([
      ['cs', true, 'cs'],
      ['de', true, 'de'],
      ['en', false, 'cs'],
      ['sk', false, 'cs'],
    ]);
  });

  test('without any template are sent in the words of the provider; loops of fallbacks end', () => {
    const templates = [template('otp_email', 'a')];
    expect(cellsOf('domain_claimed', { templates, languages }).map(({ sent }) => sent)).toEqual([null, null]);
    expect(cellsOf('otp_email', { templates, languages }).map(({ sent }) => sent)).toEqual(['a', 'a']);
  });
});
