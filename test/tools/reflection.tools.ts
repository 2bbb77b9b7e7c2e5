import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/** What a tool written in Go (`buf curl`, on protobuf-go) makes of the descriptors that reflection serves: every method of every service. */

const BUF = fileURLToPath(new URL('../../.ci/tools/node_modules/.bin/buf', import.meta.url));
const KEY = 'a-key-with-every-scope-there-is';
const RULES = { rules_version: 2 };

const QUESTION = { email: 'admin@example.com', app: 'auth', permission: 'panel.access' };
const PERMISSION = 'usher.permission.v1.PermissionService';
const FACTS = 'usher.facts.v1.FactsService';
const HEALTH = 'grpc.health.v1.Health';

/** A request for each method, and what its answer holds. */
const CALLS: Record<string, [request: object, answer: RegExp]> = {
  [`${PERMISSION}/Check`]: [QUESTION, /"source": ?"DECISION_SOURCE_SUPERADMIN"/],
  [`${PERMISSION}/BulkCheck`]: [
    { email: QUESTION.email, app: 'auth', permissions: ['panel.access'] },
    /"allowed": ?true/,
  ],
  [`${PERMISSION}/BatchCheck`]: [{ checks: [QUESTION] }, /"allowed": ?true/],
  [`${PERMISSION}/Effective`]: [{ email: QUESTION.email, app: 'auth' }, /"applications.manage"/],
  [`${PERMISSION}/Explain`]: [{ check: QUESTION }, /"rules":/],
  [`${PERMISSION}/ListSubjects`]: [{ app: 'auth', permission: 'panel.access' }, /"admin@example.com"/],
  [`${PERMISSION}/ListResources`]: [{ ...QUESTION, resource_type: 'application' }, /"RESOURCE_SCOPE_ALL/],
  [`${PERMISSION}/Watch`]: [{}, /"(revision|heartbeat|changes)"/i],
  [`${FACTS}/Members`]: [{ ...RULES, needs: [{ email: QUESTION.email, app: 'auth' }] }, /"superadmin": ?true/],
  [`${FACTS}/Policy`]: [{ ...RULES, app: 'auth' }, /"applications.manage"/],
  [`${FACTS}/Changes`]: [RULES, /"log":/],
  [`${FACTS}/Follow`]: [RULES, /"log":|"since":/],
  [`${HEALTH}/Check`]: [{}, /"status": ?"SERVING"/],
  [`${HEALTH}/List`]: [{}, new RegExp(PERMISSION)],
  [`${HEALTH}/Watch`]: [{}, /"status": ?"SERVING"/],
};

describe('buf curl by reflection', () => {
  let storage: TestStorage;
  let usher: RunningUsher;

  beforeAll(async () => {
    storage = await createStorage('postgresql');
    usher = await startUsher(storage, { env: { INTERNAL_API_KEY: KEY, SUPERADMINS: QUESTION.email } });
  }, 60_000);
  afterAll(async () => {
    await usher?.close();
    await storage?.remove();
  }, 60_000);

  /** What it prints, up to what is waited for: a stream does not end by itself. */
  const curl = (args: readonly string[], awaited?: RegExp): Promise<string> => {
    const common = ['curl', '--protocol', 'grpc', '--http2-prior-knowledge', '-H', `x-internal-api-key: ${KEY}`];
    const tool = spawn(BUF, [...common, ...args], { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    return new Promise((resolve, reject) => {
      let said = '';
      let isEnding = false;
      const hear = (chunk: string) => {
        said += chunk;
        // The package's command starts the tool as a process of its own: both end.
        if (isEnding || tool.pid === undefined || awaited?.test(said) !== true) return;
        isEnding = true;
        process.kill(-tool.pid);
      };
      for (const output of [tool.stdout, tool.stderr]) output.setEncoding('utf8').on('data', hear);
      tool.once('error', reject).once('close', () => resolve(said));
    });
  };
  const url = (path = '') => `http://${usher.grpc}${path}`;

  test('lists every service and every method', async () => {
    const services = (await curl(['--list-services', url()])).trim().split('\n').sort();
    expect(services).toEqual([HEALTH, FACTS, PERMISSION]);
    const methods = (await curl(['--list-methods', url()])).trim().split('\n').sort();
    expect(methods).toEqual(Object.keys(CALLS).sort());
  }, 60_000);

  test.each(Object.keys(CALLS))(
    'calls %s',
    async (path) => {
      const [request, answer] = CALLS[path] as [object, RegExp];
      expect(await curl(['--data', JSON.stringify(request), url(`/${path}`)], answer)).toMatch(answer);
    },
    60_000,
  );
});
