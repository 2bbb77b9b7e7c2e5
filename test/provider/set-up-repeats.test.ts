import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { RestAnswer } from '../support/rest.ts';
import { useWorld, type World } from './fixture.ts';
import { Logos } from './logos.ts';

const ADMIN = '/api/idp/admin';

/** Something that is done at the provider in several steps. */
interface SetUp {
  readonly run: (world: World, name: string, logo: string) => Promise<RestAnswer>;
  /** What the provider has of it in the end. */
  readonly made: (world: World, name: string) => unknown;
  readonly expected: unknown;
  /** The answer once it is complete. */
  readonly again: number;
}

const SET_UPS: Readonly<Record<string, SetUp>> = {
  'the notification provider': {
    run: (world) => world.root.post(`${ADMIN}/notification-provider/setup`, {}),
    made: (world) => world.idp.state.emailProviders.map(({ active }) => active),
    expected: [true],
    again: 200,
  },
  'target and executions of events': {
    run: (world) => world.root.post(`${ADMIN}/actions/setup`, {}),
    made: (world) => {
      const [target] = world.idp.state.targets;
      const subscribed = [...world.idp.state.executions.values()].map(
        (ids) => new Set(ids).size === 1 && ids[0] === target?.id,
      );
      return [world.idp.state.targets.length, subscribed.length, subscribed.every(Boolean)];
    },
    expected: [1, 11, true],
    again: 200,
  },
  'an organization with its domain': {
    run: (world, name) => world.root.post(`${ADMIN}/orgs`, { name, domain: `${name}.example.com` }),
    made: (world, name) =>
      world.idp.state.orgs.filter((org) => org.name === name).map(({ primaryDomain }) => primaryDomain.split('.')[1]),
    expected: ['example'],
    again: 409,
  },
  'the look of an organization': {
    run: (world, name, logoUrl) => {
      if (!world.idp.state.orgs.some(({ id }) => id === name)) world.idp.state.orgs.push(organization(name));
      return world.root.put(`${ADMIN}/orgs/${name}/branding`, { primaryColor: '#112233', logoUrl });
    },
    made: (world, name) =>
      world.idp.state.orgs.filter(({ id }) => id === name).map(({ shown }) => [shown?.primaryColor, shown?.logo]),
    expected: [['#112233', 'logo.png']],
    again: 200,
  },
  'project and client of an organization': {
    run: (world, name) => {
      if (!world.idp.state.orgs.some(({ id }) => id === name)) world.idp.state.orgs.push(organization(name));
      const uris = ['https://app.example.com/'];
      const wanted = { projectName: 'P', appName: 'A', redirectUris: uris, userApiAppCode: 'auth' };
      return world.root.post(`${ADMIN}/orgs/${name}/setup`, wanted);
    },
    made: (world, name) => {
      const projects = world.idp.state.projects.filter(({ org }) => org === name);
      return projects.map(({ id }) => world.idp.state.apps.filter(({ project }) => project === id).length);
    },
    expected: [1],
    again: 200,
  },
};

/** How a step fails, and all after it. */
const FAULTS = ['refused', 'away', 'lost'] as const;
type Fault = (typeof FAULTS)[number];

describe('set-up that fails at any step', () => {
  const world = useWorld();
  const logos = new Logos();
  beforeAll(() => logos.start());
  afterAll(() => logos.stop());
  beforeEach(() => {
    world.idp.state.searchLagMs = 300;
  });
  afterEach(() => {
    world.idp.instead = () => null;
    world.idp.lost.clear();
    Object.assign(world.idp.state, { validateOrgDomains: false, deniesPrivate: false, signsMails: true });
  });

  const fresh = async (): Promise<void> => {
    Object.assign(world.idp.state, {
      emailProviders: [],
      orgs: [],
      projects: [],
      apps: [],
      targets: [],
      executions: new Map(),
    });
    await world.usher.app.database.change(async (tx) => {
      await sql`delete from setting where key like 'idp.%' and key not like 'idp.lock:%'`.execute(tx.kysely);
      return { result: null, scopes: [] };
    });
  };

  const failFrom = (step: number, fault: Fault): void => {
    let calls = 0;
    world.idp.instead = ({ path }) => {
      const at = calls++;
      if (at < step) return null;
      if (fault === 'lost' && at === step) {
        world.idp.lost.add(path);
        return null;
      }
      if (fault === 'refused') return { status: 403, body: { code: 7, message: 'membership not found (AUTHZ-cdgFk)' } };
      return { status: 503, body: { code: 14, message: 'unavailable' } };
    };
  };

  test.each(Object.keys(SET_UPS))(
    '%s: after a failure of any step the next try completes it, once',
    async (name) => {
      const setUp = SET_UPS[name] as SetUp;
      await fresh();
      const before = world.idp.calls.length;
      const whole = await setUp.run(world, 'whole', `${logos.url}/logo.png`);
      expect([name, whole.status < 300, whole.body]).toMatchObject([name, true, { success: true }]);
      const steps = world.idp.calls.length - before;
      expect(steps).toBeGreaterThan(1);
      for (const fault of FAULTS) {
        for (let step = 0; step < steps; step++) {
          await fresh();
          const one = `${fault}${step}`;
          failFrom(step, fault);
          const first = await setUp.run(world, one, `${logos.url}/logo.png`);
          world.idp.instead = () => null;
          const second = await setUp.run(world, one, `${logos.url}/logo.png`);
          const said = `${fault} at step ${step}`;
          // A fault that the client itself has mended leaves nothing to be done.
          const isWhole = first.status < 300 && second.status === setUp.again;
          expect([said, second.status < 300 || isWhole, second.body]).toMatchObject([said, true, {}]);
          expect([said, setUp.made(world, one)]).toEqual([said, setUp.expected]);
          expect([said, (await setUp.run(world, one, `${logos.url}/logo.png`)).status]).toEqual([said, setUp.again]);
          expect([said, setUp.made(world, one)]).toEqual([said, setUp.expected]);
        }
      }
    },
    300_000,
  );

  test.each(Object.keys(SET_UPS))(
    '%s: twice in a row makes one of each',
    async (name) => {
      const setUp = SET_UPS[name] as SetUp;
      await fresh();
      world.idp.state.searchLagMs = 60_000;
      await setUp.run(world, 'twice', `${logos.url}/logo.png`);
      expect((await setUp.run(world, 'twice', `${logos.url}/logo.png`)).status).toBe(setUp.again);
      expect(setUp.made(world, 'twice')).toEqual(setUp.expected);
    },
    60_000,
  );

  test('target and client are asked for as they were of the one in the field', async () => {
    await fresh();
    const recorded = JSON.parse(readFileSync('test/support/provider/recorded-answers.json', 'utf8'));
    const asked = (pathEnd: string) => world.idp.calls.findLast(({ path }) => path.endsWith(pathEnd))?.body;
    await world.root.post(`${ADMIN}/actions/setup`, {});
    const endpoint = expect.stringMatching(/^http:\/\/localhost:\d+\/api\/idp\/events$/);
    expect(asked('/v2/actions/targets')).toEqual({ ...recorded['a target'].request, name: 'Usher', endpoint });
    world.idp.state.orgs.push(organization('asked'));
    const { request } = recorded['a client with a cleartext redirect address'];
    const { name: appName, redirectUris } = request;
    const wanted = { projectName: 'P', appName, redirectUris, userApiAppCode: 'auth' };
    expect((await world.root.post(`${ADMIN}/orgs/asked/setup`, wanted)).status).toBe(200);
    expect(asked('/apps/oidc')).toEqual(request);
  });

  test('a domain that is not verified yet is told as such each time, and completes once it is', async () => {
    await fresh();
    world.idp.state.validateOrgDomains = true;
    const create = () => world.root.post(`${ADMIN}/orgs`, { name: 'dns', domain: 'dns.example.com' });
    for (const _ of [1, 2, 3]) {
      const answer = await create();
      expect([answer.status, answer.body.details.code]).toEqual([502, 'IDP_REJECTED']);
      expect(answer.body.message).toMatch(/dns\.example\.com.*verified.*DNS/);
    }
    world.idp.state.verified.add('dns.example.com');
    expect((await create()).status).toBe(201);
    expect(world.idp.state.orgs).toMatchObject([{ primaryDomain: 'dns.example.com' }]);
  });

  test('what the provider lacks or refuses by default is said with what to do', async () => {
    await fresh();
    world.idp.state.signsMails = false;
    const setUp = () => world.root.post(`${ADMIN}/notification-provider/setup`, {});
    expect((await setUp()).body.message).toMatch(/no signing key.*4\.0/);
    await fresh();
    Object.assign(world.idp.state, { signsMails: true, deniesPrivate: true });
    const denied = await setUp();
    expect([denied.status, denied.body.message]).toEqual([502, expect.stringMatching(/HTTPClient\.DenyList/)]);
    const events = await world.root.post(`${ADMIN}/actions/setup`, {});
    expect([events.status, events.body.message]).toEqual([502, expect.stringMatching(/HTTPClient\.DenyList/)]);
  });
});

function organization(id: string): World['idp']['state']['orgs'][number] {
  return { id, name: id, domains: new Set(), primaryDomain: '', label: null, shown: null, logo: null };
}
