import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { accept, insertType } from '../delivery/rows.ts';
import { type Door, openDoors, openGrpcDoors } from '../doors/doors.ts';
import { createAuthority } from '../grpc/certificates.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningEdge, startEdge } from '../support/edge.ts';
import { Rest } from '../support/rest.ts';
import { type SmtpSink, startSmtp } from '../support/smtp.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/** Everything that has metrics: every role, several gRPC processes, an edge and one with TLS, and callers of all of it. */
export interface Scene {
  readonly storage: TestStorage;
  readonly usher: RunningUsher;
  /** The operators' listeners, `host:port`. */
  readonly targets: readonly string[];
  /** Asks at every door, writes policy and sends notifications, once. */
  busy(): Promise<void>;
  close(): Promise<void>;
}

const ADMIN = 'admin@example.com';
const question = { email: ADMIN, app: 'auth', permission: 'users.access', resourceType: '', resourceId: '' };

export async function openScene(): Promise<Scene> {
  const [storage, smtp] = await Promise.all([createStorage('postgresql'), startSmtp()]);
  const folder = mkdtempSync(join(tmpdir(), 'usher-scene-'));
  const closing = new AsyncDisposableStack();
  closing.defer(() => storage.remove());
  closing.defer(() => rmSync(folder, { recursive: true, force: true }));
  closing.defer(() => smtp.close());
  try {
    const usher = await startUsher(storage, {
      env: {
        LOG_LEVEL: 'fatal',
        OPS_PORT: '0',
        DECISION_LOG_SAMPLE: '1',
        DECISION_LOG_FILE: join(folder, 'decisions.log'),
        GRPC_PROCESSES: '2',
        DATABASE_EARLY_RELEASE: 'true',
        // The primary in the place of its replica: what became of a load is counted in the same way.
        DATABASE_FACTS_URL: storage.url ?? '',
      },
    });
    closing.defer(() => usher.close());
    const edges = await openEdges(usher.grpc, { folder, dataDir: storage.dataDir });
    for (const edge of edges) closing.defer(() => edge.close());
    const { doors, close } = await openDoors(usher, [ADMIN]);
    closing.defer(close);
    const plain = openGrpcDoors('edge', edges[0]?.grpc ?? '');
    closing.defer(plain.close);
    const root = await Rest.as(usher, ADMIN);
    const send = await openSends(usher, root, smtp);
    return {
      storage,
      usher,
      targets: [usher.ops, ...edges.map(({ ops }) => ops ?? '')].map((address) => address.replace('http://', '')),
      busy: async () => {
        await Promise.all([...doors, ...plain.doors].map((door) => askAt(door)));
        await root.get('/api/users');
        await send();
        await usher.app.database.change(async () => ({ result: null, scopes: ['u:nobody@example.com'] }));
      },
      close: () => closing.disposeAsync(),
    };
  } catch (error) {
    await closing.disposeAsync();
    throw error;
  }
}

async function askAt(door: Door): Promise<void> {
  await door.ask(question, [question.permission, 'of.nobody'], null);
}

/** With the key that the service has made in its directory. */
async function openEdges(
  upstream: string,
  { folder, dataDir }: { folder: string; dataDir: string },
): Promise<RunningEdge[]> {
  const { cert, key } = createAuthority('Authority of the scene').issue('usher');
  const at = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const env = { OPS_PORT: '0', DATA_DIR: dataDir };
  const tls = { GRPC_TLS_CERT: at('tls.crt', cert), GRPC_TLS_KEY: at('tls.key', key) };
  return await Promise.all([startEdge(upstream, { env }), startEdge(upstream, { env: { ...env, ...tls } })]);
}

/** A mail that arrives and one that cannot, each time. */
async function openSends(usher: RunningUsher, root: Rest, smtp: SmtpSink): Promise<() => Promise<void>> {
  const server = { host: '127.0.0.1', port: smtp.port, secure: false };
  const brand = { slug: 'atelier', name: 'Atelier', emailFrom: 'atelier@example.com', smtp: server };
  const { body } = await root.post('/api/admin/brands', brand);
  const type = await insertType(usher.app.database, 'billing');
  return async () => {
    await accept(usher.app.database, type, [
      { to: 'ada@example.com', email: { brandId: body.data.id } },
      { to: 'ada@example.com', push: {} },
    ]);
    usher.app.bell.ring();
    // Not accepted, and counted all the same: it has no recipients.
    await root.post('/api/applications/billing/notifications', {});
  };
}
