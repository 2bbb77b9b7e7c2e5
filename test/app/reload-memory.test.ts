import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Reloader } from '../../src/app/reloader.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { checked } from '../../src/config/config.ts';
import { newFolder } from '../cli/harness.ts';
import { createAuthority } from '../grpc/certificates.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const ROUNDS = 600;

let storage: TestStorage;
let usher: RunningUsher;
const { folder, file } = newFolder();
const authority = createAuthority('Usher test authority');
const pairs = [authority.issue('even'), authority.issue('odd')];
const tls = (round: number) => {
  const pair = pairs[round % 2] as { cert: string; key: string };
  const [cert, key] = [file('tls.crt', pair.cert), file('tls.key', pair.key)];
  return { GRPC_TLS_CERT: cert, GRPC_TLS_KEY: key, HTTP_TLS_CERT: cert, HTTP_TLS_KEY: key };
};

beforeAll(async () => {
  storage = await createStorage('postgresql');
  usher = await startUsher(storage, { env: { ...tls(0), USHER_ROLES: 'rpc,gateway' } });
}, 60_000);

afterAll(async () => {
  await usher?.close();
  await storage?.remove();
}, 60_000);

test('hundreds of reloads leave no memory behind', async () => {
  const lines: string[] = [];
  const log = createLogger('info', { write: (line) => void lines.push(line) });
  const env = { ...tls(0), DATA_DIR: folder };
  let round = 0;
  const read = () => Promise.resolve({ env: { ...env, ...tls(round), INTERNAL_API_KEY: `key-of-round-${round}` } });
  const reloader = new Reloader({ running: checked({ env }, []), checks: [], read }, log);
  reloader.begin(usher.app);
  const reload = async (): Promise<void> => {
    round++;
    reloader.request();
    while (lines.length < round) await new Promise((resolve) => setImmediate(resolve));
  };
  const used = (): number => {
    collect();
    return process.memoryUsage().heapUsed + process.memoryUsage().external;
  };
  while (round < ROUNDS / 3) await reload();
  const before = used();
  while (round < ROUNDS) await reload();
  const grown = used() - before;
  await reloader.stop();
  expect(lines.filter((line) => line.includes('"msg":"configuration reloaded"'))).toHaveLength(ROUNDS);
  // The lines above are a part of it.
  expect(grown - lines.join('').length * 2).toBeLessThan(2 * 1024 * 1024);
  expect(usher.app.files.grpc?.cert).toBe(pairs[0]?.cert);
}, 120_000);
