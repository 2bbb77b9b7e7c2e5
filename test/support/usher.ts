import { type App, buildApp, type Parts } from '../../src/app/app.ts';
import type { Addresses } from '../../src/app/listeners.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { toConfig } from '../../src/config/config.ts';
import type { TestStorage } from './databases.ts';
import { databaseEnv, isEarlyReleased, SERVER_VARIABLE } from './postgres.ts';

/** A whole service, as app.ts builds it, with its doors open on free ports. */
export interface RunningUsher {
  readonly app: App;
  readonly rest: string;
  readonly grpc: string;
  /** The operators' listener, where OPS_PORT opens one. */
  readonly ops: string;
  /** A bearer token of the local issuer. */
  token(email: string): Promise<string>;
  close(): Promise<void>;
}

/** Starts a service on a storage. `env` is what an operator would set beside the ports. */
export async function startUsher(
  storage: Pick<TestStorage, 'url' | 'dataDir'> & { directUrl?: string | null },
  { env = {}, parts = {} }: { env?: Record<string, string>; parts?: Parts } = {},
): Promise<RunningUsher> {
  const config = toConfig({
    env: {
      HTTP_PORT: '0',
      GRPC_PORT: '0',
      SHUTDOWN_NOTICE_MS: '0',
      // `GRPC_FRONT=false npm test` runs every test of a service without the front.
      GRPC_FRONT: process.env.GRPC_FRONT ?? 'true',
      DATA_DIR: storage.dataDir,
      ...whereabouts(storage),
      ...env,
    },
  });
  const app = await buildApp(config, { log: createLogger('fatal'), ...parts });
  let addresses: Addresses;
  try {
    addresses = await app.start();
  } catch (error) {
    await app.close();
    throw error;
  }
  return {
    app,
    rest: addresses.rest ?? '',
    grpc: addresses.grpc ?? '',
    ops: addresses.ops ?? '',
    token: async (email) => {
      if (app.localIssuer === null) throw new Error('this service has no local issuer');
      return await app.localIssuer.sign(email);
    },
    close: () => app.close(),
  };
}

function whereabouts({ url, directUrl }: Parameters<typeof startUsher>[0]): Record<string, string> {
  if (url === null) return { DATABASE_EMBEDDED: 'true' };
  // Lines and servers of a test's own are not behind the pooler.
  const isShared = new URL(url).host === new URL(process.env[SERVER_VARIABLE] ?? 'none:').host;
  return {
    ...(isShared ? databaseEnv(url) : { DATABASE_URL: url }),
    ...(directUrl == null ? {} : { DATABASE_DIRECT_URL: directUrl }),
    DATABASE_EARLY_RELEASE: String(isEarlyReleased()),
  };
}
