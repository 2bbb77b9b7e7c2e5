/** `usher serve --upstream`: an edge, until a signal ends it. */

import type { Logger } from '../base/telemetry.ts';
import type { Config } from '../config/config.ts';
import { closeInTime } from './closing.ts';
import { buildEdge, type EdgeAddresses } from './edge.ts';
import type { Reloader } from './reloader.ts';

interface ServeEdgeOptions {
  readonly config: Config;
  readonly log: Logger;
  readonly print: (text: string) => void;
  /** Settles with a signal's name when the edge is to end. */
  readonly stopped: Promise<string>;
  readonly version: string;
  readonly reloader: Reloader | null;
}

/** Resolves when the edge has shut down. Rejects when it could not start. */
export async function serveEdge({ config, log, print, stopped, version, reloader }: ServeEdgeOptions): Promise<void> {
  const edge = await buildEdge(config, { log, version });
  // Before it listens: it may wait for its upstream for long, for want of a key or an authority that a reload brings.
  reloader?.begin(edge);
  let late: Error | null = null;
  try {
    // A signal also ends the wait for an upstream that is away.
    const started = edge.start();
    const addresses = await Promise.race([started, stopped.then(() => null)]);
    if (addresses !== null) {
      log.info({ version, ...addresses, upstream: config.upstream.address }, 'ready');
      if (!config.production) print(banner(config, addresses, version));
    }
    const signal = await stopped;
    log.info({ signal }, 'shutting down; finishing calls in flight');
    started.catch(() => undefined);
  } finally {
    await reloader?.stop();
    late = await closeInTime(edge, config.shutdown.noticeMs);
  }
  if (late !== null) throw late;
  log.info('closed');
}

function banner({ upstream }: Config, at: EdgeAddresses, version: string): string {
  const lines = [
    `Usher ${version}, an edge`,
    '',
    `  gRPC      ${at.grpc}    (usher.permission.v1.PermissionService)`,
    ...(at.ops === null ? [] : [`  ops       ${at.ops}/metrics`]),
    ...at.listeners.map((one) => `  ${one.for.padEnd(8)}  ${one.at}`),
    `  upstream  ${upstream.address}`,
    '',
    'It answers Check, BulkCheck, BatchCheck and Effective from facts that it keeps, and passes on the rest.',
    '',
  ];
  return `\n${lines.join('\n')}\n`;
}
