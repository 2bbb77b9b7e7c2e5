/** A process that answers gRPC beside others on one port: see rpc-processes.ts. */

// Before everything else, which is therefore imported later.
import '../compile-cache.js';
import type { App } from './app.ts';
import type { FromRpcProcess, ToRpcProcess } from './rpc-process.ts';
import type { ToReload } from './tls-files.ts';

const [{ buildApp }, { createLogger }, { flushTraces }] = await Promise.all([
  import('./app.ts'),
  import('../base/telemetry.ts'),
  import('../base/tracing.ts'),
]);

let app: App | undefined;
let closing: Promise<void> | undefined;
/** The last reload, where it came before the service was built. */
let early: { next: ToReload; id: number } | undefined;

function tell(message: FromRpcProcess): void {
  process.send?.(message);
}

async function start({ config, files, number }: Extract<ToRpcProcess, { kind: 'start' }>): Promise<void> {
  const log = createLogger(config.log.level).child({ process: number });
  try {
    const grpc = { ...config.grpc, processes: 1 };
    app = await buildApp({ ...config, grpc, roles: ['rpc'], ops: null }, { log, isPrepared: true, files });
    if (early !== undefined) await reload(early.next, early.id);
    await app.start();
    log.info({ pid: process.pid }, 'gRPC process ready');
    tell({ kind: 'listening' });
  } catch (error) {
    log.error({ err: error }, 'gRPC process did not start');
    tell({ kind: 'failed', message: error instanceof Error ? error.message : String(error) });
    await close();
  }
}

/** Node.js ends a process of a cluster when it disconnects. */
function close(): Promise<void> {
  closing ??= (async () => {
    await app?.close();
    await flushTraces();
    process.disconnect();
  })();
  return closing;
}

async function reload(next: ToReload, id: number): Promise<void> {
  if (app === undefined) {
    early = { next, id };
    return;
  }
  await app.reload(next);
  tell({ kind: 'answer', id, answer: null });
}

async function answer(kind: 'status' | 'metrics', id: number): Promise<void> {
  if (app === undefined) return;
  const { ready } = app.engine.status();
  tell({ kind: 'answer', id, answer: kind === 'status' ? { ready } : await app.ownMetrics() });
}

process.on('message', (message: ToRpcProcess) => {
  switch (message.kind) {
    case 'start':
      void start(message);
      return;
    case 'close':
      void close();
      return;
    case 'reload':
      void reload({ config: message.config, files: message.files }, message.id);
      return;
    default:
      void answer(message.kind, message.id);
  }
});
// A signal to all processes of a group: this one finishes its calls as well. The first process is told by its own.
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void close());
// The first process reads the configuration, and hands it on.
process.on('SIGHUP', () => undefined);
