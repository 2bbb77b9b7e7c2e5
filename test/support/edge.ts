import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildEdge, type Edge, type EdgeParts } from '../../src/app/edge.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { toConfig } from '../../src/config/config.ts';

/** An edge, as app/edge.ts builds it, with its port open. */
export interface RunningEdge {
  readonly edge: Edge;
  readonly grpc: string;
  readonly ops: string | null;
  close(): Promise<void>;
}

/** The configuration of an edge; `env` is what an operator would set beside the ports. */
export function edgeConfig(upstream: string, env: Record<string, string> = {}) {
  return toConfig({
    env: {
      GRPC_PORT: '0',
      SHUTDOWN_NOTICE_MS: '0',
      GRPC_FRONT: process.env.GRPC_FRONT ?? 'true',
      UPSTREAM_ADDRESS: upstream,
      ...env,
    },
  });
}

/** Starts an edge of `upstream`, `host:port`. */
export async function startEdge(
  upstream: string,
  { env = {}, parts = {} }: { env?: Record<string, string>; parts?: EdgeParts } = {},
): Promise<RunningEdge> {
  // An edge without keys of its own makes one in its directory, which would be that of this repository.
  const dataDir = mkdtempSync(join(tmpdir(), 'usher-edge-'));
  const forget = (): void => rmSync(dataDir, { recursive: true, force: true });
  const edge = await buildEdge(edgeConfig(upstream, { DATA_DIR: dataDir, ...env }), {
    log: createLogger('fatal'),
    ...parts,
  }).catch((error: unknown) => {
    forget();
    throw error;
  });
  const close = async (): Promise<void> => {
    await edge.close();
    forget();
  };
  try {
    const { grpc, ops } = await edge.start();
    return { edge, grpc, ops, close };
  } catch (error) {
    await close();
    throw error;
  }
}
