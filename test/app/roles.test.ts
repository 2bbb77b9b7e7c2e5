import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

let storage: TestStorage;
let usher: RunningUsher | undefined;

beforeAll(async () => {
  storage = await createStorage('postgresql');
}, 60_000);

afterEach(async () => {
  await usher?.close();
  usher = undefined;
});

afterAll(async () => {
  await storage?.remove();
}, 60_000);

const started = async (env: Record<string, string>): Promise<RunningUsher> => {
  usher = await startUsher(storage, { env });
  return usher;
};

describe('a process with one role', () => {
  test.each([
    ['rpc', 'usher_grpc_requests_total'],
    ['worker', 'usher_deliveries_waiting'],
    ['gateway', 'usher_http_requests_total'],
  ])('a process with role %s serves healthz, readyz and metrics at OPS_PORT', async (role, metric) => {
    const { ops, rest, grpc } = await started({ USHER_ROLES: role, OPS_PORT: '0' });
    expect({ rest: rest !== '', grpc: grpc !== '' }).toEqual({ rest: role === 'gateway', grpc: role === 'rpc' });
    expect(await (await fetch(`${ops}/healthz`)).json()).toEqual({ status: 'ok' });
    expect(await (await fetch(`${ops}/readyz`)).json()).toMatchObject({
      status: 'ready',
      revision: expect.any(String),
    });
    expect(await (await fetch(`${ops}/readyz/checks`)).json()).toMatchObject({ status: 'ready' });
    const metrics = await (await fetch(`${ops}/metrics`)).text();
    expect(metrics).toMatch(/^usher_revision \d+$/m);
    expect(metrics).toContain(metric);
    for (const path of ['/api/check', '/api/openapi.json', '/dev/mail']) {
      expect([path, (await fetch(ops + path, { method: 'POST' })).status]).toEqual([path, 404]);
    }
  });

  test('the first of several processes of the gRPC port serves probes and metrics of all at OPS_PORT', async () => {
    const { ops, rest } = await started({ USHER_ROLES: 'rpc', OPS_PORT: '0', GRPC_PROCESSES: '2' });
    expect(rest).toBe('');
    for (const path of ['/healthz', '/readyz', '/readyz/checks'])
      expect([path, (await fetch(ops + path)).status]).toEqual([path, 200]);
    const metrics = await (await fetch(`${ops}/metrics`)).text();
    expect(metrics).toContain('usher_grpc_processes 2\n');
    for (const process of ['1', '2'])
      expect(metrics).toMatch(new RegExp(`^usher_revision\\{process="${process}"\\} `, 'm'));
  }, 60_000);

  test.each(['rpc', 'worker'])('a process with role %s opens no HTTP listener without OPS_PORT', async (role) => {
    const { ops, rest } = await started({ USHER_ROLES: role });
    expect({ ops, rest }).toEqual({ ops: '', rest: '' });
  });
});
