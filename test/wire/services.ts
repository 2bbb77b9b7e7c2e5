/** Whole services in processes of their own, on one PostgreSQL, for the scripts that try a gRPC port from outside. */
import { join } from 'node:path';
import { newFolder, type RunningService, startService, usherProcess } from '../cli/harness.ts';
import { createAuthority } from '../grpc/certificates.ts';
import setup from '../support/global-setup.ts';
import teardown from '../support/global-teardown.ts';
import { createDatabase, databaseEnv } from '../support/postgres.ts';
import type { Names } from './calls.ts';
import type { Address } from './peer.ts';

export interface ServiceOptions {
  readonly tls?: boolean;
  /** Environment of the service beyond what all have. */
  readonly env?: Readonly<Record<string, string>>;
  /** Another tree of the project. */
  readonly root?: string;
}

export interface WireService {
  readonly address: Address;
  readonly running: RunningService;
}

export interface Services {
  start(options?: ServiceOptions): Promise<WireService>;
  remove(): Promise<void>;
}

/** What the services know. */
export const NAMES: Names = {
  key: 'the-internal-key-of-a-backend',
  emails: ['ann@example.com', 'root@example.com', 'nobody@example.com', 'zoë@example.com', 'none'],
  apps: ['shop', 'auth', 'nothing'],
  permissions: ['orders.read', 'orders.write', 'reports', 'nothing'],
};

const MANIFEST = `
application: { code: shop, name: Shop }
admins: [ann@example.com]
permissions: [{ code: orders.read, type: tiered }, { code: orders.write, type: binary }, { code: reports, type: tiered }]
roles: [{ code: reader, description: Reads, permissions: { orders.read: view } }]
entities: [{ code: invoice, name: Invoice, description: An invoice, idLabel: Number }]
`;

export async function openServices(): Promise<Services> {
  await setup();
  const database = await createDatabase();
  const started: RunningService[] = [];
  return {
    async start({ tls = false, env = {}, ...harness } = {}) {
      const certificate = tls ? certificateFiles() : undefined;
      const own = {
        ...databaseEnv(database.url),
        INTERNAL_API_KEY: NAMES.key,
        SUPERADMINS: 'root@example.com',
        LOG_LEVEL: 'info',
        ...certificate?.env,
        ...env,
      };
      const running = await startService(own, harness);
      if (started.push(running) === 1) await applyManifest(running);
      const port = Number(running.grpc.split(':').at(-1));
      return { running, address: { host: '127.0.0.1', port, ca: certificate?.ca } };
    },
    async remove() {
      await Promise.all(started.map((one) => one.remove()));
      await database.drop();
      await teardown();
    },
  };
}

function certificateFiles(): { ca: string; caFile: string; env: Record<string, string> } {
  const authority = createAuthority('wire');
  const { cert, key } = authority.issue('localhost');
  const { folder, file } = newFolder();
  file('tls.crt', cert);
  file('tls.key', key);
  const caFile = file('ca.crt', authority.cert);
  return {
    ca: authority.cert,
    caFile,
    env: { GRPC_TLS_CERT: join(folder, 'tls.crt'), GRPC_TLS_KEY: join(folder, 'tls.key') },
  };
}

async function applyManifest({ url, env }: RunningService): Promise<void> {
  const token = (await usherProcess(['token', 'root@example.com'], env)).stdout.trim();
  const answer = await fetch(`${url}/api/manifests/apply`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/yaml' },
    body: MANIFEST,
  });
  if (answer.status !== 200) throw new Error(`the manifest was refused: ${answer.status} ${await answer.text()}`);
}
