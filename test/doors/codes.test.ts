import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createLocalUsher } from '../../clients/typescript/src/local.ts';
import type { OracleQuestion } from '../oracle/oracle.ts';
import { type RunningEdge, startEdge } from '../support/edge.ts';
import { manifestOf, yamlOf } from '../support/exported.ts';
import { useRegistry } from '../support/registry.ts';
import { type Door, localDoors, openDoors, openGrpcDoors } from './doors.ts';

const ADA = 'ada@example.com';
const EDGE_KEY = 'the-internal-key-of-callers-of-the-edge';
/** Parts of codes and ids: `a:b` `c` `d` and `a` `b` `c:d` are one text where a key joins them by `:` alone. */
const PARTS = ['read', 'order', 'order', '7', 'eu'];

interface Asked {
  readonly permission: string;
  readonly resourceType: string;
  readonly resourceId: string;
}

/** The same parts, divided at each place. */
const DIVIDED: Asked[] = PARTS.slice(2).map((_, at) => ({
  permission: PARTS.slice(0, at + 1).join(':'),
  resourceType: PARTS[at + 1] ?? '',
  resourceId: PARTS.slice(at + 2).join(':'),
}));
const isAllowed = (at: number): boolean => at % 2 === 1;

const SHOP = `
application: {code: shop, name: Shop}
permissions: [${[...DIVIDED.map(({ permission }) => permission), 'files/write', 's3:GetObject'].map((code) => `{code: "${code}", type: binary}`).join(', ')}]
roles: [{code: ROLE_ADMIN, permissions: {files/write: allowed}}, {code: "billing:Clerk", permissions: {"s3:GetObject": allowed}}]
assignments: [{email: ${ADA}, roles: [ROLE_ADMIN]}]
overrides:
${DIVIDED.flatMap((asked, at) => (isAllowed(at) ? [`  - ${JSON.stringify({ email: ADA, ...asked, granted: true })}`] : [])).join('\n')}
`;

describe('codes with : and /', () => {
  const registry = useRegistry('postgresql', [SHOP]);
  const closers: (() => Promise<void> | void)[] = [];
  let doors: Door[];

  beforeAll(async () => {
    const { usher } = registry;
    await registry.as('ada').get('/api/profile/me');
    const key = usher.app.localKey ?? undefined;
    const edge: RunningEdge = await startEdge(usher.grpc, {
      env: { UPSTREAM_KEY: key ?? '', INTERNAL_API_KEY: EDGE_KEY, CACHE_TTL_MS: '30000' },
    });
    const local = createLocalUsher({ address: usher.grpc, key });
    await local.ready();
    const [own, over] = [await openDoors(usher, [ADA]), openGrpcDoors('edge', edge.grpc, EDGE_KEY)];
    closers.push(
      own.close,
      over.close,
      () => local.close(),
      () => edge.close(),
    );
    doors = [...own.doors, ...over.doors, ...localDoors(local)];
  }, 60_000);
  afterAll(async () => {
    for (const close of closers) await close();
  });

  const ask = async (door: Door, { permission, ...resource }: Asked): Promise<boolean | undefined> => {
    const question: OracleQuestion = { email: ADA, app: 'shop', permission: '', ...resource };
    const { said } = await door.ask(question, [permission], null);
    return said.find((one) => one.permission === permission)?.allowed;
  };

  test('no door and no cache takes one question for another', async () => {
    for (const door of doors) {
      // The second and third rounds are answered by caches of decisions, of requests and of batches.
      for (let round = 0; round < 3; round++) {
        for (const [at, asked] of DIVIDED.entries()) {
          expect([door.name, round, asked, await ask(door, asked)]).toEqual([door.name, round, asked, isAllowed(at)]);
        }
      }
    }
  });

  test('a door answers what a role grants', async () => {
    for (const door of doors) {
      const plain = { resourceType: '', resourceId: '' };
      expect([door.name, await ask(door, { permission: 'files/write', ...plain })]).toEqual([door.name, true]);
      expect([door.name, await ask(door, { permission: 's3:GetObject', ...plain })]).toEqual([door.name, false]);
    }
  });

  test('an export applies again without a change, with every override', async () => {
    const { manifests } = registry.usher.app;
    const [manifest, yaml] = [await manifestOf(manifests, 'shop'), await yamlOf(manifests, 'shop')];
    expect(manifest.overrides).toHaveLength(DIVIDED.filter((_, at) => isAllowed(at)).length);
    expect((await manifests.apply(yaml, { actor: 'cli', prune: true })).plan.changes).toEqual([]);
  });

  test('roles and permissions are written, filtered by and taken by such codes', async () => {
    const { root } = registry;
    const path = '/api/applications/shop';
    const made = await root.post(`${path}/permissions`, { code: 'read:all/x', type: 'tiered' });
    expect([made.status, made.body.data.code]).toEqual([201, 'read:all/x']);
    const roles = '/api/users/ada@example.com/apps/shop/roles';
    const given = await root.post(roles, { role: 'billing:Clerk' });
    expect([given.status, given.headers.get('location')]).toEqual([
      201,
      `${roles.replace('@', '%40')}/billing%3AClerk`,
    ]);
    const held = await root.get(`/api/users?appCode=shop&role=${encodeURIComponent('billing:Clerk')}`);
    expect(held.body.data.map(({ email }: { email: string }) => email)).toEqual([ADA]);
    const of = await root.get(`${path}/overrides?permission=${encodeURIComponent('read:order')}`);
    expect(of.body.data.map(({ resourceId }: { resourceId: string }) => resourceId)).toEqual(['7:eu']);
    const cells = [{ role: 'billing:Clerk', permission: 'read:all/x', accessLevel: 'view' }];
    const matrix = await root.get(`${path}/matrix`);
    const changed = await root.put(
      `${path}/matrix`,
      { changes: cells },
      { 'if-match': matrix.headers.get('etag') ?? '' },
    );
    expect([changed.status, changed.body.message]).toEqual([200, undefined]);
    expect((await root.delete(`${roles}/billing%3AClerk`)).status).toBe(204);
    const star = await root.post(`${path}/roles`, { code: 'clerk-*' });
    expect([star.status, star.body.details.issues]).toEqual([
      400,
      [{ path: 'code', message: 'there are no wildcards: name each code, without *' }],
    ]);
  });
});
