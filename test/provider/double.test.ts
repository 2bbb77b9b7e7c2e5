import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type IdpDouble, SERVICE_TOKEN, startIdp } from '../support/provider/double.ts';
import { newState } from '../support/provider/state.ts';

interface Recorded {
  readonly status: number;
  readonly request?: Readonly<Record<string, unknown>>;
  readonly answer: unknown;
}

/** As a provider in the field answered (ZITADEL of July 2026), ids and keys replaced; two without a body are from its source. */
const RECORDED = JSON.parse(readFileSync('test/support/provider/recorded-answers.json', 'utf8')) as Record<
  string,
  Recorded
>;

interface Request {
  readonly method: string;
  readonly path: string;
  readonly org?: string;
  readonly body?: unknown;
}

const LABEL = '/management/v1/policies/label';
const DOMAINS = '/management/v1/orgs/me/domains';

let idp: IdpDouble;
beforeAll(async () => {
  idp = await startIdp();
});
afterAll(() => idp?.close());
beforeEach(() => {
  Object.assign(idp.state, { ...newState(), origin: idp.url });
});

async function ask({ method, path, org, body }: Request): Promise<{ status: number; body: unknown }> {
  const response = await fetch(idp.url + path, {
    method,
    headers: {
      authorization: `Bearer ${SERVICE_TOKEN}`,
      'content-type': 'application/json',
      ...(org === undefined ? {} : { 'x-zitadel-orgid': org }),
    },
    ...(method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }),
  });
  return { status: response.status, body: await response.json() };
}

/** What the double must answer: of ids, times, keys and addresses the form alone. */
function alike(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(alike);
  if (typeof value === 'object' && value !== null) {
    return expect.objectContaining(
      Object.fromEntries(Object.entries(value).map(([name, item]) => [name, alike(item)])),
    );
  }
  if (typeof value !== 'string') return value;
  if (value === 'k×36') return expect.stringMatching(/^[A-Za-z0-9]{36}$/);
  if (/^\d+$/.test(value)) return expect.stringMatching(/^\d+$/);
  if (/^\d{4}-\d\d-\d\dT/.test(value)) return expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/);
  if (value.includes('/policy/label/logo-'))
    return expect.stringMatching(/\/assets\/v1\/\d+\/policy\/label\/logo-\d+$/);
  return value;
}

function organization(name: string, id: string) {
  const domains = new Set([`${name}.example.com`]);
  const row = { id, name, domains, primaryDomain: `${name}.example.com`, label: null, shown: null, logo: null };
  idp.state.orgs.push(row);
  return row;
}

const requestOf = (name: string) => RECORDED[name]?.request ?? {};
const TARGETS = { method: 'POST', path: '/v2/actions/targets' };
const PROVIDERS = { method: 'POST', path: '/admin/v1/email/http' };

/** Leads to the state in which each was recorded, and to its request. */
const SITUATIONS: Readonly<Record<string, () => Promise<Request>>> = {
  'e-mail providers, keys in clear': async () => {
    idp.state.revealsKeys = true;
    const endpoint = 'http://localhost:24200/api/idp/notifications/email';
    await ask({ ...PROVIDERS, body: { endpoint, description: 'Usher' } });
    return { method: 'POST', path: '/admin/v1/email/_search' };
  },
  'an e-mail provider on a private address': async () => {
    idp.state.deniesPrivate = true;
    return { ...PROVIDERS, body: requestOf('an e-mail provider on a private address') };
  },
  'a second look': async () => {
    organization('atelier', '100');
    await ask({ method: 'POST', path: LABEL, org: '100', body: { primaryColor: '#3451b3' } });
    return { method: 'POST', path: LABEL, org: '100', body: { primaryColor: '#3451b4' } };
  },
  'an active look': async () => {
    const org = organization('atelier', '100');
    const body = { ...idp.state.defaultLabel, primaryColor: '#3451b3' };
    await ask({ method: 'POST', path: LABEL, org: '100', body });
    org.logo = { filename: 'logo.png', media: 'image/png', bytes: Buffer.from('png') } as never;
    await ask({ method: 'POST', path: `${LABEL}/_activate`, org: '100' });
    return { method: 'GET', path: LABEL, org: '100' };
  },
  'a taken name': async () => {
    organization('atelier', '100');
    return { method: 'POST', path: '/v2/organizations', body: { name: 'Atelier' } };
  },
  'a domain of another organization': async () => {
    organization('atelier', '100');
    organization('other', '101');
    return { method: 'POST', path: DOMAINS, org: '101', body: { domain: 'atelier.example.com' } };
  },
  'a domain that it has already': async () => {
    organization('atelier', '100');
    return { method: 'POST', path: DOMAINS, org: '100', body: { domain: 'atelier.example.com' } };
  },
  'an unverified domain as primary one': async () => {
    organization('atelier', '100');
    idp.state.validateOrgDomains = true;
    await ask({ method: 'POST', path: DOMAINS, org: '100', body: { domain: 'new.example.com' } });
    return { method: 'POST', path: `${DOMAINS}/new.example.com/_set_primary`, org: '100' };
  },
  'the primary domain as primary one': async () => {
    organization('atelier', '100');
    return { method: 'POST', path: `${DOMAINS}/atelier.example.com/_set_primary`, org: '100' };
  },
  'an unchanged e-mail provider': async () => {
    const body = { endpoint: 'https://usher.example.com/x', description: 'Usher' };
    await ask({ ...PROVIDERS, body });
    return { method: 'PUT', path: `/admin/v1/email/http/${idp.state.emailProviders[0]?.id}`, body };
  },
  'an empty name': async () => {
    const profile = { givenName: 'Ada', familyName: 'Lovelace', displayName: '' };
    idp.state.users.push({ id: '200', email: 'ada@example.com', profile });
    return { method: 'PUT', path: '/v2/users/human/200', body: { profile: { ...profile, givenName: '' } } };
  },
  'a client with a cleartext redirect address': async () => {
    organization('atelier', '100');
    idp.state.projects.push({ id: '300', org: '100', name: 'P' });
    const body = requestOf('a client with a cleartext redirect address');
    return { method: 'POST', path: '/management/v1/projects/300/apps/oidc', org: '100', body };
  },
  'a target on a private address': async () => {
    idp.state.deniesPrivate = true;
    return { ...TARGETS, body: requestOf('a target on a private address') };
  },
  'a target': async () => ({ ...TARGETS, body: requestOf('a target') }),
};

describe('the double of the provider', () => {
  test('each recorded answer is tried', () => {
    expect(Object.keys(SITUATIONS)).toEqual(Object.keys(RECORDED));
  });

  test.each(Object.keys(RECORDED))('answers as the one in the field: %s', async (name) => {
    const { status, answer } = RECORDED[name] as Recorded;
    const request = await SITUATIONS[name]?.();
    if (request === undefined) throw new Error('no such situation');
    expect(await ask(request)).toEqual({ status, body: alike(answer) });
  });

  test('shows a look that was stored and never activated as the default, but in the preview', async () => {
    organization('atelier', '100');
    await ask({ method: 'POST', path: LABEL, org: '100', body: { primaryColor: '#112233' } });
    expect((await ask({ method: 'GET', path: LABEL, org: '100' })).body).toMatchObject({ isDefault: true });
    const preview = await ask({ method: 'GET', path: `${LABEL}/_preview`, org: '100' });
    expect(preview.body).toMatchObject({ policy: { primaryColor: '#112233' } });
    expect(preview.body).not.toHaveProperty('isDefault');
  });

  test('shows in searches what was made a while ago, and by id at once', async () => {
    idp.state.searchLagMs = 60_000;
    const { body } = await ask({ ...TARGETS, body: requestOf('a target') });
    const { id } = body as { id: string };
    expect((await ask({ method: 'GET', path: `/v2/actions/targets/${id}` })).status).toBe(200);
    expect((await ask({ method: 'POST', path: '/v2/actions/targets/search' })).body).not.toHaveProperty('targets');
  });
});
