/** What a running service takes of a reload, part by part (docs/guides/reload-and-tls.md). Everything was checked before. */

import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/telemetry.ts';
import type { Config } from '../config/config.ts';
import type { Gateway } from '../gateway/app.ts';
import type { AnsweringServer } from '../grpc/server.ts';
import { type ApiKeys, type KeyChanges, keepLocalKey } from '../identity/api-keys.ts';
import type { UpstreamLink } from '../upstream/link.ts';
import type { Deliverer } from './delivery.ts';
import { gatewayDoors, grpcDoors } from './doors.ts';
import { usualKey } from './edge-link.ts';
import type { ReloadMetrics } from './reload-metrics.ts';
import type { RpcProcesses } from './rpc-processes.ts';
import type { ToReload } from './tls-files.ts';

/** The parts that a reload reaches; null for those that this process does not have. */
export interface ReloadedParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly keys: ApiKeys;
  readonly gateway: Gateway | null;
  readonly grpc: AnsweringServer | null;
  readonly processes: RpcProcesses | null;
  readonly worker: Deliverer | null;
  readonly link: UpstreamLink | null;
  readonly metrics: ReloadMetrics;
  /** The configuration as operators see it. */
  readonly shown: { configuration: Config['effective'] } | null;
}

/**
 * Refusals come first: when this resolves no process admits anybody by a key that is gone. Rejects only for the key of a development
 * service that cannot be kept in dataDir; nothing was taken then.
 */
export async function takeReload(parts: ReloadedParts, { config, files }: ToReload): Promise<KeyChanges> {
  const { clock, log, keys, gateway, grpc, processes, worker, link, metrics, shown } = parts;
  const localKey = config.internal.apiKeys.length === 0 ? keepLocalKey(config.dataDir, clock) : null;
  const changes = keys.replace(config, localKey);
  gateway?.reload({
    tls: files.gateway,
    corsOrigins: config.cors.origins,
    further: gatewayDoors(config, files).map(({ tls }) => tls),
  });
  grpc?.renew(
    files.grpc,
    grpcDoors(config, files).map(({ tls }) => tls),
  );
  link?.renew({ key: usualKey(config, localKey), ca: files.upstream });
  if (shown !== null) shown.configuration = config.effective;
  log.level = config.log.level;
  worker?.setLogLevel?.(config.log.level);
  metrics.serve(files);
  await processes?.reload({ config, files });
  return changes;
}
